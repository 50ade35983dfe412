"""How large a text is, in tokens, estimated from its characters alone.

The estimate decides where a cliff falls, so it must give the same figure for the same text for
ever: no calibration enters it. Bills are compared with it elsewhere.
"""

from __future__ import annotations

import re

ASCII_CHARACTERS_A_TOKEN = 3.5
"""Prose, code and JSON in ASCII."""
WIDE_BYTES_A_TOKEN = 3.0
"""UTF-8 bytes outside ASCII: about one token a Chinese, Japanese or Korean character."""
ENCODED_CHARACTERS_A_TOKEN = 1.35
"""Long unbroken base64 runs, which no vocabulary abbreviates."""
IMAGE_TOKENS = 1600
"""An image block: providers scale an image down to about this cost."""

_ENCODED_RUN = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{512,}={0,2}")


def estimate(text: str) -> int:
    """Estimate the tokens of a text; 0 for an empty one, at least 1 for any other."""
    if not text:
        return 0
    encoded = (
        sum(m.end() - m.start() for m in _ENCODED_RUN.finditer(text)) if len(text) > 512 else 0
    )
    ascii_length = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    wide = 0 if ascii_length == len(text) else _utf8_length(text) - ascii_length
    tokens = (
        (ascii_length - encoded) / ASCII_CHARACTERS_A_TOKEN
        + encoded / ENCODED_CHARACTERS_A_TOKEN
        + wide / WIDE_BYTES_A_TOKEN
    )
    return max(1, int(tokens))


def estimate_bytes(raw: bytes) -> int:
    """Estimate the tokens of a JSON text as it stands on the wire (system prompt, tools)."""
    return estimate(raw.decode("utf-8", "replace"))


def round_up(tokens: int) -> int:
    """Round up to the next of 1, 1.25, 1.5 or 1.75 times a power of two.

    A cliff's place depends on the fixed part only through this step, so that a small change of the
    tools does not move it.
    """
    if tokens <= 4:
        return max(tokens, 0)
    quarter = 1 << (tokens.bit_length() - 3)
    return -(-tokens // quarter) * quarter


def _utf8_length(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
