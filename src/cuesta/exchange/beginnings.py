"""Which body's beginning was read before: hashes over bytes, and the histories they lead to.

A hash over everything up to each block's end names a beginning: a mark. Conversations that go on
leave one history behind all their marks, always the newest; a fork leaves a second one behind the
marks that only it has. So a request hashes its body once, and writes down what is new of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import xxhash

from cuesta.exchange.history import History
from cuesta.exchange.memory import Recent

_MARKS = 16_384
_NEAR = 32
"""So many marks stand a block apart ..."""
_STRIDE = 8
"""... and all behind them so many blocks: a long body has few, and a fork is rarely far behind."""


@dataclass(frozen=True, slots=True)
class _Newest:
    """What the marks of a line lead to.

    Attributes:
        history: Of bodies that begin with the bytes under every mark of the line.
        marks: How many marks lead here.
        rest: A hash over the bytes from the last of them to the history's end.
    """

    history: History
    marks: int
    rest: bytes


@dataclass(slots=True)
class _Line:
    """The marks of a conversation that goes on; whole values take each other's place."""

    newest: _Newest


class _Marks:
    """The marks of a body, made as they are asked for, each once.

    Args:
        raw: The body.
        seed: Makes hashes unpredictable from outside.
        block: Bytes between two marks.
    """

    def __init__(self, raw: bytes, seed: int, block: int) -> None:
        self._raw = memoryview(raw)
        self._seed = seed
        self._block = block
        self._hasher = xxhash.xxh3_128(seed=seed)
        self._names: list[bytes] = []

    def __getitem__(self, number: int) -> bytes:
        """Return the name of all that stands before a mark, counted from 0."""
        names = self._names
        while len(names) <= number:
            start, stop = self.place(len(names)), self.place(len(names) + 1)
            self._hasher.update(self._raw[start:stop])
            names.append(self._hasher.digest())
        return names[number]

    def place(self, count: int) -> int:
        """Return where the last of the first marks stands."""
        return self._block * (count if count <= _NEAR else _NEAR + (count - _NEAR) * _STRIDE)

    def until(self, end: int | None = None) -> int:
        """Return how many marks stand before an end; None: the body's."""
        blocks = (len(self._raw) if end is None else end) // self._block
        return blocks if blocks <= _NEAR else _NEAR + (blocks - _NEAR) // _STRIDE

    def hash(self, start: int, stop: int) -> bytes:
        """Return a hash over some bytes of the body."""
        return xxhash.xxh3_128_digest(self._raw[start:stop], self._seed)


class Beginning:
    """What is known of a body's beginning.

    Args:
        marks: The body's marks.
        line: What the longest known beginning leads to, or None.
        count: How many marks are known.

    Attributes:
        history: Read from a body that begins alike, or None.
        end: How many bytes are known to be the same.
    """

    def __init__(self, marks: _Marks, line: _Line | None = None, count: int = 0) -> None:
        self.marks = marks
        self.line = line
        self.count = count
        self.history: History | None = None
        self.end = marks.place(count)
        if line is not None:
            newest = line.newest
            self.history, stop = newest.history, newest.history.end
            if newest.marks == count and marks.hash(self.end, stop) == newest.rest:
                self.end = stop


class Beginnings:
    """Histories by what bodies begin with.

    Args:
        seed: Makes hashes over bytes unpredictable from outside.
        block: Bytes between two places at which a beginning is recognised, at first.
    """

    def __init__(self, seed: int, block: int) -> None:
        self._seed = seed
        self._block = block
        self._lines: Recent[bytes, _Line] = Recent(_MARKS)

    def find(self, raw: bytes) -> Beginning:
        """Return what is known of a body's longest known beginning."""
        marks = _Marks(raw, self._seed, self._block)
        line, count = None, 0
        for number in range(marks.until()):
            known = self._lines.get(marks[number])
            if known is None:
                break
            line, count = known, number + 1
        return Beginning(marks, line, count)

    def keep(self, beginning: Beginning, history: History, *, taken: bool) -> None:
        """Remember a history.

        Args:
            beginning: Of the body that it was read from.
            history: What was read.
            taken: Whether the known beginning was taken over; if not, all of it was read again.
        """
        marks, line, known = beginning.marks, beginning.line, beginning.count if taken else 0
        count = marks.until(history.end)
        if count < max(known, 1):
            return
        newest = _Newest(history, count, marks.hash(marks.place(count), history.end))
        if taken and line is not None and line.newest.marks == known:
            line.newest = newest
        else:
            line = _Line(newest)
        for number in range(known, count):
            self._lines.put(marks[number], line)
