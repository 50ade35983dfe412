"""Reading what an answer cost on OpenAI's two wires, from a stream or from plain JSON.

Sources: OpenAI, "Chat completions streaming" (the last chunk carries `usage` where the request asks
for it) and "Responses streaming" (`response.completed`). Cached tokens are part of the prompt's.
"""

from __future__ import annotations

import json
from typing import Any

from cuesta.core.usage import Usage

_LONGEST_LINE = 16 << 20
_LONGEST_BODY = 64 << 20


class ChatUsageTap:
    """Takes an answer's decoded bytes, cut anywhere; malformed ones tell nothing.

    Args:
        content_type: The answer's media type: a stream of events, or JSON.
    """

    def __init__(self, content_type: str) -> None:
        self._stream = "event-stream" in content_type
        self._rest = bytearray()
        self._usage: Usage | None = None
        self._full = False

    @property
    def usage(self) -> Usage | None:
        """What was billed as far as the answer has told, or None."""
        if self._rest and not self._full:
            last = bytes(self._rest)
            self._take(last.removeprefix(b"data:") if self._stream else last)
        return self._usage

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        if self._full:
            return
        self._rest += chunk
        if self._stream and b"\n" in chunk:
            *lines, rest = bytes(self._rest).split(b"\n")
            self._rest = bytearray(rest)
            for line in lines:
                if line.startswith(b"data:") and b'"usage"' in line:
                    self._take(line[5:])
        self._full = len(self._rest) > (_LONGEST_LINE if self._stream else _LONGEST_BODY)
        if self._full:
            self._rest.clear()

    def _take(self, text: bytes) -> None:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return
        counts = self.find(value) if isinstance(value, dict) else None
        if isinstance(counts, dict):
            self._usage = usage_of(counts)

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
    output = _count(counts, "completion_tokens") or _count(counts, "output_tokens")
    return Usage(input=prompt - read, cache_read=read, output=output)


def _count(counts: object, key: str) -> int:
    value = counts.get(key) if isinstance(counts, dict) else None
    return value if isinstance(value, int) and value > 0 else 0
