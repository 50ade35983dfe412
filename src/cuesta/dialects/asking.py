"""Reading whole answers to questions of our own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cuesta.dialects.events import Answers


def answers(content_type: str, answer: bytes) -> Iterator[dict[str, Any]]:
    """Yield the objects of an answer: the events of a stream, or its one body."""
    reader = Answers(content_type, b"{")
    yield from reader.feed(answer)
    yield from reader.rest()


def joined_texts(content: object, kind: str) -> str:
    """Join the texts of the parts of one type."""
    parts = content if isinstance(content, list) else []
    return "".join(
        str(part.get("text", ""))
        for part in parts
        if isinstance(part, dict) and part.get("type") == kind
    )
