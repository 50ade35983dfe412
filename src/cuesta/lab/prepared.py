"""A saved session made ready to be replayed: read, divided into turns, and sized by its bills.

Sizes are anchored: between two bills of one history the messages are as large as the bill grew,
shared out as the meter estimates them. Where no bill helps (none saved, lines lost, a harness
compacted) the estimate stands, corrected by the session's own median ratio of bill to estimate.
What the first bill holds beyond the messages is hidden (system prompt, tools) and counts as fixed.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from statistics import median

from cuesta.core.meter import Meter, meter_for
from cuesta.core.models import Model, read_model
from cuesta.core.transcript import (
    BlockKind,
    Message,
    Outline,
    Role,
    Transcript,
    outline,
    read_transcript,
)
from cuesta.core.usage import Usage
from cuesta.dialects.registry import DIALECTS
from cuesta.protocols.lexicon import speaks_human
from cuesta.protocols.text_actions import read_as
from cuesta.trace.session import Call, Session

_CREDIBLE = (0.25, 4.0)
"""Ratios of bill to estimate between which a span's bill is believed."""
_REMEMBERED = 500_000
"""Calls times messages of a session up to which its transcripts are remembered: some 20 MB."""


def _credible(tokens: int, estimate: int) -> bool:
    return _CREDIBLE[0] * estimate <= tokens <= _CREDIBLE[1] * estimate


@dataclass(frozen=True, slots=True)
class _Span:
    """The messages between two bills: `start` to `stop` (exclusive).

    Attributes:
        tokens: By how much the bill grew.
        estimate: What the meter says of them.
        lossy: Whether some of what was billed is not among them.
    """

    start: int
    stop: int
    tokens: int
    estimate: int
    lossy: bool = False

    @classmethod
    def between(
        cls, one: tuple[Call, int], other: tuple[Call, int], totals: Sequence[int]
    ) -> _Span:
        """Compare two calls with their billed prompts."""
        start, stop = one[0].at, other[0].at
        estimate = totals[stop] - totals[start] if start < stop else 0
        return cls(start, stop, other[1] - one[1], estimate)

    @property
    def fits(self) -> bool:
        """Whether the bills are in proportion to the messages."""
        return self.estimate > 0 and _credible(self.tokens, self.estimate)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A session ready to be replayed. Sizes are in tokens.

    Attributes:
        session: The session.
        read: Its messages, read.
        transcript: All of it, in head and turns, with anchored sizes.
        sums: Anchored sizes: the value at `i` is over the first `i` messages.
        places: Where a cache marker could stand, summed up in the same way.
        fixed: System prompt and tools, hidden ones included.
        hidden: The part of `fixed` that the file does not show.
        scale: Anchored tokens an estimated one, as far as no bill says otherwise.
    """

    session: Session
    read: Sequence[Message]
    transcript: Transcript
    sums: array[int]
    places: array[int]
    fixed: int
    hidden: int
    scale: float
    _untils: dict[int, Transcript] = field(default_factory=dict, repr=False, compare=False)

    @property
    def calls(self) -> Sequence[Call]:
        """The session's calls."""
        return self.session.calls

    def prompt(self, call: Call) -> int:
        """Return how large a call's prompt is with nothing dropped."""
        return self.fixed + self.sums[call.at]

    def output(self, call: Call) -> int:
        """Return how much a call's answer holds: as billed, or as large as its messages."""
        if call.usage is not None:
            return call.usage.output
        return self.answer(call)

    def answer(self, call: Call) -> int:
        """Return how large a call's answer is as part of later prompts."""
        return self.sums[self.answered(call)] - self.sums[call.at]

    def answered(self, call: Call) -> int:
        """Return how many messages there are once a call is answered."""
        stop = call.at
        while stop < len(self.read) and self.read[stop].role is Role.ASSISTANT:
            stop += 1
        return stop

    def echo(self, call: Call) -> int:
        """Return how much of what a call computed for its answer the next prompt goes on with.

        Nothing where it thought something that is not sent again; else all but the last token.
        """
        return 0 if call.thoughts else max(0, min(self.answer(call), self.output(call) - 1))

    def model(self, call: Call) -> Model:
        """Return the model that a call asked."""
        return read_model(call.model)

    def until(self, at: int) -> Transcript:
        """Return the conversation as it was when it held `at` messages."""
        known = self._untils.get(at)
        if known is None:
            known = self._until(at)
            if len(self.calls) * len(self.read) < _REMEMBERED:
                self._untils[at] = known
        return known

    def _until(self, at: int) -> Transcript:
        whole = self.transcript
        count = whole.turns.within(at)
        begin = whole.turns.stops[count - 1] if count else 0
        if count and begin == at:
            said = tuple(number for number in whole.spoken if number < count)
            outlines = whole.outlines[:at]
            return Transcript(outlines, whole.head, whole.turns.extended(count, ()), said)
        return read_transcript(whole.outlines[:at], whole, count)


