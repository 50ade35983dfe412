"""The paper's tables by threshold: 2 and 3 (success and cost), 8 (billed), 10 and 11 (time).

A benchmark of the paper stands in its own tables only; any other task set stands in all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from cuesta.experiments.groups import CLIFF, FULL, Group, Setting
from cuesta.experiments.record import NATIVE
from cuesta.experiments.spread import Unit, Value, change, one, over_seeds
from cuesta.experiments.tables import Block, Column, Row, Table, seeds_note, size, told
from cuesta.lab.report.numbers import counted

Groups: TypeAlias = "Sequence[Group]"

TERMINAL, SWE, KERNELS = "terminal-bench", "swe-bench", "kernelbench"
_PAPER = (TERMINAL, SWE, KERNELS)
NAMES = {TERMINAL: "Terminal-Bench, and tasks of your own", SWE: "SWE-bench, and tasks of your own"}
FULL_CONTEXT = "Full context"
PAPER = "  the paper"
MATCHED = 0.1
"""Mean peak contexts that differ by no more than this part count as the same budget."""

_SUCCESS = "Success and cost a task, by threshold"
_OWN_DEFAULT = "full context: the scaffold's own default"


def drawn_in(groups: Iterable[Group], *benchmarks: str) -> Groups:
    """Return the groups whose task set a table shows.

    Args:
        groups: All groups.
        benchmarks: The table's own, by the beginnings of their names.
    """
    return [
        group
        for group in groups
        if group.settings
        and (group.task_set.startswith(benchmarks) or not group.task_set.startswith(_PAPER))
    ]


def by_heading(groups: Iterable[Group]) -> Iterator[tuple[str, Groups]]:
    """Yield the groups of one task set and scaffold under their heading."""
    found: dict[str, list[Group]] = defaultdict(list)
    for group in groups:
        found[f"{group.task_set}, {group.scaffold}"].append(group)
    yield from found.items()


def success(groups: Groups, number: str) -> Table:
    """Return Table 2 (Terminal-Bench, every strategy) or 3 (SWE-bench, the cliff).

    Args:
        groups: All groups.
        number: `2` or `3`.
    """
    benchmark, specs = (
        (TERMINAL, "`terminus-2` or `claude-code`")
        if number == "2"
        else (SWE, "`mini-swe-agent` or `openhands`")
    )
    blocks = tuple(
        block
        for heading, same in by_heading(drawn_in(groups, benchmark))
        if (block := _success(heading, same, every=number == "2")) is not None
    )
    needs = f"checked runs at full context and of `cliff` at one threshold or more: spec {specs}"
    title = f"{_SUCCESS} ({NAMES[benchmark]})"
    return Table(number, title, blocks, needs, seeds_note(blocks))


def _success(heading: str, groups: Groups, *, every: bool) -> Block | None:
    thresholds = _thresholds(groups, every=every)
    columns = [
        Column(name, over)
        for over in (FULL_CONTEXT, *map(size, thresholds))
        for name in ("% Resolved", "Cost")
    ]
    rows = []
    for group in groups:
        strategies = [one for one in group.strategies if every or one == CLIFF]
        for strategy in strategies or [FULL]:
            shown = [_full(group, strategy), *(group.at(strategy, t) for t in thresholds)]
            pairs = ((one.resolved, one.cost) if one else (None, None) for one in shown)
            cells = tuple(cell for pair in pairs for cell in pair)
            label = FULL_CONTEXT if strategy == FULL else strategy
            rows.append(Row((group.name, label), cells))
            full = shown[0].strategy if shown[0] else FULL
            settings = [(full, 0), *((strategy, threshold) for threshold in thresholds)]
            printed = [cell for one in settings for cell in (None, group.printed(*one))]
            rows.append(Row((group.name, PAPER), tuple(printed)))
    kept = told(rows)
    notes = [*_defaults(groups), *_unlike(groups, thresholds)] if every else _defaults(groups)
    return _block(heading, ("Model", "Compaction"), columns, kept, [*_tasks(groups), *notes])


def billed(groups: Groups) -> Table:
    """Return Table 8: what was billed with which part from the cache, under the cliff."""
    blocks = []
    found: dict[str, list[Group]] = defaultdict(list)
    for group in drawn_in(groups, SWE, TERMINAL):
        found[group.task_set].append(group)
    for task_set, same in found.items():
        thresholds = _thresholds(same, every=False)
        columns = [Column("Real Cost", FULL_CONTEXT), Column("Cache Hit", FULL_CONTEXT)]
        for threshold in thresholds:
            columns += [
                Column(name, size(threshold)) for name in ("Real Cost", "Change", "Cache Hit")
            ]
        rows = told(
            Row((group.scaffold, group.name), tuple(_billed(group, thresholds))) for group in same
        )
        block = _block(task_set, ("Scaffold", "Model"), columns, rows, _tasks(same))
        blocks += [block] if block else []
    needs = (
        "runs at full context and of `cliff` at one threshold or more, as the provider billed "
        "them: spec `terminus-2`, `mini-swe-agent` or `openhands`"
    )
    made = tuple(blocks)
    return Table("8", "Real cost a task, and cache hits", made, needs, seeds_note(made))


def _billed(group: Group, thresholds: Sequence[int]) -> Iterator[Value | None]:
    base = group.base
    yield from (base.billed, base.hits) if base else (None, None)
    for threshold in thresholds:
        found = group.at(CLIFF, threshold)
        if found is None:
            yield from (None, None, None)
        else:
            yield from (
                found.billed,
                change(found.billed, base.billed if base else None),
                found.hits,
            )


def durations(groups: Groups) -> Table:
    """Return Table 10: wall time a task, and what the cliff takes off it and off the bill."""
    blocks = []
    for heading, same in by_heading(drawn_in(groups, SWE)):
        thresholds = _thresholds(same, every=False)
        columns = [Column("Duration", FULL_CONTEXT)]
        for threshold in thresholds:
            names = ("Duration", "Change", "Cost change")
            columns += [Column(name, size(threshold)) for name in names]
        rows = told(Row((group.name,), tuple(_durations(group, thresholds))) for group in same)
        block = _block(heading, ("Model",), columns, rows, _tasks(same))
        blocks += [block] if block else []
    needs = "runs at full context and of `cliff`: spec `openhands`"
    made = tuple(blocks)
    notes = ("cost change: of the cost as billed", *seeds_note(made))
    return Table("10", "Wall time a task", made, needs, notes if made else ())


def _durations(group: Group, thresholds: Sequence[int]) -> Iterator[Value | None]:
    base = group.base
    full = _seconds(base)
    yield full
    for threshold in thresholds:
        found = group.at(CLIFF, threshold)
        took = _seconds(found)
        yield from (took, change(took, full))
        yield change(found.billed, base.billed) if found and base else None


def hours(groups: Groups) -> Table:
    """Return Table 11: time of all tasks together, by threshold."""
    blocks = []
    for group in drawn_in(groups, SWE):
        full = _total(group.base)
        rows = [Row((FULL_CONTEXT,), (full, None))] if full else []
        for found in group.of(CLIFF):
            took = _total(found)
            times = one(full.mean / took.mean, Unit.TIMES) if full and took and took.mean else None
            rows.append(Row((size(found.threshold),), (took, times)))
        columns = [Column("Total time"), Column("Speedup")]
        heading = f"{group.task_set}, {group.scaffold}, {group.name}"
        block = _block(heading, ("Threshold",), columns, told(rows), _tasks([group]))
        blocks += [block] if block and len(block.rows) > 1 else []
    needs = "runs at full context and of `cliff`: spec `mini-swe-agent-vllm`"
    made = tuple(blocks)
    return Table("11", "Run time of all tasks together", made, needs, seeds_note(made))


def _seconds(setting: Setting | None) -> Value | None:
    return setting.mean(lambda run: run.seconds or None, Unit.SECONDS) if setting else None


def _total(setting: Setting | None) -> Value | None:
    """Return the wall time of all tasks, seed by seed."""
    if setting is None or not all(run.seconds for run in setting.runs):
        return None
    return over_seeds((sum(run.seconds for run in seed) for seed in setting.seeds), Unit.SECONDS)


def _full(group: Group, strategy: str) -> Setting | None:
    """Return full context for a strategy's row: the scaffold's own compaction has its own."""
    return (group.at(NATIVE, 0) if strategy == NATIVE else None) or group.base


def _thresholds(groups: Groups, *, every: bool) -> list[int]:
    """Return all thresholds that there are, the highest first."""
    found = {
        setting.threshold
        for group in groups
        for setting in group.settings
        if setting.threshold and (every or setting.strategy == CLIFF)
    }
    return sorted(found, reverse=True)


def _block(
    heading: str,
    labels: tuple[str, ...],
    columns: Sequence[Column],
    rows: tuple[Row, ...],
    notes: Sequence[str],
) -> Block | None:
    return Block(heading, labels, tuple(columns), rows, tuple(notes)) if rows else None


def _tasks(groups: Groups) -> list[str]:
    """Say over how many tasks each row is, and what was left out of it."""
    told_: dict[str, list[str]] = defaultdict(list)
    for group in groups:
        count = f"over {counted(len(group.tasks), 'task')}"
        if group.left_out:
            runs = counted(group.left_out, "run")
            count += f"; {runs} left out, whose task or seed another setting lacks"
        told_[count].append(group.name)
    if len(told_) == 1:
        return list(told_)
    return [f"{', '.join(dict.fromkeys(names))}: {count}" for count, names in told_.items()]


def _defaults(groups: Groups) -> list[str]:
    used = any(group.base and group.base.strategy == NATIVE for group in groups)
    return [_OWN_DEFAULT] if used else []


def _unlike(groups: Groups, thresholds: Sequence[int]) -> Iterator[str]:
    """Say where strategies in one column did not have the same budget after all."""
    for group in groups:
        for threshold in thresholds:
            there = [one for one in group.settings if one.threshold == threshold]
            peaks = sorted((one.peak, one.strategy) for one in there)
            if peaks and not matched(peaks[-1][0], peaks[0][0]):
                listed = ", ".join(f"{name} {peak / 1000:.1f}K" for peak, name in peaks)
                yield (
                    f"{group.name} at {size(threshold)}: mean peak contexts differ ({listed}); "
                    "compare strategies in Table 6"
                )


def matched(peak: float, target: float) -> bool:
    """Tell whether two mean peak contexts count as the same budget."""
    return abs(peak - target) <= MATCHED * target
