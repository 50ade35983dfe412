"""Reading JSON out of an answer's decoded bytes, cut anywhere: events of a stream, or one body."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_LONGEST_LINE = 1 << 20
_LONGEST_BODY = 64 << 20


class Answers:
    """Yields the objects of an answer in which a word stands; malformed ones are left out.

    Args:
        content_type: The answer's media type: a stream of events, or JSON.
        word: What an object must hold to be read at all.
    """

    def __init__(self, content_type: str, word: bytes) -> None:
        self._stream = "event-stream" in content_type
        self._word = word
        self._rest = bytearray()
        self._skipping = False

    def feed(self, chunk: bytes) -> Iterator[dict[str, Any]]:
        """Take the next bytes of a stream; of a plain body nothing is known before its end."""
        if not self._stream:
            if len(self._rest) <= _LONGEST_BODY:
                self._rest += chunk
            return
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            whole = bytes(self._rest) + line
            self._rest.clear()
            if not self._skipping:
                yield from self._event(whole)
            self._skipping = False
        if not self._skipping:
            self._rest += rest
        if len(self._rest) > _LONGEST_LINE:
            self._rest.clear()
            self._skipping = True

    def rest(self) -> Iterator[dict[str, Any]]:
        """Yield what the bytes so far hold beyond complete lines."""
        whole = bytes(self._rest)
        yield from self._event(whole) if self._stream else _read(whole)

    def _event(self, line: bytes) -> Iterator[dict[str, Any]]:
        if line.startswith(b"data:") and self._word in line:
            yield from _read(line[5:])


def _read(text: bytes) -> Iterator[dict[str, Any]]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(value, dict):
        yield value
