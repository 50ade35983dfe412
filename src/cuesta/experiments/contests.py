"""Tables that set runs against each other: 4 and 13 (best of k), 6 (strategies), and early ends."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from cuesta.experiments.groups import CLIFF, FULL, Group, Setting
from cuesta.experiments.record import NATIVE, SECONDS, STEPS, Kernel
from cuesta.experiments.shapes import (
    FULL_CONTEXT,
    KERNELS,
    MATCHED,
    NAMES,
    PAPER,
    SWE,
    TERMINAL,
    Groups,
    by_heading,
    drawn_in,
    matched,
)
from cuesta.experiments.spread import Unit, Value, one, over_seeds
from cuesta.experiments.tables import Block, Column, Row, Table, seeds_note, size, told
from cuesta.lab.report.numbers import counted

_MOST_ROWS = 5
_TASKS = ("Mean peak", "% Resolved", "Cost")
_KERNELS = ("Mean peak", "Speedup", "Kernels", "Cost")
_CLAMP = 10.0
_NONE_CORRECT = 0.1
"""The paper's evaluation of kernels (section 5.1): at most 10x, and 0.1 where none is correct."""


def best_of_k(groups: Groups, number: str) -> Table:
    """Return Table 4 (Terminal-Bench) or 13 (SWE-bench): what k runs a task reach and cost.

    pass@1 is the mean over all runs. The oracle of k is pass@k, the mean over all choices of k of
    a task's n runs of whether one of them resolved it. What a selector reaches (Practical, Gain)
    has no column here: nothing but a selector can fill it.

    Args:
        groups: All groups.
        number: `4` or `13`.
    """
    benchmark, spec = (
        (TERMINAL, "rollouts-terminal-bench") if number == "4" else (SWE, "rollouts-swe-bench")
    )
    columns = (
        Column("k"), Column("Cost (USD)"), Column("Times full"), Column("pass@1"), Column("Oracle")
    )  # fmt: skip
    blocks = []
    for heading, same in by_heading(drawn_in(groups, benchmark)):
        rows = told(row for group in same for row in _scaled(group))
        if any(setting.seeds[1:] for group in same for setting in group.settings) and rows:
            blocks.append(Block(heading, ("Model", "Context"), columns, rows, _times(same)))
    needs = (
        "checked runs with two seeds or more, at full context and of `cliff` at one threshold or "
        f"more: spec `{spec}`"
    )
    made = tuple(blocks)
    notes = ("Practical and Gain need a selector: no column", *seeds_note(made))
    return Table(number, f"Best of k runs ({NAMES[benchmark]})", made, needs, notes if made else ())


def _times(groups: Groups) -> tuple[str, ...]:
    counts = sorted({len(group.tasks) for group in groups})
    tasks = " or ".join(f"{count:,}" for count in counts)
    return (
        f"Cost (USD): of all {tasks} tasks, k runs each, perfect cache",
        "Times full: of the cost of one run each at full context",
    )


def _scaled(group: Group) -> Iterator[Row]:
    """Yield the rows of a group: full context and the cliff, as in the paper, by k."""
    shown = (one for one in group.settings if one == group.base or one.strategy == CLIFF)
    for setting in shown:
        passed = setting.resolved
        base = group.base.cost if group.base else None
        for k in _budgets(len(setting.seeds)):
            cost = setting.cost
            total = one(k * cost.mean * len(group.tasks) if cost else None, Unit.DOLLARS)
            times = k * cost.mean / base.mean if cost and base and base.mean else None
            cells = (
                one(k, Unit.COUNT), total, one(times, Unit.TIMES),
                passed if k == 1 else None,
                one(oracle(setting, k), Unit.PERCENT) if k > 1 else None,
            )  # fmt: skip
            yield Row((group.name, name_of(setting)), cells)


def _budgets(seeds: int) -> list[int]:
    """Return each k that is shown."""
    return list(range(1, seeds + 1)) if seeds <= _MOST_ROWS else [1, 2, 3, 5, seeds]


