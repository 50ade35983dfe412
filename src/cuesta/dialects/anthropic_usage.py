"""Reading what an Anthropic answer cost, from a stream or from plain JSON.

Source: Anthropic, "Streaming messages": `message_start` carries the prompt's classes,
`message_delta` the output so far (and, since prompt sizes may be corrected, the prompt's again).
"""

from __future__ import annotations

from typing import Any

from cuesta.core.usage import Usage
from cuesta.dialects.events import Answers


class AnthropicUsageTap:
    """Takes an answer's decoded bytes, cut anywhere; malformed ones tell nothing.

    Args:
        content_type: The answer's media type: a stream of events, or JSON.
    """

    def __init__(self, content_type: str) -> None:
        self._answers = Answers(content_type, b'"usage"')
        self._counts: dict[str, Any] = {}

    @property
    def usage(self) -> Usage | None:
        """What was billed as far as the answer has told, or None."""
        counts = dict(self._counts)
        for value in self._answers.rest():
            _take(counts, value)
        return usage_of(counts) if counts else None

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        for value in self._answers.feed(chunk):
            _take(self._counts, value)


def _take(counts: dict[str, Any], value: dict[str, Any]) -> None:
    message = value.get("message")
    told = (message if isinstance(message, dict) else value).get("usage")
    if isinstance(told, dict):
        counts.update({key: count for key, count in told.items() if count is not None})


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
