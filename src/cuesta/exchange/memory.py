"""What an engine remembers between requests. All of it may be lost: nothing depends on it.

Every table is bounded, and forgets what was not used for longest.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from typing import Generic, TypeVar

from cuesta.core.ledger import Entry
from cuesta.core.readings import Bill

Key = TypeVar("Key")
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """A table that forgets.

    Args:
        limit: The most that it holds, in units of `weigh`.
        weigh: What a value weighs; by default 1.
    """

    def __init__(self, limit: int, weigh: Callable[[Value], int] = lambda _: 1) -> None:
        self._items: OrderedDict[Key, Value] = OrderedDict()
        self._limit = limit
        self._weigh = weigh
        self._weight = 0

    def get(self, key: Key) -> Value | None:
        """Return a value, or None; a value that was asked for stays longer."""
        value = self._items.get(key)
        if value is not None:
            self._items.move_to_end(key)
        return value

    def put(self, key: Key, value: Value) -> None:
        """Keep a value."""
        old = self._items.pop(key, None)
        if old is not None:
            self._weight -= self._weigh(old)
        self._items[key] = value
        self._weight += self._weigh(value)
        while self._weight > self._limit and len(self._items) > 1:
            _, oldest = self._items.popitem(last=False)
            self._weight -= self._weigh(oldest)

    def __contains__(self, key: Key) -> bool:
        """Tell whether a value is kept."""
        return key in self._items


@dataclass(frozen=True, slots=True)
class Seen:
    """The last request of a conversation.

    Attributes:
        raw_tokens: Estimated prompt tokens of the client's own body.
        at: When it arrived.
        family: The model's `key`.
        bill: What was billed for it, or None while that is not known.
    """

    raw_tokens: int
    at: float
    family: str = ""
    bill: Bill | None = None


def last_seen(seen: Recent[bytes, Seen], links: Sequence[bytes]) -> Seen | None:
    """Return the conversation's previous request, or the same one sent before."""
    before = (seen.get(links[i]) for i in range(len(links) - 2, -1, -1))
    return next(filter(None, before), None) or seen.get(links[-1])


@dataclass(frozen=True, slots=True)
class Frozen:
    """What an epoch's requests begin with, whatever comes after.

    Attributes:
        messages: How many of the client's messages it stands for.
        packed: The raw messages that were sent for them, joined by commas, compressed: seldom
            needed, and many.
        entry: What the ledger holds for the epoch.
    """

    messages: int
    packed: bytes
    entry: Entry

    @classmethod
    def of(cls, messages: int, sent: bytes, entry: Entry) -> Frozen:
        """Pack what was sent."""
        return cls(messages, zlib.compress(sent, 1), entry)

    @property
    def sent(self) -> bytes:
        """The raw messages that were sent, joined by commas."""
        return zlib.decompress(self.packed)

    def __len__(self) -> int:
        """Return its size in bytes."""
        return len(self.packed)


def size(value: Sized) -> int:
    """Weigh a value by its length."""
    return len(value)