def oracle(setting: Setting, k: int) -> float | None:
    """Return pass@k: 1 - C(n - c, k) / C(n, k) for a task with c of n runs resolved, the mean.

    That is the paper's oracle where k = n, and its mean over all choices of k runs elsewhere.
    """
    shares = []
    for runs in zip(*setting.seeds, strict=True):
        if any(run.resolved is None for run in runs):
            return None
        count = len(runs)
        failed = sum(not run.resolved for run in runs)
        shares.append(1 - math.comb(failed, k) / math.comb(count, k))
    return sum(shares) / len(shares)


@dataclass(frozen=True, slots=True)
class Match:
    """Strategies of one group at the same budget.

    Attributes:
        group: The group.
        target: The cliff, whose mean peak context is the budget.
        settings: One a strategy that has a setting at that budget, the cliff last.
        unmatched: For each other strategy its nearest setting.
    """

    group: Group
    target: Setting
    settings: tuple[Setting, ...]
    unmatched: tuple[Setting, ...]

    def at(self, strategy: str) -> Setting | None:
        """Return a strategy's setting, if it has one at this budget."""
        return next((one for one in self.settings if one.strategy == strategy), None)

    def notes(self) -> Iterator[str]:
        """Say which strategies are not compared."""
        for found in self.unmatched:
            yield (
                f"{self.group.name}: {found.strategy} is not compared: its nearest mean peak is "
                f"{found.peak / 1000:.1f}K (threshold {size(found.threshold)}), the cliff's "
                f"{self.target.peak / 1000:.1f}K"
            )


def matches(group: Group) -> Iterator[Match]:
    """Yield what may be compared at each of the cliff's thresholds, the highest first."""
    for target in group.of(CLIFF):
        nearest = [
            min(
                group.of(strategy),
                key=lambda found: (abs(found.peak - target.peak), found.threshold),
            )
            for strategy in group.strategies
            if strategy != CLIFF
        ]
        same = [found for found in nearest if matched(found.peak, target.peak)]
        others = [found for found in nearest if found not in same]
        yield Match(group, target, (*same, target), tuple(others))


def strategies(groups: Groups) -> Table:
    """Return Table 6: strategies compared at the same mean peak context."""
    blocks: list[Block] = []
    for heading, same in by_heading(drawn_in(groups, SWE, KERNELS)):
        found: dict[int, list[Match]] = {}
        for group in same:
            for match in matches(group):
                found.setdefault(match.target.threshold, []).append(match)
        for threshold, at in sorted(found.items(), reverse=True):
            blocks += _contest(f"{heading}, cliff {size(threshold)}", at)
    needs = (
        "runs of `cliff` and of `sliding_window`, `summary` or `micro_summary` whose mean peak "
        f"contexts lie within {MATCHED:.0%} of the cliff's: spec `strategies-swe-bench` or "
        "`strategies-kernelbench`"
    )
    made = tuple(blocks)
    notes = (f"budgets are matched: mean peak contexts within {MATCHED:.0%} of the cliff's",)
    shown = (*notes, *seeds_note(made)) if made else ()
    return Table("6", "Strategies at the same mean peak context", made, needs, shown)


def _contest(heading: str, found: Sequence[Match]) -> Iterator[Block]:
    """Yield the block of one budget; where nothing has it but the cliff, that is said."""
    shown = [match for match in found if match.settings[1:] or match.unmatched]
    if not shown:
        return
    heads = _KERNELS if any(r.kernels for m in shown for r in m.target.runs) else _TASKS
    empty = [None] * (len(heads) - 1)
    names = dict.fromkeys(one.strategy for match in shown for one in match.settings)
    rows = []
    for strategy in sorted(names, key=CLIFF.__eq__):
        at = [match.at(strategy) for match in shown]
        cells = [cell for one in at for cell in _outcome(one, heads)]
        rows.append(Row((strategy,), tuple(cells)))
        printed = [m.group.printed(strategy, one.threshold) if one else None
                   for m, one in zip(shown, at, strict=True)]  # fmt: skip
        rows.append(Row((PAPER,), tuple(c for cost in printed for c in (*empty, cost))))
    columns = tuple(Column(head, match.group.name) for match in shown for head in heads)
    notes = tuple(note for match in shown for note in match.notes())
    yield Block(heading, ("Method",), columns, told(rows), notes)


