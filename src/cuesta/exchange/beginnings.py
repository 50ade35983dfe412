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

_BLOCKS = 16_384


@dataclass(frozen=True, slots=True)
class _Newest:
    """What the marks of a line lead to.

    Attributes:
        history: Of bodies that begin with the bytes under every mark of the line.
        last: Where the last of these marks stands.
        rest: A hash over the bytes from there to the history's end.
    """

    history: History
    last: int
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
        self.count = len(raw) // block

    def __getitem__(self, number: int) -> bytes:
        """Return the name of all that ends with a block, counted from 0."""
        names, block = self._names, self._block
        while len(names) <= number:
            at = len(names) * block
            self._hasher.update(self._raw[at : at + block])
            names.append(self._hasher.digest())
        return names[number]

    def hash(self, start: int, stop: int) -> bytes:
        """Return a hash over some bytes of the body."""
        return xxhash.xxh3_128_digest(self._raw[start:stop], self._seed)


class Beginning:
    """What is known of a body's beginning.

    Args:
        marks: The body's marks.
        line: What the longest known beginning leads to, or None.
        at: Where its mark stands.

    Attributes:
        history: Read from a body that begins alike, or None.
        end: How many bytes are known to be the same.
    """

    def __init__(self, marks: _Marks, line: _Line | None = None, at: int = 0) -> None:
        self.marks = marks
        self.line = line
        self.at = at
        self.history: History | None = None
        self.end = at
        if line is not None:
            newest = line.newest
            self.history, stop = newest.history, newest.history.end
            if newest.last == at and marks.hash(at, stop) == newest.rest:
                self.end = stop


class Beginnings:
    """Histories by what bodies begin with.

    Args:
        seed: Makes hashes over bytes unpredictable from outside.
        block: Bytes between two places at which a beginning is recognised.
    """

    def __init__(self, seed: int, block: int) -> None:
        self._seed = seed
        self._block = block
        self._lines: Recent[bytes, _Line] = Recent(_BLOCKS)

    def find(self, raw: bytes) -> Beginning:
        """Return what is known of a body's longest known beginning."""
        marks = _Marks(raw, self._seed, self._block)
        line, count = None, 0
        while count < marks.count:
            known = self._lines.get(marks[count])
            if known is None:
                break
            line, count = known, count + 1
        return Beginning(marks, line, count * self._block)

    def keep(self, beginning: Beginning, history: History, *, taken: bool) -> None:
        """Remember a history.

        Args:
            beginning: Of the body that it was read from.
            history: What was read.
            taken: Whether the known beginning was taken over; if not, all of it was read again.
        """
        marks, line, at = beginning.marks, beginning.line, beginning.at if taken else 0
        last = history.end // self._block * self._block
        if last < at or not last:
            return
        newest = _Newest(history, last, marks.hash(last, history.end))
        if taken and line is not None and line.newest.last == at:
            line.newest = newest
        else:
            line = _Line(newest)
        for number in range(at // self._block, last // self._block):
            self._lines.put(marks[number], line)
