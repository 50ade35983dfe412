"""One session under many thresholds: what it costs at each, and what shape it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from statistics import median
from types import MappingProxyType
from typing import Any, TypeAlias

from cuesta.core.errors import RequestError
from cuesta.core.meter import round_up
from cuesta.core.models import read_model
from cuesta.core.policy import AUTOMATIC_FLOOR, AUTOMATIC_MULTIPLE, Policy, profile
from cuesta.core.prices import Price
from cuesta.core.usage import Usage
from cuesta.lab.closed_form import Shape
from cuesta.lab.cost import engine, perfect, rules_for
from cuesta.lab.prepared import Prepared, prepare
from cuesta.lab.replay import Replay, Step, replay
from cuesta.lab.tariff import Prices, Tariff, billed_as
from cuesta.strategies.base import Strategy
from cuesta.strategies.cliff import CliffStrategy
from cuesta.strategies.keep_all import KeepAll
from cuesta.trace.session import Session

CACHES: Mapping[str, Callable[[Sequence[Step]], list[Usage]]] = MappingProxyType(
    {"engine": engine, "perfect": perfect}
)
"""The models of the prefix cache by name."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """How thresholds are compared.

    Attributes:
        book: Prices by model.
        policy: What is kept, cut and dropped; its own threshold counts for nothing here.
        extras: r: the numbers of extra steps a cliff that are looked at.
        extra: The one of them that the advice rests on.
        within: Part of the least cost by which a threshold of the band may be dearer.
        by_model: Whether a group is one model's sessions of a harness, not all of them.
        model: The model that all calls are billed as; empty: each call's own.
    """

    book: Prices
    policy: Policy = field(default_factory=lambda: profile("default"))
    extras: tuple[float, ...] = (0, 1, 3, 5)
    extra: float = 3
    within: float = 0.03
    by_model: bool = False
    model: str = ""

    def group(self, session: Session) -> str:
        """Return the name of the group that a session with calls belongs to."""
        return f"{session.harness}, {main_model(session)}" if self.by_model else session.harness


@dataclass(frozen=True, slots=True)
class Cost:
    """US dollars.

    Attributes:
        billed: What the replayed calls are billed.
        again: One more step behind each cliff: the prompt there from the cache, the session's
            median growth not from it, and its median answer.
    """

    billed: float = 0.0
    again: float = 0.0

    def total(self, extra: float) -> float:
        """Return the cost with so many extra steps a cliff."""
        return self.billed + extra * self.again

    def __add__(self, other: Cost) -> Cost:
        """Return the sum."""
        return Cost(self.billed + other.billed, self.again + other.again)


@dataclass(frozen=True, slots=True)
class Point:
    """Sessions at one threshold.

    Attributes:
        cliffs: How many fell.
        crossed: How many sessions have one.
        worth: What these sessions cost with nothing dropped, in the engine model; dollars.
        costs: By model of the cache.
    """

    cliffs: int
    crossed: int
    worth: float
    costs: Mapping[str, Cost]

    def __add__(self, other: Point) -> Point:
        """Return the sum."""
        costs = {cache: cost + other.costs[cache] for cache, cost in self.costs.items()}
        return Point(
            self.cliffs + other.cliffs,
            self.crossed + other.crossed,
            self.worth + other.worth,
            costs,
        )


@dataclass(frozen=True, slots=True)
class Look:
    """One session at first sight.

    Attributes:
        group: The group that it belongs to.
        model: The key of the model that most of its calls asked.
        calls: How many calls it has.
        first: Its first prompt, in tokens.
        top: The threshold from which on nothing is dropped.
        worth: What it costs with nothing dropped, in the engine model; dollars.
        shapes: By model of the cache; empty where it is too short to say.
    """

    group: str
    model: str
    calls: int
    first: int
    top: int
    worth: float
    shapes: Mapping[str, Shape]


Read: TypeAlias = "Callable[[Any], Iterable[Session]]"
"""Yields the sessions that a task names."""


def alone(session: Session) -> tuple[Session]:
    """Return a session that is a task by itself."""
    return (session,)


@dataclass(frozen=True, slots=True)
class Unpriced:
    """A session that nobody can bill.

    Attributes:
        reason: Which model of its has no price, and how to add one.
    """

    reason: str


Sight: TypeAlias = "Look | Unpriced | str"
"""A session at first sight; or that its model has no price; or why it cannot be read."""


def look(task: Any, read: Read, tuning: Tuning) -> list[Sight]:  # noqa: ANN401 - what `read` takes
    """Look at the sessions of a task; those without a call are left out."""
    found: list[Sight] = []
    for session in filter(lambda session: session.calls, read(task)):
        try:
            one = Measured(prepare(session), tuning)
        except RequestError as error:
            found.append(f"{session.harness} {session.name}: {error}")
        else:
            found.append(Unpriced(one.unpriced) if one.unpriced else one.look())
    return found


def measure(
    task: Any,  # noqa: ANN401 - what `read` takes
    read: Read,
    tuning: Tuning,
    thresholds: Mapping[str, Iterable[int]],
) -> list[tuple[str, dict[int, Point]]]:
    """Measure the sessions of a task at their groups' thresholds.

    Returns:
        One a session that can be read and billed: its group, and what it costs by threshold.
    """
    found = []
    for session in read(task):
        with suppress(RequestError):
            if session.calls:
                one = Measured(prepare(session), tuning)
                if not one.unpriced:
                    found.append((one.group, one.points(thresholds[one.group])))
    return found


def main_model(session: Session) -> str:
    """Return the key of the model that most of a session's calls asked."""
    names = Counter(call.model for call in session.calls)
    return read_model(names.most_common(1)[0][0]).key


