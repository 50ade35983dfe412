"""What every reader of saved sessions has in common.

Rule 1. A file is recognised by what stands in it, never by its name.
Rule 2. No file is lost for one line: what cannot be read is left out and counted by its reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from cuesta.trace.session import Session

Json = dict[str, Any]


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
            value = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            problems.note("not JSON")
            continue
        if isinstance(value, dict):
            yield value
        else:
            problems.note("not an object")


def guarded(
    read: Callable[[Json], None], values: Iterator[Json], problems: Problems, reason: str
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
    return msgspec.json.encode(message)
