"""Reading what an answer cost on OpenAI's two wires, from a stream or from plain JSON.

Sources: OpenAI, "Chat completions streaming" (the last chunk carries `usage` where the request asks
for it), "Responses streaming" (`response.completed`) and "Prompt caching". Tokens read from the
cache, and from GPT-5.6 on those written to it, are part of the prompt's.
"""

from __future__ import annotations

from typing import Any

from cuesta.core.usage import Usage
from cuesta.dialects.events import Answers


class ChatUsageTap:
    """Takes an answer's decoded bytes, cut anywhere; malformed ones tell nothing.

    Args:
        content_type: The answer's media type: a stream of events, or JSON.
    """

    def __init__(self, content_type: str) -> None:
        self._answers = Answers(content_type, b'"usage"')
        self._usage: Usage | None = None

    @property
    def usage(self) -> Usage | None:
        """What was billed as far as the answer has told, or None."""
        found = [self._read(value) for value in self._answers.rest()]
        return next((usage for usage in found if usage), self._usage)

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        for value in self._answers.feed(chunk):
            self._usage = self._read(value) or self._usage

    def _read(self, value: dict[str, Any]) -> Usage | None:
        counts = self.find(value)
        return usage_of(counts) if isinstance(counts, dict) else None

    def find(self, value: dict[str, Any]) -> object:
        """Find the usage object in an event or a body."""
        return value.get("usage")


class ResponsesUsageTap(ChatUsageTap):
    """The same for the Responses wire, whose events carry the whole response."""

    def find(self, value: dict[str, Any]) -> object:
        """Find the usage object in an event or a body."""
        response = value.get("response")
        return (response if isinstance(response, dict) else value).get("usage")


def usage_of(counts: dict[str, Any]) -> Usage:
    """Read a usage object of either wire; what it does not tell counts as 0."""
    details = counts.get("prompt_tokens_details") or counts.get("input_tokens_details") or {}
    prompt = _count(counts, "prompt_tokens") or _count(counts, "input_tokens")
    read = min(_count(details, "cached_tokens"), prompt)
    written = min(_count(details, "cache_write_tokens"), prompt - read)
    output = _count(counts, "completion_tokens") or _count(counts, "output_tokens")
    return Usage(prompt - read - written, read, cache_write_5m=written, output=output)


def _count(counts: object, key: str) -> int:
    value = counts.get(key) if isinstance(counts, dict) else None
    return value if isinstance(value, int) and value > 0 else 0
