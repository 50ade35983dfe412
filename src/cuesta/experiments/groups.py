"""Which runs may be compared: those that share all but strategy, threshold and seed.

Rule 1. A group shares task set, scaffold, model, the settings behind `Record.basis`, the effective
window, the spec, and the prices. Nothing is compared across groups. A window that is how a scaffold
is told the threshold of its own compaction is part of the setting instead.
Rule 2. Within a group every setting is read over the same tasks, each with as many seeds as are
asked of it, so that a difference is never one of tasks.
Rule 3. A run that broke (`ERROR`) says nothing about the agent and counts as not there.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from itertools import cycle
from string import ascii_lowercase
from types import MappingProxyType
from typing import TypeAlias

from cuesta.experiments.record import ERROR, NATIVE, Cell, Record
from cuesta.experiments.spread import Unit, Value, one, over_seeds

FULL = "keep_all"
"""The strategy that keeps everything: full context."""
CLIFF = "cliff"
_ORDER = (
    FULL, "sliding_window", "summary", "micro_summary", "microcompaction", NATIVE, CLIFF,
)  # fmt: skip
"""The order of the rows, as in the paper's Table 6."""

Papers: TypeAlias = "Mapping[str, Mapping[str, float]]"
NO_PAPER: Papers = MappingProxyType({})
_Kind: TypeAlias = "tuple[str, str, str]"
_Setting: TypeAlias = "tuple[str, int]"
_Cases: TypeAlias = "Mapping[_Setting, Mapping[int, Mapping[str, Record]]]"
"""Records by setting, seed and task."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The runs of one strategy at one threshold: every task once a seed.

    Attributes:
        strategy: Its strategy.
        threshold: In tokens; 0: it has none.
        seeds: By seed the runs, in the order of the tasks; the same tasks each.
    """

    strategy: str
    threshold: int
    seeds: tuple[tuple[Record, ...], ...]

    @property
    def runs(self) -> tuple[Record, ...]:
        """All runs."""
        return tuple(run for seed in self.seeds for run in seed)

    def mean(self, of: Callable[[Record], float | None], unit: Unit) -> Value | None:
        """Return the mean over the tasks of what a run came to, seed by seed.

        Returns:
            None where it is not known of every run.
        """
        return over_seeds((_mean([of(run) for run in seed]) for seed in self.seeds), unit)

    @property
    def resolved(self) -> Value | None:
        """The part of the tasks that was resolved."""
        return self.mean(lambda run: run.resolved, Unit.PERCENT)

    @property
    def cost(self) -> Value | None:
        """US dollars a task by the paper's perfect cache."""
        return self.mean(lambda run: run.perfect_cost, Unit.DOLLARS)

    @property
    def billed(self) -> Value | None:
        """US dollars a task as billed."""
        return self.mean(lambda run: run.billed_cost, Unit.DOLLARS)

    @property
    def peak(self) -> float:
        """The mean peak context: the mean over all runs of the longest prompt, in tokens."""
        return sum(run.peak for run in self.runs) / len(self.runs)

    @property
    def hits(self) -> Value | None:
        """The part of all prompt tokens that the provider read from its cache."""
        return over_seeds(map(_hits, self.seeds), Unit.PERCENT)


@dataclass(frozen=True)
class Group:
    """Settings that may be compared.

    Attributes:
        task_set: The benchmark.
        scaffold: The agent program.
        model: The model.
        mark: A letter where there are several groups of these three; else empty.
        window: The effective window, in tokens; 0: each setting has its own, its threshold.
        tasks: What all settings are compared over.
        settings: In the order of strategy and threshold, the longest contexts first.
        left_out: How many runs are not among them because another setting lacks their task or seed.
        paper: Dollars a task in the paper, by `MODEL STRATEGY THRESHOLD`.
    """

    task_set: str
    scaffold: str
    model: str
    mark: str
    window: int
    tasks: tuple[str, ...]
    settings: tuple[Setting, ...]
    left_out: int
    paper: Mapping[str, float]

    @property
    def name(self) -> str:
        """The model, with the group's letter where it needs one."""
        return f"{self.model} [{self.mark}]" if self.mark else self.model

    @cached_property
    def base(self) -> Setting | None:
        """Full context: everything kept, or else the scaffold's own default."""
        return self.at(FULL, 0) or self.at(NATIVE, 0)

    def at(self, strategy: str, threshold: int) -> Setting | None:
        """Return a setting, if there is one."""
        same = (
            one for one in self.settings if (one.strategy, one.threshold) == (strategy, threshold)
        )
        return next(same, None)

    def printed(self, strategy: str, threshold: int) -> Value | None:
        """Return what a task costs in the paper, where it has the setting."""
        return one(self.paper.get(f"{self.model} {strategy} {threshold}"), Unit.DOLLARS)

    def of(self, strategy: str) -> tuple[Setting, ...]:
        """Return a strategy's settings that have a threshold, the highest first."""
        return tuple(one for one in self.settings if one.strategy == strategy and one.threshold)

    @property
    def strategies(self) -> tuple[str, ...]:
        """The strategies that have a setting with a threshold, the cliff last."""
        return tuple(dict.fromkeys(one.strategy for one in self.settings if one.threshold))


@dataclass(frozen=True, slots=True)
class Apart:
    """Groups that are alike in name and may still not be compared.

    Attributes:
        groups: Their names.
        why: What differs, each with its values in the order of the groups.
    """

    task_set: str
    scaffold: str
    model: str
    groups: tuple[str, ...]
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grouped:
    """All records, in groups.

    Attributes:
        groups: In the order of task set, scaffold, model and letter.
        apart: What was kept apart.
        broken: How many records ended in an error and count for nothing.
    """

    groups: tuple[Group, ...]
    apart: tuple[Apart, ...]
    broken: int


