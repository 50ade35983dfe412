"""How large a text or a picture is, in tokens, estimated from what it holds alone.

The estimate decides where a cliff falls, so it must give the same figure for the same text and the
same model for ever: no calibration enters it, and it is computed in whole numbers. Bills are
compared with it in `readings`.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass, field
from math import isqrt

from cuesta.core.factors import FACTORS, Factors
from cuesta.core.models import Model, tokenizer

RUN = 512
"""From this length on an unbroken base64 run is taken for encoded data."""

_DIGITS = string.digits.encode()
_NO_MARKS = bytes(set(range(256)) - set(string.punctuation.encode()) - set(_DIGITS))
"""Neither marks nor digits: most bytes of most texts, so that what is left is counted fast."""
_WORDS, _LONGEST_WORD = 4096, 64
_INDENT = b"    "
"""So many spaces count as one letter: vocabularies hold long runs of spaces."""
_WIDE = bytes(range(0x80, 0x100))
_EAST = bytes([*range(0xE3, 0xEE), 0xEF])
"""First UTF-8 bytes of U+3000 to U+DFFF and U+F000 to U+FFFF: kana, ideographs, hangul, full width
forms. Three bytes a character."""
_ENCODED = (string.ascii_letters + string.digits + "+/_-").encode()
_ENCODED_RUN = re.compile(rb"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{%d,}={0,2}" % RUN)
_WINDOW = RUN // 2
_STEP = 16
"""Bytes from one sample to the next: a cheap look that spares most texts the dear one."""
_SAMPLES = bytes(byte in _ENCODED for byte in range(256))
_SAMPLED_RUN = b"\1" * (RUN // _STEP - 1)


@dataclass(frozen=True, slots=True)
class Meter:
    """Estimates for the models of one tokenizer family.

    Attributes:
        name: The family.
        factors: Its factors.
    """

    name: str
    factors: Factors
    _words: dict[str, int] = field(default_factory=dict, compare=False, repr=False)

    def word(self, word: str) -> int:
        """Estimate a text that comes again and again, such as a tool's name."""
        known = self._words.get(word)
        if known is None:
            known = self.text(word)
            if len(word) <= _LONGEST_WORD and len(self._words) < _WORDS:
                self._words[word] = known
        return known

    def text(self, text: str) -> int:
        """Estimate the tokens of a text; 0 for an empty one, at least 1 for any other."""
        return self.raw(text.encode("utf-8", "surrogatepass"))

    def raw(self, raw: bytes) -> int:
        """Estimate the tokens of a text in UTF-8, such as JSON as it stands on the wire."""
        if not raw:
            return 0
        thousandths = self._classes(raw)
        if len(raw) >= RUN and _may_be_encoded(raw):
            for run in _ENCODED_RUN.findall(raw):
                thousandths += max(0, self.factors.encoded * len(run) - self._classes(run))
        return max(1, (thousandths + 500) // 1000)

    def picture(self, width: int, height: int) -> int:
        """Estimate a picture's tokens; width and height in pixels, 0 where they do not show."""
        rule = self.factors.pictures
        if not rule.patch or width < 1 or height < 1:
            return rule.unknown
        longest = max(width, height)
        if rule.edge and longest > rule.edge:
            width = max(1, width * rule.edge // longest)
            height = max(1, height * rule.edge // longest)
        most = rule.patches * rule.patch * rule.patch
        if width * height > most:
            width, height = (
                max(1, isqrt(most * width // height)),
                max(1, isqrt(most * height // width)),
            )
        patches = -(-width // rule.patch) * -(-height // rule.patch)
        return max(1, min(patches, rule.patches) * rule.each // 1000)

    def _classes(self, raw: bytes) -> int:
        """Sum up the characters by class, in thousandths of a token."""
        factors, size = self.factors, len(raw)
        digits_and_marks = raw.translate(None, _NO_MARKS)
        marks = len(digits_and_marks.translate(None, _DIGITS))
        digits = len(digits_and_marks) - marks
        sum_of_wide = wide = 0
        if not raw.isascii():
            wide = size - len(raw.translate(None, _WIDE))
            east = size - len(raw.translate(None, _EAST))
            sum_of_wide = factors.east * east + factors.wide * max(0, wide - 3 * east)
        indents = raw.count(_INDENT) * (len(_INDENT) - 1)
        return (
            factors.letters * (size - digits - marks - wide - indents)
            + factors.marks * marks
            + factors.digits * digits
            + sum_of_wide
        )


def _may_be_encoded(raw: bytes) -> bool:
    """Tell whether a long unbroken run is possible: one always covers an aligned window."""
    return _SAMPLED_RUN in raw[::_STEP].translate(_SAMPLES) and any(
        not raw[start : start + _WINDOW].strip(_ENCODED)
        for start in range(0, len(raw) - _WINDOW + 1, _WINDOW)
    )


_METERS = {name: Meter(name, factors) for name, factors in FACTORS.items()}
COMMON = _METERS["other"]
"""The meter for what must not depend on the model: how much human text a digest may hold."""


def meter_for(model: Model) -> Meter:
    """Return the meter of a model's tokenizer family; one of its own for unknown models."""
    return _METERS[tokenizer(model)]


def round_up(tokens: int) -> int:
    """Round up to the next of 1, 1.25, 1.5 or 1.75 times a power of two.

    A cliff's place depends on the fixed part only through this step, so that a small change of the
    tools does not move it.
    """
    if tokens <= 4:
        return max(tokens, 0)
    quarter = 1 << (tokens.bit_length() - 3)
    return -(-tokens // quarter) * quarter
