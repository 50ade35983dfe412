"""The paper's figures 1 and 3 to 7 from records: what each draws, and how.

Curves of several strategies stand in one figure only at one budget: full context, the cliff, and
what is matched with it (see `contests.matches`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from cuesta.core.prices import Price
from cuesta.experiments import drawings
from cuesta.experiments.contests import Match, best, geometric_mean, matches, name_of
from cuesta.experiments.groups import FULL, Group, Setting
from cuesta.experiments.record import Kernel, Record
from cuesta.experiments.shapes import Groups
from cuesta.experiments.tables import size
from cuesta.lab.report import figures as replayed
from cuesta.lab.report.encodings import Spec
from cuesta.lab.report.rows import KINDS, Values

NEEDS: Mapping[str, str] = {
    "1": "checked runs of a model whose price is known",
    "3": "runs with measured kernels, and prices for 3b: spec `strategies-kernelbench`",
    "4": "runs of `cliff` and of a model whose price is known",
    "5": "any runs of `cliff`",
    "6": "runs of `keep_all` and `cliff` by a scaffold that tells what its steps do",
    "7": "runs with measured kernels: spec `strategies-kernelbench`",
}
"""Which runs each figure needs."""
_SLACK = 0.01
_WORD = re.compile(r"[A-Za-z0-9.]+")


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure.

    Attributes:
        number: Its number in the paper.
        name: What its files are called.
        title: What it shows, and of what.
        spec: How it is drawn, for Vega-Lite.
        rows: What is drawn; at least one.
    """

    number: str
    name: str
    title: str
    spec: Spec
    rows: Values

    def to_dict(self) -> dict[str, Any]:
        """Return what it shows as JSON's plain values."""
        return {"figure": self.number, "name": self.name, "title": self.title, "rows": self.rows}


def figures(groups: Groups) -> tuple[Figure, ...]:
    """Return every figure that the records are enough for, in the order of the paper's numbers."""
    made = [figure for group in groups for figure in _of_group(group) if figure.rows]
    return tuple(sorted(made, key=lambda figure: (figure.number, figure.name)))


def missing(made: Iterable[Figure]) -> dict[str, str]:
    """Return what the figures that are not there would need, by number."""
    there = {figure.number[0] for figure in made}
    return {number: needs for number, needs in NEEDS.items() if number not in there}


def _points(group: Group) -> Iterator[dict[str, Any]]:
    for setting in group.settings:
        resolved, cost = setting.resolved, setting.cost
        if resolved and cost:
            yield {
                "strategy": setting.strategy,
                "setting": name_of(setting),
                "threshold": setting.threshold,
                "size": size(setting.threshold) if setting.threshold else "",
                "cost": cost.mean,
                "resolved": resolved.mean,
                "low": min(resolved.seeds),
                "high": max(resolved.seeds),
            }


def _of_group(group: Group) -> Iterator[Figure]:
    heading = f"{group.task_set}, {group.scaffold}, {group.name}"
    file = "-".join(_WORD.findall(f"{group.model} {group.task_set} {group.scaffold} {group.mark}"))
    points = list(_points(group))
    spec = drawings.frontier(list(dict.fromkeys(point["strategy"] for point in points)))
    yield Figure("1", f"figure-1-{file}", f"{heading}: success and cost a task", spec, points)
    match = max(matches(group), key=_telling, default=None)
    if match is not None:
        full = group.at(FULL, 0)
        shown = [*([full] if full else []), *match.settings]
        drawn = {setting.strategy: setting for setting in shown}
        budget = f"{heading}, cliff {size(match.target.threshold)}"
        yield from _traces(drawn, match, budget, file)
        yield from _speedups(drawn, budget, file)


def _telling(match: Match) -> tuple[int, float, int]:
    """Order budgets by how much they show: many strategies, cliffs at all, long epochs."""
    runs = match.target.runs
    cliffs = sum(len(run.cliffs) for run in runs) / len(runs)
    return len(match.settings), min(cliffs, 1.0), match.target.threshold


def _traces(drawn: Mapping[str, Setting], match: Match, budget: str, file: str) -> Iterator[Figure]:
    names = list(drawn)
    place, task = _longest(match)
    one = {name: setting.seeds[0][place] for name, setting in drawn.items()}
    trace = f"{budget}, task {task}"
    others = [name for name in names if name != FULL]
    extra = list(_extra(drawn))
    over = f", over {extra[0]['tasks']} of {len(match.group.tasks)} tasks" if extra else ""
    beyond = f"{budget}: steps beyond full context{over}"
    for number, title, spec, rows in (
        ("4", f"{trace}: cost by step", replayed.costs(names), list(_costs(one))),
        ("5", f"{trace}: prompt by step", replayed.context(names), list(_context(one))),
        ("6", beyond, drawings.extra_steps(others), extra),
    ):
        yield Figure(number, f"figure-{number}-{file}", title, spec, rows)


