"""What every reader of saved sessions has in common.

Rule 1. A file is recognised by what stands in it, never by its name.
Rule 2. No file is lost for one line: what cannot be read is left out and counted by its reason.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Protocol

import msgspec

from cuesta.trace.session import Session

Json = dict[str, Any]

BEGINNING = 1 << 16
"""Bytes of a file's beginning that a format is told by."""
_LINES = 64
_TOKENS = re.compile(rb'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|[\[\]{},]|"')
_CLOSERS = {b"[": b"]", b"{": b"}"}
_MANY = 1 << 53
"""Above it JavaScript cannot count."""


@dataclass(slots=True)
class Problems:
    """What could not be read, counted by reason.

    Attributes:
        counts: How often, by reason, in a few words that name no content.
    """

    counts: Counter[str] = field(default_factory=Counter)

    def note(self, reason: str) -> None:
        """Count one more of a kind."""
        self.counts[reason] += 1


class SavedFormat(Protocol):
    """One format of saved sessions.

    Attributes:
        harness: The agent program that writes it.
    """

    harness: str

    def recognises(self, beginning: bytes) -> bool:
        """Tell by a file's first bytes (at least 64 KB where there are as many) if it is this."""

    def read(self, content: bytes, problems: Problems) -> Iterator[Session]:
        """Yield a file's sessions; what cannot be read is noted."""


def lines(content: bytes, problems: Problems) -> Iterator[Json]:
    """Yield the objects of a JSON Lines file, without the lines that are none."""
    for line in content.splitlines():
        if not line.strip():
            continue
        try:
            value = decode(line)
        except ValueError:
            problems.note("not JSON")
            continue
        if isinstance(value, dict):
            yield value
        else:
            problems.note("not an object")


def decode(raw: bytes) -> Any:  # noqa: ANN401 - any JSON
    """Read JSON as programs write it: with lone surrogates and numbers that are none, too.

    Raises:
        ValueError: If it is no JSON, or nested too deep.
    """
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return json.loads(raw)
    except RecursionError:
        raise ValueError("nested too deep") from None


def document(content: bytes, problems: Problems) -> Json:
    """Return the object that a file is, or an empty one; of a broken one what stands before it."""
    value = whole(content, problems)
    if isinstance(value, dict):
        return value
    problems.note("not an object")
    return {}


def whole(content: bytes, problems: Problems) -> Any:  # noqa: ANN401 - any JSON
    """Return the JSON value that a file is; of a broken one what stands before the break."""
    try:
        return decode(content)
    except ValueError:
        problems.note("broken off")
        return _opened(content)[0]


@lru_cache(maxsize=2)
def first_values(beginning: bytes) -> Sequence[Any]:
    """Return the JSON values that a file begins with: a document, or the values of lines.

    One that was cut off or is broken counts up to its last whole member.
    """
    start = beginning.removeprefix(b"\xef\xbb\xbf").lstrip()
    head, *rest = start.split(b"\n", _LINES)[:_LINES]
    value, end = _opened(start)
    if value is not None and end > len(head) and not any(map(_is_object, rest)):
        return (value,)
    found = (_opened(line)[0] for line in [head, *rest])
    return tuple(value for value in found if value is not None)


def _is_object(line: bytes) -> bool:
    """Tell a line of JSON Lines from one of a document, which is no object by itself."""
    try:
        value = decode(line)
    except ValueError:
        return False
    return isinstance(value, dict) and bool(value)


def _opened(beginning: bytes, *, again: bool = True) -> tuple[Any, int]:
    """Read a JSON value as far as it goes; return it, or None, and how far that is."""
    missing: list[bytes] = []
    cut = 0
    for token in _TOKENS.finditer(beginning):
        text = token[0]
        if text in _CLOSERS:
            missing.append(_CLOSERS[text])
        elif text in {b"]", b"}"}:
            if not missing or missing.pop() != text:
                return None, 0
        elif text != b",":
            if text == b'"':
                break
            continue
        cut = token.start() if text == b"," else token.end()
        if not missing:
            break
    try:
        return decode(beginning[:cut] + b"".join(reversed(missing))), cut
    except json.JSONDecodeError as error:
        return _opened(error.doc[: error.pos].encode(), again=False) if again else (None, 0)
    except ValueError:
        return None, 0


def kind_of(value: object) -> str:
    """Return an object's type, which nearly all formats tell by; nothing where it has none."""
    kind = value.get("type") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else ""


def guarded(
    read: Callable[[Json], None], values: Iterable[Json], problems: Problems, reason: str
) -> None:
    """Read values one by one; those of another shape than the reader expects are counted.

    Args:
        read: Reads one value, and has changed nothing when it raises.
        values: The values.
        problems: Where to count.
        reason: What to count them as.
    """
    for value in values:
        try:
            read(value)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            problems.note(reason)


def encode(message: object) -> bytes:
    """Write a message raw."""
    try:
        return msgspec.json.encode(message)
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(message).encode()


def content_of(value: object) -> str | list[Json]:
    """Return a message's content, which is text or a list of blocks.

    Raises:
        TypeError: If it is neither.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(map(_is_block, value)):
        return value
    raise TypeError("content is neither text nor a list of blocks")


def _is_block(value: object) -> bool:
    """Tell a block whose type, and whose parts' types, are text."""
    if not isinstance(value, dict):
        return False
    inner = value.get("content")
    parts = [p for p in inner if isinstance(p, dict)] if isinstance(inner, list) else []
    return all(isinstance(block.get("type", ""), str) for block in (value, *parts))


def count(value: object) -> int:
    """Return a number of tokens; anything else counts as 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MANY:
        return 0
    return int(value)


def moment(value: object) -> float:
    """Return seconds since the Unix epoch of a time in ISO 8601 or in milliseconds; 0 for none."""
    if isinstance(value, str):
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            return 0.0
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    return count(value) / 1000
