"""What a conversation is made of, whatever wire it came over.

A transcript is a head (every message before the first model output) and turns. A turn is one model
step with the observations that answer it; calls and results never part, because a cut stands only
between turns. Planning works on `Outline`s, which are small; the texts are read again only when a
digest is made from them.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from enum import Enum

from cuesta.core.meter import Meter
from cuesta.core.turns import Turn, Turns, spoken


class Role(Enum):
    """Who a message speaks for. A developer message is a system message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


class BlockKind(Enum):
    """What a block is. Unknown is a kind of its own: it keeps its bytes and is never guessed at."""

    TEXT = "text"
    THINKING = "thinking"
    CALL = "call"
    RESULT = "result"
    MEDIA = "media"
    OPAQUE = "opaque"


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of a message.

    Attributes:
        kind: What it is.
        texts: Its literal texts, in order: one for a text block, one a part for a result.
        name: The tool's name for a call; the wire's type name for media and opaque blocks.
        call_id: Pairs a call with its result; empty where the call holds its result itself.
        arguments: A call's arguments, read.
        error: Whether a result reports a failure.
        media: How many images or documents a result carries beside its texts.
        weight: Estimated tokens beyond what the others hold (encrypted text, unknown blocks).
        pictures: Width and height in pixels of each image, (0, 0) where they do not show.
    """

    kind: BlockKind
    texts: tuple[str, ...] = ()
    name: str = ""
    call_id: str = ""
    arguments: Mapping[str, object] | None = None
    error: bool = False
    media: int = 0
    weight: int = 0
    pictures: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """One message, read.

    Attributes:
        role: Who speaks.
        blocks: What it holds.
        pinned: Whether folding it away would change the tools, so that its turn is kept whole.
        barrier: Whether no cut may cross it: a compaction made by the provider, who reads nothing
            that stands before it.
        clearable: Positions of the results that may be cleared (`Dialect.cleared`; those of a text
            protocol in replays only).
    """

    role: Role
    blocks: tuple[Block, ...]
    pinned: bool = False
    barrier: bool = False
    clearable: tuple[int, ...] = ()


def block_hashes(message: Message) -> tuple[str, ...]:
    """Return a hash a block, so that a message that grew is known by what it began with."""
    return tuple(
        hashlib.sha256(repr((block.kind.value, *astuple(block)[1:])).encode()).hexdigest()[:32]
        for block in message.blocks
    )


@dataclass(frozen=True, slots=True)
class Outline:
    """What planning needs to know of a message.

    Attributes:
        digest: A cryptographic hash over the normalised message.
        role: Who speaks.
        tokens: Estimated size.
        thinking: The part of `tokens` that goes when thinking is cut out.
        opens: Ids of the calls that it makes.
        answers: Ids of the calls that it answers.
        thinks: Whether it holds thinking.
        only_thinks: Whether it holds nothing else, so that cutting the thinking empties it.
        empty: Whether it holds no block at all.
        pinned: See `Message`.
        barrier: See `Message`.
        human: Whether a person speaks in it.
        reclaim: The part of `tokens` that goes when its results are cleared.
    """

    digest: bytes
    role: Role
    tokens: int
    thinking: int = 0
    opens: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    thinks: bool = False
    only_thinks: bool = False
    empty: bool = False
    pinned: bool = False
    barrier: bool = False
    human: bool = False
    reclaim: int = 0


CLEARED = "[old tool result cleared]"
"""What stands in place of a cleared result."""
_LEAST = 4 * len(CLEARED)
_LOOK = 8 * _LEAST


def is_worth_clearing(result: Block) -> bool:
    """Tell whether a result is long enough for the mark to save anything, or holds pictures.

    Blanks do not count: they weigh next to nothing.
    """
    return (
        result.media > 0
        or any(_shown(text[:_LOOK]) > _LEAST for text in result.texts)
        or sum(map(_shown, result.texts)) > _LEAST
    )


def _shown(text: str) -> int:
    return len(text) - text.count(" ") - text.count("\n")


_MESSAGE_OVERHEAD = 4
_BLOCK_OVERHEAD = 3
_KEY_OVERHEAD = 1


def _block_tokens(block: Block, meter: Meter) -> int:
    """Estimate a block: its texts, its pictures, its arguments and its frame."""
    tokens = _BLOCK_OVERHEAD + block.weight + sum(map(meter.text, block.texts))
    tokens += sum(meter.picture(width, height) for width, height in block.pictures)
    if block.kind is BlockKind.CALL:
        tokens += meter.factors.call + meter.word(block.name)
        tokens += meter.factors.argument * len(block.arguments or ())
        tokens += _argument_tokens(block.arguments, meter)
    elif block.kind is BlockKind.RESULT:
        tokens += meter.factors.result
    return tokens


def _argument_tokens(arguments: object, meter: Meter) -> int:
    """Estimate a call's arguments by their leaves, so that key order and spacing do not matter."""
    tokens = 0
    left = [arguments]
    while left:
        value = left.pop()
        if isinstance(value, str):
            tokens += meter.text(value)
        elif isinstance(value, Mapping):
            tokens += sum(meter.word(str(key)) + _KEY_OVERHEAD for key in value)
            left += value.values()
        elif isinstance(value, list | tuple):
            tokens += len(value)
            left += value
        else:
            tokens += 1
    return tokens


