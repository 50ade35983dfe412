"""What is remembered of a conversation's beginning, so that it need not be read again.

It is kept in columns: a conversation of a thousand messages costs as much as one of them would as
text. Nothing here ever changes once it is made; a conversation that goes on gets a new history, and
so do the branches of one that forks.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cuesta.core.chain import Links
from cuesta.core.lazy import Lazy
from cuesta.core.transcript import Outline, Role, Transcript
from cuesta.protocols.recognition import Speech

_ROLES = (Role.SYSTEM, Role.USER, Role.ASSISTANT)
_ROLE_BITS = 3
_THINKS, _ONLY_THINKS, _EMPTY, _PINNED, _BARRIER, _HUMAN = (1 << bit for bit in range(2, 8))
_CODES = {role: code for code, role in enumerate(_ROLES)}


def _flags(outline: Outline) -> int:
    return (
        _CODES[outline.role]
        | _THINKS * outline.thinks
        | _ONLY_THINKS * outline.only_thinks
        | _EMPTY * outline.empty
        | _PINNED * outline.pinned
        | _BARRIER * outline.barrier
        | _HUMAN * outline.human
    )


@dataclass(frozen=True, slots=True)
class Columns:
    """Outlines without what only reading their turn needed: hashes and ids of calls.

    Attributes:
        tokens: Estimated sizes.
        thinking: The parts of them that are thinking.
        reclaim: The parts of them that go when results are cleared.
        flags: Roles, and what is true of each.
    """

    tokens: array[int]
    thinking: array[int]
    reclaim: array[int]
    flags: bytes

    def __len__(self) -> int:
        """Return how many messages they stand for."""
        return len(self.flags)

    def __getitem__(self, i: int) -> Outline:
        """Return one message's outline."""
        flags = self.flags[i]
        return Outline(
            digest=b"",
            role=_ROLES[flags & _ROLE_BITS],
            tokens=self.tokens[i],
            thinking=self.thinking[i],
            thinks=bool(flags & _THINKS),
            only_thinks=bool(flags & _ONLY_THINKS),
            empty=bool(flags & _EMPTY),
            pinned=bool(flags & _PINNED),
            barrier=bool(flags & _BARRIER),
            human=bool(flags & _HUMAN),
            reclaim=self.reclaim[i],
        )

    def extended(self, count: int, outlines: Sequence[Outline]) -> Columns:
        """Return the first `count` messages and these behind them."""
        return Columns(
            self.tokens[:count] + array("q", [o.tokens for o in outlines]),
            self.thinking[:count] + array("q", [o.thinking for o in outlines]),
            self.reclaim[:count] + array("q", [o.reclaim for o in outlines]),
            self.flags[:count] + bytes(map(_flags, outlines)),
        )


NO_COLUMNS = Columns(array("q"), array("q"), array("q"), b"")


class Outlines(Lazy[Outline]):
    """All outlines of a request: the columns of its known beginning, and what was read behind it.

    Args:
        columns: Of a beginning.
        count: How many messages of it stand here.
        news: The outlines behind them.
    """

    def __init__(self, columns: Columns, count: int, news: Sequence[Outline]) -> None:
        self._columns = columns
        self._count = count
        self._news = news

    def __len__(self) -> int:
        """Return how many messages there are."""
        return self._count + len(self._news)

    def at(self, i: int) -> Outline:
        """Return the outline of message `i`."""
        return self._columns[i] if i < self._count else self._news[i - self._count]


class Slices(Lazy[bytes]):
    """The raw messages of a body, cut out when they are asked for.

    Args:
        body: The body.
        starts: Where each message starts.
        stops: Where each ends.
    """

    def __init__(self, body: bytes, starts: array[int], stops: array[int]) -> None:
        self.starts = starts
        self.stops = stops
        self._body = body

    def __len__(self) -> int:
        """Return how many messages there are."""
        return len(self.starts)

    def at(self, i: int) -> bytes:
        """Return raw message `i`."""
        return self._body[self.starts[i] : self.stops[i]]


@dataclass(frozen=True, slots=True)
class History:
    """The beginning of a conversation: whole turns, each with others behind it.

    Attributes:
        reader: Under what it was read: the meter's name, the tenant, and the ground (`speech`).
        members: The body's members before the messages, raw.
        starts: Where each message starts in a body that begins so.
        stops: Where each ends.
        links: The chain's links.
        columns: The messages' outlines.
        transcript: Its division into head and turns; the messages may go on behind these.
        first_call: The first message that makes a call; it may stand behind these; None: none.
        speech: How the conversation is spoken.
    """

    reader: tuple[str, str, bytes]
    members: Mapping[str, bytes]
    starts: array[int]
    stops: array[int]
    links: Links
    columns: Columns
    transcript: Transcript
    first_call: int | None
    speech: Speech

    @property
    def end(self) -> int:
        """Where the last of the messages ends."""
        return self.stops[-1]
