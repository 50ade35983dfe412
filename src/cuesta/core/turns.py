"""Turns in columns: what a conversation of thousands of them costs is a few bytes each."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from cuesta.core.lazy import Lazy


@dataclass(frozen=True, slots=True)
class Turn:
    """One model step and what answered it: messages `start` to `stop` (exclusive).

    Attributes:
        start: Its first message.
        stop: One past its last message.
        tokens: Estimated size.
        thinking: The part of `tokens` that is thinking.
        thinks: Whether it holds thinking.
        closed: Whether the model's step has ended and every call in it is answered.
        pinned: Whether it stays whole, wherever the cut is.
        barrier: Whether no cut may cross it.
        human: Whether a person speaks in it.
        reclaim: The part of `tokens` that goes when its results are cleared; 0 where it is pinned.
    """

    start: int
    stop: int
    tokens: int
    thinking: int
    thinks: bool
    closed: bool
    pinned: bool
    barrier: bool
    human: bool
    reclaim: int = 0


_THINKS, _CLOSED, _PINNED, _BARRIER, _HUMAN = (1 << bit for bit in range(5))


def _flags(turn: Turn) -> int:
    return (
        _THINKS * turn.thinks
        | _CLOSED * turn.closed
        | _PINNED * turn.pinned
        | _BARRIER * turn.barrier
        | _HUMAN * turn.human
    )


@dataclass(frozen=True, slots=True)
class Sums:
    """Running totals over turns: the value at `i` is over the first `i` turns.

    Attributes:
        tokens: Estimated size.
        thinking: The part of it that is thinking.
        pinned: The part of it that stays whole, wherever the cut is.
        pinned_thinking: The part of that which is thinking.
        barriers: How many of them no cut may cross.
        reclaim: The part of `tokens` that goes when results are cleared.
    """

    tokens: array[int]
    thinking: array[int]
    pinned: array[int]
    pinned_thinking: array[int]
    barriers: array[int]
    reclaim: array[int]

    @classmethod
    def none(cls) -> Sums:
        """Return the totals over no turn."""
        return cls(*(array("q", [0]) for _ in _SUMS))

    def until(self, count: int) -> Sums:
        """Return the totals over the first `count` turns."""
        return Sums(*(getattr(self, name)[: count + 1] for name in _SUMS))

    def add(self, turn: Turn) -> None:
        """Add the next turn; only whoever makes the totals may do so."""
        whole = turn.pinned
        self.tokens.append(self.tokens[-1] + turn.tokens)
        self.thinking.append(self.thinking[-1] + turn.thinking)
        self.pinned.append(self.pinned[-1] + whole * turn.tokens)
        self.pinned_thinking.append(self.pinned_thinking[-1] + whole * turn.thinking)
        self.barriers.append(self.barriers[-1] + turn.barrier)
        self.reclaim.append(self.reclaim[-1] + turn.reclaim)


_SUMS = tuple(field.name for field in fields(Sums))


class Turns(Lazy[Turn]):
    """The turns of a conversation, in order and without gaps; they never change.

    Args:
        head: Where the first one starts.
        stops: Where each one stops.
        flags: What is true of each.
        sums: Running totals.
    """

    __slots__ = ("_flags", "head", "stops", "sums")

    def __init__(self, head: int, stops: array[int], flags: bytes, sums: Sums) -> None:
        self.head = head
        self.stops = stops
        self.sums = sums
        self._flags = flags

    @classmethod
    def of(cls, turns: Sequence[Turn]) -> Turns:
        """Put turns into columns."""
        head = turns[0].start if turns else 0
        return cls(head, array("q"), b"", Sums.none()).extended(0, turns)

    def extended(self, count: int, turns: Sequence[Turn]) -> Turns:
        """Return the first `count` turns and these behind them."""
        head = self.head if count or not turns else turns[0].start
        sums = self.sums.until(count)
        for turn in turns:
            sums.add(turn)
        stops = self.stops[:count] + array("q", [turn.stop for turn in turns])
        return Turns(head, stops, self._flags[:count] + bytes(map(_flags, turns)), sums)

    def __len__(self) -> int:
        """Return how many turns there are."""
        return len(self._flags)

    def __eq__(self, other: object) -> bool:
        """Tell whether the other ones are the same turns."""
        return isinstance(other, Turns) and self._columns == other._columns

    def __hash__(self) -> int:
        """Return a hash that equal turns share."""
        return hash((self.head, self._flags))

    @property
    def _columns(self) -> tuple[object, ...]:
        return self.head, self.stops, self._flags, self.sums

    def at(self, i: int) -> Turn:
        """Return turn `i`."""
        flags, tokens, thinking = self._flags[i], self.sums.tokens, self.sums.thinking
        return Turn(
            start=self.stops[i - 1] if i else self.head,
            stop=self.stops[i],
            tokens=tokens[i + 1] - tokens[i],
            thinking=thinking[i + 1] - thinking[i],
            thinks=bool(flags & _THINKS),
            closed=bool(flags & _CLOSED),
            pinned=bool(flags & _PINNED),
            barrier=bool(flags & _BARRIER),
            human=bool(flags & _HUMAN),
            reclaim=self.sums.reclaim[i + 1] - self.sums.reclaim[i],
        )

    def span(self, i: int) -> tuple[int, int]:
        """Return the first message of turn `i`, and one past its last."""
        return self.stops[i - 1] if i else self.head, self.stops[i]

    def reclaimed(self, cut: int, cleared: int) -> int:
        """Return the tokens that go when the results of turns `cut` to `cleared` are cleared."""
        return self.sums.reclaim[cleared] - self.sums.reclaim[cut] if cleared > cut else 0

    def within(self, messages: int) -> int:
        """Return how many turns stand whole within the first `messages` messages."""
        return bisect_right(self.stops, messages)


def spoken(turns: Iterable[Turn], first: int = 0) -> tuple[int, ...]:
    """Return the numbers of the turns in which a person speaks; the first one's is given."""
    return tuple(number for number, turn in enumerate(turns, first) if turn.human)
