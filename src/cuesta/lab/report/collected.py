"""What a report needs of replays, in memory that does not grow with how many there are.

Sums are kept of all sessions, and single steps of a few: the one of each harness with the most
prompt tokens, and one in the middle of a sample of all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TypeAlias

from cuesta.lab.components import NAMES
from cuesta.lab.files import Outcome
from cuesta.lab.records import KEEP_ALL, Record, Spent, Trace, Variant
from cuesta.lab.table import Row, Table
from cuesta.lab.tally import Tally

STEPS = 600
"""Steps of a session that are shown at most."""
_SAMPLE = 16
_SHOWN = 8
_MICRO = 1_000_000


@dataclass(frozen=True, slots=True)
class Line:
    """A session's steps under one variant, in columns as long as the session's `steps`.

    Attributes:
        prompt: Tokens of the prompt; None where the variant has no such call.
        cached: Tokens of it that the cache held.
        cached_cost: What these cost, in millionths of a US dollar; None where no price is known.
        other_cost: What the rest and the answer cost, and the strategy's own call before it.
        cliff: Whether a cliff fell.
    """

    prompt: tuple[int | None, ...]
    cached: tuple[int | None, ...]
    cached_cost: tuple[int | None, ...]
    other_cost: tuple[int | None, ...]
    cliff: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """A session whose steps are shown.

    Attributes:
        path: Its file.
        name: Its name in it.
        harness: The agent program.
        calls: How many calls it has.
        peak: Its largest prompt with everything kept, in tokens.
        prompt: The sum over its prompts with everything kept.
        steps: The numbers of the calls that are shown, from 0.
        lines: Its steps by variant.
        activity: What it did, one letter a call (see `activity`).
        compactions: The numbers of the calls before which its harness compacted.
    """

    path: str
    name: str
    harness: str
    calls: int
    peak: int
    prompt: int
    steps: tuple[int, ...]
    lines: Mapping[Variant, Line]
    activity: str
    compactions: tuple[int, ...]


@dataclass(slots=True)
class FileSums:
    """What the sessions of a file sum up to.

    Attributes:
        sessions: How many there are.
        calls: Model calls.
        turns: Turns.
        human: Messages in which a person speaks.
        tool_calls: Tool calls.
        prompt: Billed prompt tokens.
        output: Billed output tokens.
        problems: What could not be read, by reason.
    """

    sessions: int = 0
    calls: int = 0
    turns: int = 0
    human: int = 0
    tool_calls: int = 0
    prompt: int = 0
    output: int = 0
    problems: Counter[str] = field(default_factory=Counter)

    def add(self, tally: Tally) -> None:
        """Add a session."""
        self.sessions += 1
        for name in ("calls", "turns", "human", "tool_calls"):
            setattr(self, name, getattr(self, name) + getattr(tally, name))
        self.prompt += tally.usage.prompt
        self.output += tally.usage.output


@dataclass(slots=True)
class Activity:
    """What the sessions of one harness did.

    Attributes:
        sessions: How many there are.
        steps: Their calls by letter.
        compactions: How often the harness compacted.
    """

    sessions: int = 0
    steps: Counter[str] = field(default_factory=Counter)
    compactions: int = 0


class Collected:
    """Takes outcomes, in whatever order, and keeps what a report shows.

    Attributes:
        files: What each file sums up to, by path.
        others: Files and members of archives without a session, and why.
        activity: What was done, by harness.
    """

    def __init__(self) -> None:
        self.files: dict[str, FileSums] = {}
        self.others: list[tuple[str, str]] = []
        self.activity: dict[str, Activity] = {}
        self._table = Table()
        self._spent: dict[Variant, Spent] = {}
        self._largest: dict[str, Shown] = {}
        self._sample: dict[bytes, Shown] = {}

    def add(self, outcome: Outcome) -> None:
        """Add what came of a task; its records must have been made with traces."""
        if outcome.tallies or outcome.problems:
            sums = self.files.setdefault(outcome.task.path, FileSums())
            sums.problems.update(outcome.problems)
            for tally in outcome.tallies:
                sums.add(tally)
        self.others += outcome.others
        for tally in outcome.tallies:
            done = self.activity.setdefault(tally.harness, Activity())
            done.sessions += 1
            done.steps.update(tally.activity)
            done.compactions += len(tally.compactions)
        tallies = {(tally.path, tally.session): tally for tally in outcome.tallies}
        for records in outcome.records:
            self._take(records, tallies[records[0].path, records[0].session])

    def rows(self) -> Sequence[Row]:
        """Return the table's rows."""
        return self._table.rows()

    def unpriced(self) -> Mapping[str, int]:
        """Return how many sessions have no cost, by reason."""
        return self._table.unpriced

    def spent(self) -> Mapping[Variant, Spent]:
        """Return what the costs were paid for, by variant."""
        return self._spent

    def shown(self) -> list[Shown]:
        """Return the sessions whose steps are shown: the largest first, the middling one last."""
        sample = sorted(self._sample.values(), key=_size)
        middle = sample[len(sample) // 2 : len(sample) // 2 + 1]
        largest = sorted(self._largest.values(), key=_size, reverse=True)[: _SHOWN - 1]
        return largest + [one for one in middle if one not in largest]

    def _take(self, records: Sequence[Record], tally: Tally) -> None:
        self._table.add(records)
        for record in records:
            if record.spent is not None:
                known = self._spent.get(record.variant)
                self._spent[record.variant] = _sum(known, record.spent)
        shown = None
        key = sha256(f"{tally.path}\0{tally.session}".encode(errors="replace")).digest()
        size: _Size = (_kept(records).prompt, tally.path, tally.session)
        known_largest = self._largest.get(tally.harness)
        if known_largest is None or _size(known_largest) < size:
            self._largest[tally.harness] = shown = _shown(records, tally)
        # The sessions with the smallest hashes are a sample that no order of reading changes.
        if len(self._sample) < _SAMPLE or key < max(self._sample):
            self._sample[key] = shown or _shown(records, tally)
            if len(self._sample) > _SAMPLE:
                del self._sample[max(self._sample)]


_Size: TypeAlias = tuple[int, str, str]


def _size(shown: Shown) -> _Size:
    return shown.prompt, shown.path, shown.name


def _kept(records: Sequence[Record]) -> Record:
    """Return the record of keeping all, or else the first."""
    kept = (record for record in records if record.variant.strategy == KEEP_ALL)
    return next(kept, records[0])


def _sum(known: Spent | None, more: Spent) -> Spent:
    before = known or Spent((0.0,) * len(NAMES), (0.0,) * len(NAMES))
    cached, other = (
        tuple(a + b for a, b in zip(getattr(before, name), getattr(more, name), strict=True))
        for name in ("cached", "other")
    )
    return Spent(cached, other)


def _shown(records: Sequence[Record], tally: Tally) -> Shown:
    traces = {record.variant: record.trace for record in records if record.trace is not None}
    steps = _steps(tally.calls, list(traces.values()))
    return Shown(
        path=tally.path,
        name=tally.session,
        harness=tally.harness,
        calls=tally.calls,
        peak=_kept(records).peak,
        prompt=_kept(records).prompt,
        steps=steps,
        lines={variant: _line(trace, steps) for variant, trace in traces.items()},
        activity=tally.activity,
        compactions=tally.compactions,
    )


def _steps(calls: int, traces: Sequence[Trace]) -> tuple[int, ...]:
    """Choose which steps are shown: all, or both sides of rare cliffs and others at even steps."""
    if calls <= STEPS:
        return tuple(range(calls))
    chosen = {0, calls - 1}
    falls = [[c for c, cliff in zip(t.call, t.cliff, strict=True) if cliff] for t in traces]
    for fall in sorted(falls, key=len):
        sides = {max(c - side, 0) for c in fall for side in (0, 1)}
        if len(chosen | sides) <= STEPS // 2:
            chosen |= sides
    left = STEPS - len(chosen)
    chosen.update(calls * n // left for n in range(left))
    return tuple(sorted(chosen))


def _line(trace: Trace, steps: Sequence[int]) -> Line:
    places = {call: i for i, call in enumerate(trace.call) if not trace.ours[i]}
    own: Counter[int] = Counter()
    for call, cost, ours in zip(trace.call, trace.cost, trace.ours, strict=True):
        if ours:
            own[call] += round((cost or 0.0) * _MICRO)
    at = [places.get(step) for step in steps]
    read = [None if i is None else trace.cached_cost[i] for i in at]
    whole = [None if i is None else trace.cost[i] for i in at]
    return Line(
        prompt=tuple(None if i is None else trace.prompt[i] for i in at),
        cached=tuple(None if i is None else trace.cached[i] for i in at),
        cached_cost=tuple(None if one is None else round(one * _MICRO) for one in read),
        other_cost=tuple(
            None if one is None or all_ is None else round((all_ - one) * _MICRO) + own[step]
            for step, one, all_ in zip(steps, read, whole, strict=True)
        ),
        cliff=tuple(i is not None and trace.cliff[i] for i in at),
    )