@dataclass(frozen=True, slots=True, order=True)
class _Key:
    """What two runs of one task set, scaffold and model must share to be compared."""

    window: int
    basis: str
    spec: str
    price: str

    @classmethod
    def of(cls, record: Record) -> _Key:
        price = record.price
        shown = "/".join(f"{one:g}" for one in astuple(price)) if price else "unknown"
        return cls(0 if _budget(record) else record.window, record.basis, record.spec, shown)


_WORDS = {
    "window": "effective window",
    "basis": "settings of the runs",
    "spec": "spec",
    "price": "prices of a million tokens, input/output/cached/written for 5 minutes/for an hour",
}


def _budget(record: Record) -> bool:
    """Tell whether a window is how the scaffold's own compaction was told its threshold."""
    return record.cell.strategy == NATIVE and record.cell.threshold > 0


def grouped(records: Iterable[Record], paper: Papers = NO_PAPER) -> Grouped:
    """Sort records into groups that may be compared; their order changes nothing.

    Args:
        records: The records.
        paper: By spec what a task costs in the paper, see `Spec.paper`.
    """
    latest: dict[tuple[Cell, _Key], Record] = {}
    for record in sorted(records, key=lambda one: (one.attempt, one.at, one.perfect_cost or 0.0)):
        latest[record.cell, _Key.of(record)] = record
    kinds: dict[_Kind, dict[_Key, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for (cell, key), record in latest.items():
        if record.end != ERROR:
            kinds[cell.task_set, cell.scaffold, cell.model][key].append(record)
    groups: list[Group] = []
    apart: list[Apart] = []
    for kind, unsettled in sorted(kinds.items()):
        by_key = _settled(unsettled)
        keys = sorted(by_key)
        marks = ascii_lowercase if len(keys) > 1 else ("",)
        found = [
            _group((*kind, mark, key.window), by_key[key], paper.get(key.spec, {}))
            for key, mark in zip(keys, cycle(marks), strict=False)
        ]
        groups += found
        if len(keys) > 1:
            apart.append(Apart(*kind, tuple(one.name for one in found), _why(keys)))
    broken = sum(record.end == ERROR for record in latest.values())
    return Grouped(tuple(groups), tuple(apart), broken)


def _settled(by_key: Mapping[_Key, Sequence[Record]]) -> Mapping[_Key, Sequence[Record]]:
    """Give runs whose window is their threshold to the group that they share all else with.

    Where there are several such groups, or none, they stand by themselves.
    """
    settled = {key: list(records) for key, records in by_key.items() if key.window}
    for key in by_key.keys() - settled.keys():
        like = [one for one in settled if replace(one, window=0) == key]
        settled.setdefault(like[0] if len(like) == 1 else key, []).extend(by_key[key])
    return settled


def _why(keys: Sequence[_Key]) -> tuple[str, ...]:
    """Return what differs between groups, with the values that it has."""
    told = []
    for name, words in _WORDS.items():
        values = [getattr(key, name) for key in keys]
        if len(set(values)) > 1:
            shown = (f"{one:,}" if isinstance(one, int) else (one or "none") for one in values)
            told.append(f"{words} ({', '.join(shown)})")
    return tuple(told)


def _group(
    name: tuple[str, str, str, str, int], records: Sequence[Record], paper: Mapping[str, float]
) -> Group:
    cases: dict[_Setting, dict[int, dict[str, Record]]] = defaultdict(lambda: defaultdict(dict))
    for record in records:
        cell = record.cell
        cases[cell.strategy, cell.threshold][cell.seed][cell.task] = record
    seeds, tasks = _shared(cases)
    settings = tuple(
        Setting(*one, tuple(tuple(by_seed[seed][t] for t in tasks) for seed in seeds[one]))
        for one, by_seed in sorted(cases.items(), key=lambda item: _place(*item[0]))
        if tasks
    )
    taken = sum(len(seed) for one in settings for seed in one.seeds)
    return Group(*name, tasks, settings, len(records) - taken, paper)


def _shared(cases: _Cases) -> tuple[Mapping[_Setting, Sequence[int]], tuple[str, ...]]:
    """Choose seeds and tasks so that every setting has each task once a seed, and most runs stay.

    An unfinished experiment has tasks with some of the seeds only: either the tasks are left out or
    the seeds.
    """
    fullest = {
        name: sorted(by_seed, key=lambda seed: (-len(by_seed[seed]), seed))
        for name, by_seed in cases.items()
    }
    best: tuple[int, dict[_Setting, list[int]], tuple[str, ...]] = (0, {}, ())
    for most in range(1, max(map(len, fullest.values())) + 1):
        seeds = {name: sorted(found[:most]) for name, found in fullest.items()}
        tasks = set.intersection(
            *(set(cases[name][seed]) for name, found in seeds.items() for seed in found)
        )
        runs = len(tasks) * sum(map(len, seeds.values()))
        if runs > best[0]:
            best = runs, seeds, tuple(sorted(tasks))
    return best[1:]


def _place(strategy: str, threshold: int) -> tuple[int, str, float]:
    rank = _ORDER.index(strategy) if strategy in _ORDER else len(_ORDER)
    return rank, strategy, -threshold if threshold else -math.inf


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None


def _hits(runs: Sequence[Record]) -> float | None:
    prompt = sum(run.usage.prompt for run in runs)
    return sum(run.usage.cache_read for run in runs) / prompt if prompt else None