def outline(message: Message, digest: bytes, meter: Meter, *, human: bool) -> Outline:
    """Sum a message up for planning.

    Args:
        message: The message, read.
        digest: The hash over its normalised form.
        meter: Of the model that reads it.
        human: Whether a person speaks in it.
    """
    sizes = [(block, _block_tokens(block, meter)) for block in message.blocks]
    thoughts = [size for block, size in sizes if block.kind is BlockKind.THINKING]
    reclaim = 0
    if message.clearable:
        mark = _BLOCK_OVERHEAD + meter.word(CLEARED) + meter.factors.result
        reclaim = sum(sizes[i][1] - mark for i in message.clearable)
    return Outline(
        digest=digest,
        role=message.role,
        tokens=_MESSAGE_OVERHEAD + sum(size for _, size in sizes),
        thinking=sum(thoughts),
        opens=_ids(message, BlockKind.CALL),
        answers=_ids(message, BlockKind.RESULT),
        thinks=bool(thoughts),
        only_thinks=bool(sizes) and len(thoughts) == len(sizes),
        empty=not sizes,
        pinned=message.pinned,
        barrier=message.barrier,
        human=human,
        reclaim=reclaim,
    )


def _ids(message: Message, kind: BlockKind) -> tuple[str, ...]:
    return tuple(block.call_id for block in message.blocks if block.kind is kind and block.call_id)


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation, in the client's own coordinates.

    Attributes:
        outlines: One a message.
        head: How many messages the head has.
        turns: The turns after the head.
        spoken: The turns in which a person speaks, by number.
    """

    outlines: Sequence[Outline]
    head: int
    turns: Turns
    spoken: tuple[int, ...]

    @property
    def head_tokens(self) -> int:
        """Estimated size of the head's messages; system prompt and tools come on top."""
        return sum(o.tokens for o in self.outlines[: self.head])

    @property
    def anchor(self) -> int:
        """The index of the head's message that a digest stands right behind, or -1 for none.

        The head's last user message; but never before a compaction made by the provider, who reads
        nothing that stands before it.
        """
        head = range(self.head)
        users = [i for i in head if self.outlines[i].role is Role.USER]
        barriers = [i for i in head if self.outlines[i].barrier]
        return max(users[-1], *barriers) if users and barriers else users[-1] if users else -1

    def kept(self, cut: int, border: int) -> tuple[Turn, ...]:
        """Return the turns before a border that a cut keeps: those behind it, and pinned ones."""
        pinned: tuple[Turn, ...] = ()
        if self.turns.sums.pinned[cut]:
            pinned = tuple(turn for turn in self.turns[:cut] if turn.pinned)
        return pinned + self.turns[cut:border]

    @property
    def tokens(self) -> int:
        """Estimated size of all messages."""
        return self.head_tokens + self.turns.sums.tokens[-1]

    def to_first_human(self) -> Transcript:
        """End the head at the first message in which a person speaks, as the paper does.

        What stands between that message and the first model output belongs to the first turn
        (Algorithm 1).
        """
        human = next((i for i in range(self.head) if self.outlines[i].human), None)
        if not self.turns or human is None or human + 1 == self.head:
            return self
        span = self.outlines[human + 1 : self.turns[0].stop]
        first = _turn(span, human + 1, closed=self.turns[0].closed)
        turns = (first, *self.turns[1:])
        return Transcript(self.outlines, human + 1, Turns.of(turns), spoken(turns))


def _turn(span: Sequence[Outline], start: int, *, closed: bool | None = None) -> Turn:
    """Sum a turn up; whether it is closed is known already, or found out."""
    pinned = any(o.pinned for o in span)
    return Turn(
        start=start,
        stop=start + len(span),
        tokens=sum([o.tokens for o in span]),
        thinking=sum([o.thinking for o in span]),
        thinks=any(o.thinks for o in span),
        closed=_is_closed(span) if closed is None else closed,
        pinned=pinned,
        barrier=any(o.barrier for o in span),
        human=any(o.human for o in span),
        reclaim=0 if pinned else sum([o.reclaim for o in span]),
    )


def _is_closed(span: Sequence[Outline]) -> bool:
    """Tell whether the model's step has ended and every call in it is answered."""
    if span[-1].role is Role.ASSISTANT:
        return False
    answered = {call for o in span for call in o.answers}
    return all(call in answered for o in span for call in o.opens)


def read_transcript(
    outlines: Sequence[Outline], earlier: Transcript | None = None, settled: int = 0
) -> Transcript:
    """Divide messages into head and turns.

    Args:
        outlines: One a message, in order.
        earlier: A reading of messages that begin as these do, or None.
        settled: How many of its turns stand here as well, each with another one behind it.
    """
    known = earlier.turns if earlier else Turns.of(())
    begin = known.stops[settled - 1] if settled else 0
    news = outlines[begin:]
    roles = [o.role for o in news]
    starts = [
        begin + i
        for i, role in enumerate(roles)
        if role is Role.ASSISTANT and (i == 0 or roles[i - 1] is not Role.ASSISTANT)
    ]
    head = starts[0] if starts else len(outlines)
    stops = [*starts[1:], len(outlines)]
    new = [
        _turn(news[start - begin : stop - begin], start)
        for start, stop in zip(starts, stops, strict=False)
    ]
    said = spoken(new, settled)
    if earlier is not None and settled:
        head = earlier.head
        said = earlier.spoken[: bisect_left(earlier.spoken, settled)] + said
    return Transcript(outlines, head, known.extended(settled, new), said)