def _outcome(setting: Setting | None, heads: Sequence[str]) -> list[Value | None]:
    if setting is None:
        return [None] * len(heads)
    peak = setting.mean(lambda run: run.peak, Unit.TOKENS)
    if heads == _TASKS:
        return [peak, setting.resolved, setting.cost]
    made = setting.mean(lambda run: len(run.kernels), Unit.MEAN)
    return [peak, speedup(setting), made, setting.cost]


def speedup(setting: Setting) -> Value | None:
    """Return the geometric mean over the problems of the best kernel's speed-up, seed by seed."""
    return over_seeds(
        (geometric_mean(best(run.kernels) for run in seed) for seed in setting.seeds), Unit.TIMES
    )


def best(kernels: Iterable[Kernel]) -> float:
    """Return the best correct speed-up, at most 10; 0.1 where none is correct."""
    return min(max((one.speedup for one in kernels if one.correct), default=_NONE_CORRECT), _CLAMP)


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean; a value of 0 counts as that of no correct kernel."""
    known = [max(value, _NONE_CORRECT) for value in values]
    return math.exp(sum(map(math.log, known)) / len(known))


def ends(groups: Groups) -> Table:
    """Return how the runs of each setting went and ended, early ones with their median step."""
    columns = tuple(
        Column(name)
        for name in ("Runs", "Steps", "Cliffs", "Mean peak", "At limit", "Early", "Median step")
    )
    blocks = []
    for group in groups:
        rows = tuple(Row((name_of(one),), tuple(_ends(one))) for one in group.settings)
        window = f", effective window {group.window:,}" if group.window else ""
        heading = f"{group.task_set}, {group.scaffold}, {group.name}{window}"
        if rows:
            blocks.append(Block(heading, ("Setting",), columns, rows, tuple(_unknown(group))))
    notes = (
        "at limit: of steps or of time",
        "early: ended by the window or a refusal of the provider; median step: of these runs",
    )
    return Table("", "Runs, and early ends", tuple(blocks), "any runs", notes if blocks else ())


def _ends(setting: Setting) -> list[Value | None]:
    runs = setting.runs
    early = [run.steps for run in runs if run.early]
    limited = sum(run.end in {STEPS, SECONDS} for run in runs)
    return [
        one(len(runs), Unit.COUNT),
        setting.mean(lambda run: run.steps, Unit.MEAN),
        setting.mean(lambda run: len(run.cliffs), Unit.MEAN),
        one(setting.peak, Unit.TOKENS),
        one(limited / len(runs), Unit.PERCENT),
        one(len(early) / len(runs), Unit.PERCENT),
        one(median(early) if early else None, Unit.MEAN),
    ]


def _unknown(group: Group) -> Iterator[str]:
    """Say what is not known of a group's runs, so that cells are empty or rest on a guess."""
    runs = [run for setting in group.settings for run in setting.runs]
    for count, what in (
        (sum(not run.cliffs_told for run in runs), "each shorter prompt counts as a cliff"),
        (sum(run.resolved is None for run in runs), "not checked, so that no success is told"),
        (sum(run.perfect_cost is None for run in runs), "without a price, so that no cost is told"),
    ):
        if count:
            yield f"{count:,} of {counted(len(runs), 'run')}: {what}"


def name_of(setting: Setting) -> str:
    """Return a setting's name: its strategy, with the threshold that it has."""
    if setting.strategy == FULL:
        return FULL_CONTEXT
    if setting.threshold:
        return f"{setting.strategy} {size(setting.threshold)}"
    return f"{setting.strategy}, default" if setting.strategy == NATIVE else setting.strategy