def _speedups(drawn: Mapping[str, Setting], budget: str, file: str) -> Iterator[Figure]:
    if not any(run.kernels for setting in drawn.values() for run in setting.runs):
        return
    names = list(drawn)
    for number, field, title, rows in (
        ("3a", "step", "step (model call)", _by_step(drawn, priced=False)),
        ("3b", "cost", "cost a problem (US$, perfect cache)", _by_step(drawn, priced=True)),
        ("7", "kernel", "kernels written", _by_kernel(drawn)),
    ):
        spec = drawings.trend(names, field, title)
        name, about = f"figure-{number}-{file}", f"{budget}: speed-up by {field}"
        yield Figure(number, name, about, spec, list(rows))


def _longest(match: Match) -> tuple[int, str]:
    """Return the task whose steps are shown: the cliff's longest run of its first seed."""
    runs = match.target.seeds[0]
    place = max(range(len(runs)), key=lambda i: (runs[i].steps, -i))
    return place, runs[place].cell.task


def _context(runs: Mapping[str, Record]) -> Iterator[dict[str, Any]]:
    for strategy, run in runs.items():
        for step, tokens in enumerate(run.prompts, 1):
            yield {"step": step, "strategy": strategy, "tokens": tokens}


def _costs(runs: Mapping[str, Record]) -> Iterator[dict[str, Any]]:
    for strategy, run in runs.items():
        for step, (cached, other) in enumerate(step_costs(run), 1):
            yield {"step": step, "strategy": strategy, "cached": cached, "total": cached + other}


def step_costs(run: Record) -> list[tuple[float, float]]:
    """Return what each of the agent's steps cost by the paper's perfect cache, in US dollars.

    A call that asks for a summary is paid with the step behind it, or the last one.

    Returns:
        For each step what its cached tokens cost, and what the others and the answer did; empty
        where the record has no price, or where conversations beside each other had caches of their
        own, so that the steps in a row do not add up to the run's cost.
    """
    if run.price is None:
        return []
    costs: list[tuple[float, float]] = []
    before = 0
    owed = (0.0, 0.0)
    calls = run.calls
    for prompt, output, ours in zip(calls.prompt, calls.output, calls.ours, strict=True):
        cached = before if prompt >= before else 0
        before = prompt
        owed = _sum(owed, _paid(run.price, prompt - cached, cached, output))
        if not ours:
            costs.append(owed)
            owed = (0.0, 0.0)
    if costs:
        costs[-1] = _sum(costs[-1], owed)
    whole = run.perfect_cost or 0.0
    return costs if abs(sum(map(sum, costs)) - whole) <= _SLACK * whole else []


def _paid(price: Price, new: int, cached: int, output: int) -> tuple[float, float]:
    return cached * price.cache_read / 1e6, (new * price.input + output * price.output) / 1e6


def _sum(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return one[0] + other[0], one[1] + other[1]


def _extra(drawn: Mapping[str, Setting]) -> Iterator[dict[str, Any]]:
    """Yield steps beyond full context, over the tasks of which all settings tell what steps did."""
    telling = {name: s for name, s in drawn.items() if any(run.calls.kinds for run in s.runs)}
    if FULL not in telling:
        return
    runs = [run for setting in telling.values() for run in setting.runs]
    tasks = {run.cell.task for run in runs} - {r.cell.task for r in runs if not r.calls.kinds}
    known = {name: _kinds(setting, tasks) for name, setting in telling.items() if tasks}
    base = known.pop(FULL, {})
    for strategy, each in known.items():
        for kind, steps in each.items():
            more = {"each": steps, "more": steps - base[kind], "tasks": len(tasks)}
            yield {"strategy": strategy, "kind": kind, **more}


def _kinds(setting: Setting, tasks: Collection[str]) -> dict[str, float]:
    """Return the steps a run by what they do, and all of them, over some tasks."""
    runs = [run for run in setting.runs if run.cell.task in tasks]
    letters = [
        letter
        for run in runs
        for letter, ours in zip(run.calls.kinds, run.calls.ours, strict=True)
        if not ours
    ]
    each = {kind: letters.count(letter) / len(runs) for letter, kind in KINDS.items()}
    return {"all": len(letters) / len(runs), **each}


def _by_step(drawn: Mapping[str, Setting], *, priced: bool) -> Iterator[dict[str, Any]]:
    """Yield the speed-up after each step, with the mean cost; ended runs stand still."""
    for strategy, setting in drawn.items():
        runs = setting.runs
        spent = [list(accumulate(map(sum, step_costs(run)))) for run in runs]
        if priced and not all(spent):
            continue
        for step in range(max(run.steps for run in runs)):
            speed = _speed([[k for k in run.kernels if k.step <= step] for run in runs])
            row = {"step": step + 1, "strategy": strategy, "speedup": speed}
            if priced:
                row["cost"] = sum(one[min(step, len(one) - 1)] for one in spent) / len(runs)
            yield row


def _by_kernel(drawn: Mapping[str, Setting]) -> Iterator[dict[str, Any]]:
    """Yield the speed-up after each kernel written."""
    for strategy, setting in drawn.items():
        runs = setting.runs
        for count in range(1, max(len(run.kernels) for run in runs) + 1):
            speed = _speed([run.kernels[:count] for run in runs])
            yield {"kernel": count, "strategy": strategy, "speedup": speed}


def _speed(kernels: Sequence[Sequence[Kernel]]) -> float:
    return geometric_mean(map(best, kernels))
