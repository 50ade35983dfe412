"""Which threshold suits somebody's sessions: the closed form, the replayed optimum, and the band.

Sessions are read three times and none is kept: for their shapes, at a grid of
thresholds, and between those that came out best.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise, product, takewhile
from math import inf, log2, sqrt
from typing import Any, Protocol, TypeVar

from cuesta.core.models import read_model, window_of
from cuesta.core.policy import WINDOW_SHARE
from cuesta.lab.closed_form import Shape, base_of, floor_of, formula
from cuesta.lab.measured import CACHES, Look, Point, Read, Tuning, Unpriced, alone, look, measure

Result = TypeVar("Result")

FEW = 5
"""With fewer sessions a band says more about them than about the next one."""
_LEAST = 1_000
"""The smallest threshold that the proxy takes."""
_STEPS = 4
"""Thresholds of the grid for each doubling."""
_NEAR = 1.05
"""An optimum up to this many times the floor sits at it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The best threshold for one model of the cache and one number of extra steps a cliff.

    Attributes:
        cache: `engine` or `perfect`.
        extra: r: extra steps a cliff.
        formula: The closed form's threshold in tokens, no lower than the floor; None: never drop.
        formula_cost: What it costs when it is replayed, in dollars.
        best: The cheapest threshold that was replayed, in tokens.
        best_cost: What it costs.
        low: The lowest threshold next to the best that costs little more.
        high: The highest one; None where never dropping costs little more.
        at_floor: Whether the best leaves no room to grow: as cheap as can be only because what the
            drops forget costs nothing here.
    """

    cache: str
    extra: float
    formula: int | None
    formula_cost: float
    best: int
    best_cost: float
    low: int
    high: int | None
    at_floor: bool

    @property
    def ratio(self) -> float:
        """The closed form's cost beside the least cost."""
        return self.formula_cost / self.best_cost if self.best_cost else 1.0


@dataclass(frozen=True, slots=True)
class Tuned:
    """What was found for one group of sessions.

    Attributes:
        name: The harness, with the model where groups are by model.
        models: How many sessions mostly asked which model.
        sessions: How many sessions there are.
        calls: How many calls they hold.
        worth: What they cost with nothing dropped, in the engine model; dollars.
        top: The threshold from which on nothing is dropped.
        floor: The smallest threshold with room to grow.
        shapes: By model of the cache; empty where no session is long enough.
        points: By threshold, ascending; 0 is the automatic one.
        answers: By model of the cache and extra steps.
        advice: The threshold to use, or None where dropping does not pay.
    """

    name: str
    models: Mapping[str, int]
    sessions: int
    calls: int
    worth: float
    top: int
    floor: int
    shapes: Mapping[str, Sequence[Shape]]
    points: Mapping[int, Point]
    answers: Sequence[Answer]
    advice: int | None

    def answer(self, cache: str, extra: float) -> Answer:
        """Return one of the answers."""
        return next(a for a in self.answers if (a.cache, a.extra) == (cache, extra))


@dataclass(frozen=True, slots=True)
class Found:
    """What was found.

    Attributes:
        groups: By name.
        refused: The sessions that no dialect reads, each with the reason.
        unpriced: How many sessions are left out since nobody knows a price, by reason.
    """

    groups: tuple[Tuned, ...]
    refused: tuple[str, ...] = ()
    unpriced: Mapping[str, int] = field(default_factory=dict)


class Run(Protocol):
    """Runs one function over tasks, as the `map` of an executor of `cuesta.jobs` does."""

    def __call__(
        self, function: Callable[[Any], Result], tasks: Iterable[Any], /
    ) -> Iterable[tuple[int, Result]]:
        """Yield each task's number, from 0 on, and its result, in any order."""


def in_turn(
    function: Callable[[Any], Result], tasks: Iterable[Any], /
) -> Iterator[tuple[int, Result]]:
    """Run a function over tasks one after the other, here."""
    return enumerate(map(function, tasks))


def tune(tasks: Iterable[Any], tuning: Tuning, *, read: Read = alone, run: Run = in_turn) -> Found:
    """Find the thresholds that suit sessions.

    Args:
        tasks: Sessions, or whatever `read` finds them by. They are gone through three times, so an
            iterator will not do.
        tuning: How thresholds are compared.
        read: Yields a task's sessions.
        run: Does the tasks, here or in other processes; the answer is the same.
    """
    groups: dict[str, _Group] = {}
    refused: list[str] = []
    unpriced: Counter[str] = Counter()
    for found in _in_order(run(partial(look, read=read, tuning=tuning), tasks)):
        for one in found:
            if isinstance(one, str):
                refused.append(one)
            elif isinstance(one, Unpriced):
                unpriced[one.reason] += 1
            else:
                groups.setdefault(one.group, _Group(one.group, tuning)).look(one)
    for step in (_Group.grid, _Group.between):
        thresholds = {name: frozenset(step(group)) for name, group in groups.items()}
        work = partial(measure, read=read, tuning=tuning, thresholds=thresholds)
        for measured in _in_order(run(work, tasks)):
            for name, points in measured:
                groups[name].add(points)
    tuned = tuple(groups[name].tuned() for name in sorted(groups))
    return Found(tuned, tuple(refused), dict(sorted(unpriced.items())))


def _in_order(results: Iterable[tuple[int, Result]]) -> Iterator[Result]:
    """Yield numbered results by their numbers, so that sums do not depend on who was faster."""
    early: dict[int, Result] = {}
    wanted = 0
    for number, result in results:
        early[number] = result
        while wanted in early:
            yield early.pop(wanted)
            wanted += 1


