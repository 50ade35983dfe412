"""A saved session made ready to be replayed: read, divided into turns, and sized by its bills.

Sizes are anchored: between two bills of one history the messages are as large as the bill grew,
shared out as the meter estimates them. Where no bill helps (none saved, lines lost, a harness
compacted) the estimate stands, corrected by the session's own median ratio of bill to estimate.
What the first bill holds beyond the messages is hidden (system prompt, tools) and counts as fixed.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from statistics import median

from cuesta.core.meter import Meter, meter_for
from cuesta.core.models import Model, read_model
from cuesta.core.transcript import Message, Outline, Role, Transcript, outline, read_transcript
from cuesta.core.usage import Usage
from cuesta.dialects.registry import DIALECTS
from cuesta.protocols.lexicon import speaks_human
from cuesta.trace.session import Call, Session

_CREDIBLE = (0.25, 4.0)
"""Ratios of bill to estimate between which a span's bill is believed."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A session ready to be replayed. Sizes are in tokens.

    Attributes:
        session: The session.
        read: Its messages, read.
        transcript: All of it, in head and turns, with anchored sizes.
        sums: Anchored sizes: the value at `i` is over the first `i` messages.
        fixed: System prompt and tools, hidden ones included.
        hidden: The part of `fixed` that the file does not show.
        scale: Anchored tokens an estimated one, as far as no bill says otherwise.
    """

    session: Session
    read: Sequence[Message]
    transcript: Transcript
    sums: array[int]
    fixed: int
    hidden: int
    scale: float

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
        stop = call.at
        while stop < len(self.read) and self.read[stop].role is Role.ASSISTANT:
            stop += 1
        return self.sums[stop] - self.sums[call.at]

    def model(self, call: Call) -> Model:
        """Return the model that a call asked."""
        return read_model(call.model)

    def until(self, at: int) -> Transcript:
        """Return the conversation as it was when it held `at` messages."""
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
    dialect = DIALECTS[session.wire]
    meter = meter_for(read_model(session.calls[0].model if session.calls else ""))
    read, outlines = [], []
    for raw in session.messages:
        message, digest = dialect.parse(raw)
        read.append(message)
        outlines.append(outline(message, digest, meter, human=speaks_human(message)))
    shown = sum(meter.raw(raw) for raw in session.members.values())
    scale = _scale(session, outlines)
    sizes = _anchored(session, outlines, scale)
    hidden = 0
    first = next((c for c in session.calls if c.usage is not None and not c.hole), None)
    fixed = round(shown * scale)
    if first is not None and first.usage is not None:
        billed = first.usage.prompt - sum(sizes[: first.at])
        hidden = max(0, billed - fixed)
        fixed = max(0, billed)
    sized = tuple(map(_sized, outlines, sizes))
    return Prepared(
        session, read, read_transcript(sized), array("q", [0, *accumulate(sizes)]),
        fixed, hidden, scale,
    )  # fmt: skip


def _sized(outline: Outline, tokens: int) -> Outline:
    """Give an outline another size, its thinking in proportion."""
    thinking = outline.thinking * tokens // outline.tokens if outline.tokens else 0
    return replace(outline, tokens=tokens, thinking=thinking)


def _spans(session: Session) -> Iterator[tuple[int, int, int]]:
    """Yield (first message, last message exclusive, tokens) of what lies between two bills."""
    for (_, before), (number, call) in pairwise(enumerate(session.calls)):
        if before.usage is None or call.usage is None or call.hole or before.at >= call.at:
            continue
        if number in session.compactions or before.model != call.model:
            continue
        yield before.at, call.at, call.usage.prompt - before.usage.prompt


def _scale(session: Session, outlines: Sequence[Outline]) -> float:
    ratios = [
        tokens / estimate
        for start, stop, tokens in _spans(session)
        if (estimate := sum(o.tokens for o in outlines[start:stop]))
        and _CREDIBLE[0] <= tokens / estimate <= _CREDIBLE[1]
    ]
    return median(ratios) if ratios else 1.0


def _anchored(session: Session, outlines: Sequence[Outline], scale: float) -> list[int]:
    """Return each message's size: by the bills around it, else by the estimate and the scale."""
    sizes = [round(o.tokens * scale) for o in outlines]
    for start, stop, tokens in _spans(session):
        estimates = [o.tokens for o in outlines[start:stop]]
        whole = sum(estimates)
        if whole and _CREDIBLE[0] <= tokens / whole <= _CREDIBLE[1]:
            shares = [tokens * part // whole for part in accumulate(estimates)]
            sizes[start:stop] = [b - a for a, b in pairwise([0, *shares])]
    return sizes


def meter_of(session: Session) -> Meter:
    """Return the meter of a session's first model."""
    return meter_for(read_model(session.calls[0].model if session.calls else ""))


def billed(session: Session) -> Usage:
    """Return the sum of a session's bills."""
    return sum((c.usage for c in session.calls if c.usage is not None), Usage())