class Measured:
    """One session, to be measured at any threshold.

    Args:
        prepared: The session; it has a call.
        tuning: How.

    Attributes:
        kept: Its replay with nothing dropped.
        prompts: The prompts of that, in tokens.
        unpriced: Why it has no cost, or empty: only then can it be measured.
    """

    def __init__(self, prepared: Prepared, tuning: Tuning) -> None:
        self.prepared = prepared
        self.tuning = tuning
        self.kept = self._replayed(KeepAll(), tuning.policy)
        self.prompts = [step.prompt for step in self.kept.steps]
        self._growth = median([b - a for a, b in pairwise(self.prompts)] or [0])
        self._output = median([step.output for step in self.kept.steps])
        self._tariff = Tariff(tuning.book, (step.model for step in self.kept.steps))
        self.unpriced = self._tariff.unpriced

    @property
    def group(self) -> str:
        """The group that it belongs to."""
        return self.tuning.group(self.prepared.session)

    def look(self) -> Look:
        """Return what there is to see at first sight."""
        model = main_model(self.prepared.session)
        first = self.prompts[0]
        calls = len(self.prompts)
        return Look(self.group, model, calls, first, self.top, self.worth, self.shapes())

    @cached_property
    def worth(self) -> float:
        """What it costs with nothing dropped, in the engine model; dollars."""
        return self._cost(self.kept, "engine").billed

    @property
    def top(self) -> int:
        """The threshold from which on nothing is dropped: the largest estimate of a prompt."""
        fixed = self.prepared.fixed
        rounded = round_up(fixed) if self.tuning.policy.round_fixed else fixed
        return max(self.prompts) + rounded - fixed

    def points(self, thresholds: Iterable[int]) -> dict[int, Point]:
        """Return what it costs at thresholds, in tokens; 0 is the automatic one."""
        kept = self._point(self.kept)
        return {
            threshold: self._point(self._cut(threshold))
            if (threshold or AUTOMATIC_FLOOR) < self.top
            else kept
            for threshold in thresholds
        }

    def shapes(self) -> dict[str, Shape]:
        """Return its shape by model of the cache, with one replay at 2.5 times head and tail.

        A session that never grows so long is cut halfway between them and its longest prompt. Empty
        where no cliff falls: it is too short to say.
        """
        turns = self.prepared.transcript.turns
        head = self.prepared.fixed + self.prepared.transcript.head_tokens
        tail = self.tuning.policy.keep_turns * turns.sums.tokens[-1] / max(len(turns), 1)
        threshold = AUTOMATIC_MULTIPLE * (head + tail)
        if threshold >= self.top:
            threshold = (head + tail + self.top) / 2
        found = self._cut(round(threshold))
        folded = digests = bases = cliffs = 0
        for (before, step), cliff in zip(pairwise(found.steps), found.cliffs[1:], strict=True):
            if step.cliff and cliff is not None:
                base = step.prompt - cliff.digest_tokens
                bases += base
                digests += cliff.digest_tokens
                folded += max(before.prompt - base, 0)
                cliffs += 1
        if not folded:
            return {}
        slope = min(digests / folded, 0.9)
        return {cache: self._shape(cache, bases / cliffs, slope) for cache in CACHES}

    def _cut(self, threshold: int) -> Replay:
        return self._replayed(CliffStrategy(), replace(self.tuning.policy, threshold=threshold))

    def _replayed(self, strategy: Strategy, policy: Policy) -> Replay:
        found = replay(self.prepared, strategy, policy)
        return replace(found, steps=tuple(billed_as(found.steps, self.tuning.model)))

    def _point(self, found: Replay) -> Point:
        cliffs = sum(step.cliff for step in found.steps)
        costs = {cache: self._cost(found, cache) for cache in CACHES}
        return Point(cliffs, min(cliffs, 1), self.worth if cliffs else 0.0, costs)

    def _cost(self, found: Replay, cache: str) -> Cost:
        billed = again = 0.0
        for step, bill in zip(found.steps, CACHES[cache](found.steps), strict=True):
            price = self._tariff.price(step.model)
            billed += price.cost(bill)
            if step.cliff:
                again += self._step(step.prompt, price, _miss(step.model, price, cache))
        return Cost(billed, again / 1_000_000)

    def _step(self, prompt: float, price: Price, miss: float) -> float:
        """Return the price of a typical step behind a prompt, in dollars a million calls."""
        return prompt * price.cache_read + self._growth * miss + self._output * price.output

    def _shape(self, cache: str, base: float, slope: float) -> Shape:
        steps = self.kept.steps
        prices = [(step, self._tariff.price(step.model)) for step in steps]
        miss = sum(_miss(step.model, price, cache) for step, price in prices) / len(steps)
        hit = sum(price.cache_read for _, price in prices) / len(steps)
        bills = CACHES[cache](steps)[1:]
        cold = sum(not bill.cache_read for bill in bills) / max(len(bills), 1)
        typical = sum(self._step(base, p, _miss(s.model, p, cache)) for s, p in prices) / len(steps)
        return Shape(
            steps=len(steps),
            base=base,
            slope=slope,
            growth=max(self.prompts[-1] - self.prompts[0], 0) / max(len(steps) - 1, 1),
            cached=self._cached() if cache == "engine" else 0,
            miss=miss,
            hit=hit + cold * (miss - hit),
            step=typical,
        )

    def _cached(self) -> int:
        """Return the tokens of the head that an engine still has in its cache behind a cliff."""
        transcript = self.prepared.transcript
        rules = rules_for(self.kept.steps[0].model)
        head = self.prepared.fixed
        head += sum(outline.tokens for outline in transcript.outlines[: transcript.anchor + 1])
        return head // rules.block * rules.block if head >= rules.minimum else 0


def _miss(model: str, price: Price, cache: str) -> float:
    """Return the price of a prompt token that the cache does not hold, dollars a million."""
    paid: float = getattr(price, "input" if cache == "perfect" else rules_for(model).writes)
    return paid