def prepare(session: Session) -> Prepared:
    """Read a session and size it by its bills.

    Raises:
        RequestError: If one of its messages is none in its wire.
    """
    meter = meter_of(session)
    read, outlines = _read(session, meter)
    totals = [0, *accumulate(o.tokens for o in outlines)]
    spans = list(_spans(session, totals))
    scale = _scale(spans)
    sizes = [round(o.tokens * scale) for o in outlines]
    for span in spans:
        _share(span.tokens, outlines, sizes, span.start, span.stop)
    shown = round(sum(meter.raw(raw) for raw in session.members.values()) * scale)
    hidden = _settle_head(session, outlines, sizes, shown)
    sized = tuple(map(_sized, outlines, sizes))
    return Prepared(
        session, read, read_transcript(sized), array("q", [0, *accumulate(sizes)]),
        array("q", [0, *accumulate(map(_places, read))]), shown + hidden, hidden, scale,
    )  # fmt: skip


def _read(session: Session, meter: Meter) -> tuple[list[Message], list[Outline]]:
    dialect = DIALECTS[session.wire]
    read: list[Message] = []
    outlines = []
    for raw in session.messages:
        message, digest = dialect.parse(raw)
        message = read_as(session.protocol, message, read[-1] if read else None)
        read.append(message)
        outlines.append(outline(message, digest, meter, human=speaks_human(message)))
    return read, outlines


def _places(message: Message) -> int:
    """Count a message's places for a cache marker: a run of calls is one, one of results too.

    Source: Anthropic, "Prompt caching", on what is checked behind a marker.
    """
    kinds = [block.kind for block in message.blocks]
    runs = (BlockKind.CALL, BlockKind.RESULT)
    return len(kinds) - sum(a is b and a in runs for a, b in pairwise(kinds))


def _sized(outline: Outline, tokens: int) -> Outline:
    """Give an outline another size, its thinking and what can be cleared in proportion."""
    thinking, reclaim = outline.thinking, outline.reclaim
    if outline.tokens:
        thinking, reclaim = (part * tokens // outline.tokens for part in (thinking, reclaim))
    return replace(outline, tokens=tokens, thinking=thinking, reclaim=reclaim)


def _spans(session: Session, totals: Sequence[int]) -> Iterator[_Span]:
    """Yield what lies between two bills that can be compared.

    A bill that is out of all proportion to the messages since the last one (another of a router's
    back ends counted it) is skipped: the span goes on to the next bill that fits. Lines that were
    lost were in the prompt: what stands around the hole takes their tokens.

    Args:
        session: The session.
        totals: Estimated sizes: the value at `i` is over the first `i` messages.
    """
    before: tuple[Call, int] | None = None
    for number, call in enumerate(session.calls):
        if number in session.compactions:
            before = None
        if call.usage is None:
            continue
        now = (call, call.usage.prompt)
        if before is None or before[0].model != call.model:
            before = now
            continue
        span = _Span.between(before, now, totals)
        if call.hole and span.tokens > span.estimate > 0:
            yield replace(span, lossy=True)
        elif span.fits and not call.hole:
            yield span
        elif not call.hole:
            continue
        before = now


def _scale(spans: Sequence[_Span]) -> float:
    ratios = [span.tokens / span.estimate for span in spans if not span.lossy]
    return median(ratios) if ratios else 1.0


def _share(
    tokens: int, outlines: Sequence[Outline], sizes: list[int], start: int, stop: int
) -> None:
    """Share tokens out among messages, as the meter estimates them."""
    parts = list(accumulate(o.tokens for o in outlines[start:stop]))
    shares = [tokens * part // parts[-1] for part in parts]
    sizes[start:stop] = [b - a for a, b in pairwise([0, *shares])]


def _settle_head(
    session: Session, outlines: Sequence[Outline], sizes: list[int], shown: int
) -> int:
    """Size what stands before the first bill by it; return what it holds beyond that.

    Where nothing is hidden, or the estimate is more than the bill, the messages take the bill.
    """
    first = next((c for c in session.calls if c.usage is not None and not c.hole), None)
    if first is None or first.usage is None:
        return 0
    left = first.usage.prompt - shown
    over = left - sum(sizes[: first.at])
    if over > 0 and not session.whole:
        return over
    if first.at and _credible(left, sum(o.tokens for o in outlines[: first.at])):
        _share(left, outlines, sizes, 0, first.at)
    return 0


def meter_of(session: Session) -> Meter:
    """Return the meter of a session's first model."""
    return meter_for(read_model(session.calls[0].model if session.calls else ""))


def billed(session: Session) -> Usage:
    """Return the sum of a session's bills."""
    return sum((c.usage for c in session.calls if c.usage is not None), Usage())
