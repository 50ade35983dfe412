"""Reading what an Anthropic answer cost, from a stream or from plain JSON.

Source: Anthropic, "Streaming messages": `message_start` carries the prompt's classes,
`message_delta` the output so far (and, since prompt sizes may be corrected, the prompt's again).
"""

from __future__ import annotations

import json
from typing import Any

from cuesta.core.usage import Usage

_LONGEST_EVENT = 1 << 20
_LONGEST_BODY = 64 << 20


class AnthropicUsageTap:
    """Takes an answer's decoded bytes, cut anywhere; malformed ones tell nothing.

    Args:
        content_type: The answer's media type: a stream of events, or JSON.
    """

    def __init__(self, content_type: str) -> None:
        self._stream = "event-stream" in content_type
        self._rest = b""
        self._counts: dict[str, Any] = {}
        self._full = False

    @property
    def usage(self) -> Usage | None:
        """What was billed as far as the answer has told, or None."""
        if not self._stream and self._rest:
            self._take(self._rest)
            self._rest = b""
        return usage_of(self._counts) if self._counts else None

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        if self._full:
            return
        self._rest += chunk
        if self._stream:
            *lines, self._rest = self._rest.split(b"\n")
            for line in lines:
                if line.startswith(b"data:") and b'"usage"' in line:
                    self._take(line[5:])
        self._full = len(self._rest) > (_LONGEST_EVENT if self._stream else _LONGEST_BODY)
        if self._full:
            self._rest = b""

    def _take(self, text: bytes) -> None:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return
        if not isinstance(value, dict):
            return
        message = value.get("message")
        counts = (message if isinstance(message, dict) else value).get("usage")
        if isinstance(counts, dict):
            self._counts.update({k: v for k, v in counts.items() if v is not None})


def usage_of(counts: dict[str, Any]) -> Usage:
    """Read a usage object of the wire; what it does not tell counts as 0."""
    written = _count(counts, "cache_creation_input_tokens")
    lifetimes = counts.get("cache_creation")
    for_an_hour = _count(lifetimes, "ephemeral_1h_input_tokens") if lifetimes else 0
    return Usage(
        input=_count(counts, "input_tokens"),
        cache_read=_count(counts, "cache_read_input_tokens"),
        cache_write_5m=max(0, written - for_an_hour),
        cache_write_1h=for_an_hour,
        output=_count(counts, "output_tokens"),
    )


def _count(counts: object, key: str) -> int:
    value = counts.get(key) if isinstance(counts, dict) else None
    return value if isinstance(value, int) and value > 0 else 0