class _Group:
    def __init__(self, name: str, tuning: Tuning) -> None:
        self.name = name
        self.tuning = tuning
        self.models: dict[str, int] = {}
        self.sessions = self.calls = self.top = 0
        self.worth = self.firsts = 0.0
        self.shapes: dict[str, list[Shape]] = {}
        self.points: dict[int, Point] = {}

    def look(self, one: Look) -> None:
        """Take a session in."""
        self.models[one.model] = self.models.get(one.model, 0) + 1
        self.sessions += 1
        self.calls += one.calls
        self.worth += one.worth
        self.firsts += one.first
        self.top = max(self.top, one.top)
        for cache, shape in one.shapes.items():
            self.shapes.setdefault(cache, []).append(shape)

    @property
    def floor(self) -> int:
        """The smallest threshold with room to grow."""
        shapes = next(iter(self.shapes.values()), None)
        base = base_of(shapes) if shapes else self.firsts / self.sessions
        return max(floor_of(base, self.tuning.policy), _LEAST)

    @property
    def never(self) -> int:
        """A threshold that no session passes."""
        return max(self.top, self.floor)

    def formula(self, cache: str, extra: float) -> int:
        """Return the closed form's threshold: between the floor and what is never reached."""
        shapes = self.shapes.get(cache)
        found = formula(shapes, extra) if shapes else inf
        return round(min(max(found, self.floor), self.never))

    def grid(self) -> set[int]:
        """Return thresholds from half the floor to the top, the closed form's and the automatic.

        Never dropping is one of them: what the closed form is held against.
        """
        low = max(self.floor // 2, _LEAST)
        count = max(0, round(_STEPS * log2(max(self.top / low, 1))))
        steps = {round(low * 2 ** (i / _STEPS)) for i in range(count + 1)}
        formulas = {self.formula(*case) for case in self._cases()}
        return steps | formulas | {0, self.floor, self.top, self.never}

    def between(self) -> set[int]:
        """Return thresholds halfway from each best one to its neighbours, not replayed yet."""
        known = self._thresholds()
        found: set[int] = set()
        for case in self._cases():
            at = known.index(self._best(*case))
            around = known[max(at - 1, 0) : at + 2]
            found |= {round(sqrt(one * other)) for one, other in pairwise(around)}
        return found - set(known)

    def add(self, points: Mapping[int, Point]) -> None:
        """Add what a session costs at thresholds."""
        for threshold, point in points.items():
            known = self.points.get(threshold)
            self.points[threshold] = known + point if known else point

    def tuned(self) -> Tuned:
        """Return what was found."""
        answers = [self._answer(*case) for case in self._cases()]
        wanted = ("engine", self.tuning.extra)
        advice = next(self._advice(a) for a in answers if (a.cache, a.extra) == wanted)
        return Tuned(
            self.name, self.models, self.sessions, self.calls, self.worth, self.top, self.floor,
            self.shapes, dict(sorted(self.points.items())), answers, advice,
        )  # fmt: skip

    def _cases(self) -> Iterator[tuple[str, float]]:
        return product(CACHES, self.tuning.extras)

    def _thresholds(self) -> list[int]:
        return sorted(threshold for threshold in self.points if threshold)

    def _cost(self, threshold: int, cache: str, extra: float) -> float:
        return self.points[threshold].costs[cache].total(extra)

    def _best(self, cache: str, extra: float) -> int:
        """Return the cheapest threshold; among equals the highest, which forgets least."""
        return min(self._thresholds(), key=lambda t: (self._cost(t, cache, extra), -t))

    def _answer(self, cache: str, extra: float) -> Answer:
        best = self._best(cache, extra)
        least = self._cost(best, cache, extra)
        most = least * (1 + self.tuning.within)
        known = self._thresholds()
        up = [t for t in known if t >= best]
        down = [t for t in reversed(known) if t <= best]
        near = partial(takewhile, lambda t: self._cost(t, cache, extra) <= most)
        low, high = [*near(down)][-1], [*near(up)][-1]
        # The sum under the formula ends where a session does, so its edge is looked at too.
        edges = (self.never, self.formula(cache, extra))
        chosen = min(edges, key=lambda t: self._cost(t, cache, extra))
        return Answer(
            cache=cache,
            extra=extra,
            formula=chosen if self.points[chosen].cliffs else None,
            formula_cost=self._cost(chosen, cache, extra),
            best=best,
            best_cost=least,
            low=low,
            high=high if self.points[high].cliffs else None,
            at_floor=best <= _NEAR * self.floor,
        )

    def _advice(self, answer: Answer) -> int | None:
        """Return the closed form's threshold moved into the band and rounded, if dropping pays."""
        if answer.high is None:
            return None
        models = [self.tuning.model] if self.tuning.model else self.models
        windows = filter(None, (window_of(read_model(model)) for model in models))
        high = min([answer.high, *(int(WINDOW_SHARE * window) for window in windows)])
        low = min(max(answer.low, self.floor), high)
        chosen = self.never if answer.formula is None else answer.formula
        return _plain(min(max(chosen, low), high), low, high)


def _plain(tokens: int, low: int, high: int) -> int:
    """Write a threshold in two figures, as people do, if one lies within the bounds."""
    unit: int = 10 ** max(len(str(tokens)) - 2, 0)
    near = round(tokens / unit) * unit
    return next((t for t in (near, near + unit, near - unit) if low <= t <= high), tokens)
