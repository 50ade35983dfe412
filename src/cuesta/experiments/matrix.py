"""Runs the whole matrix: every cell once, kept as soon as it is done, until a limit is reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cuesta.core.errors import ConfigError
from cuesta.core.prices import PriceBook
from cuesta.experiments.choice import Choice
from cuesta.experiments.own.crew import Crew
from cuesta.experiments.perform import Task, perform
from cuesta.experiments.plan import needs
from cuesta.experiments.record import ERROR, Cell
from cuesta.experiments.running import OpenGate
from cuesta.experiments.scaffolds.registry import SCAFFOLDS
from cuesta.experiments.spec import Block, Spec
from cuesta.jobs.executors import Executor
from cuesta.jobs.records import Records
from cuesta.jobs.run import Limits, Outcome, Progress, run


@dataclass(frozen=True, slots=True)
class Means:
    """What runs are made with.

    Attributes:
        open_gate: Starts the proxy before each run; a function at the top of a module.
        crew: Plays the own tasks.
        book: Prices.
        executor: Where runs are made.
        folder: Where the results lie.
        only: Which runs are made; see `choice.Choice`.
    """

    open_gate: OpenGate
    crew: Crew | None
    book: PriceBook
    executor: Executor
    folder: Path
    only: tuple[str, ...] = ()


def run_matrix(spec: Spec, means: Means, progress: Progress | None = None) -> Outcome:
    """Make all runs of an experiment that have no record yet, and those that ended in `error`.

    Args:
        spec: The spec.
        means: What they are made with.
        progress: Told after each run.

    Raises:
        ConfigError: If something that the runs need is missing, or no run is meant.
        ResumeError: If the folder holds the results of another experiment.
        TaskError: If a worker dies.
    """
    check(spec, means.only)
    cells = dict(_chosen(spec, means))
    if not cells:
        raise ConfigError(f"no run of {spec.name} is {', '.join(means.only)}; see --dry-run")
    with Records(means.folder, identity(spec)) as records:
        tasks = dict(_tasks(spec, means, cells, records))
        limits = Limits(
            seconds=spec.limits.hours * 3600 or None,
            money=_left(spec, records, tasks),
            cost=_cost,
        )
        return run(perform, tasks, records, means.executor, limits=limits, progress=progress)


def check(spec: Spec, only: Sequence[str] = ()) -> None:
    """Raise where something that the runs need is missing.

    Args:
        spec: The spec.
        only: Which runs; see `choice.Choice`.

    Raises:
        ConfigError: Naming each thing, and how to get it; or that no run is meant.
    """
    if not any(Choice(spec, only).settings()):
        raise ConfigError(f"no run of {spec.name} is {', '.join(only)}; see --dry-run")
    missing = [need for need in needs(spec, only) if not need.there]
    if missing:
        lines = "\n".join(f"  {need.what}\n    {need.how}" for need in missing)
        raise ConfigError(f"{spec.name} cannot be run here. What is missing:\n{lines}")


def identity(spec: Spec) -> dict[str, Any]:
    """Return what a folder of results holds, setting by setting, so that a difference is named."""
    return {
        "experiment": spec.name,
        "spec": spec.hash,
        "steps": spec.limits.steps,
        "minutes": spec.limits.minutes,
        **{f"matrix {n}": asdict(block) for n, block in enumerate(spec.blocks, 1)},
        **{f"model {name}": asdict(one) for name, one in spec.endpoints.items()},
    }


def _chosen(spec: Spec, means: Means) -> Iterator[tuple[Cell, Block]]:
    choice = Choice(spec, means.only)
    for block in dict.fromkeys(block for block, *_ in choice.settings()):
        names = block.tasks or SCAFFOLDS[block.scaffold].tasks(block, means.folder)
        yield from ((cell, block) for cell in block.cells(names) if choice.fits(cell))


def _tasks(
    spec: Spec, means: Means, cells: Mapping[Cell, Block], records: Records
) -> Iterator[tuple[str, Task]]:
    """Yield the runs by their keys; one whose last attempt ended in `error` has another key."""
    ends: dict[str, tuple[int, str]] = {}
    for key, record in records:
        ends[key.partition("#")[0]] = record["attempt"], record["end"]
    for cell, block in cells.items():
        attempt, end = ends.get(cell.key, (1, ""))
        attempt += end == ERROR
        key = cell.key if attempt == 1 else f"{cell.key}#{attempt}"
        yield (
            key,
            Task(spec, block, cell, attempt, means.folder, means.open_gate, means.crew, means.book),
        )


def _left(spec: Spec, records: Records, tasks: Mapping[str, Task]) -> float | None:
    """Return the money that may be spent: what failed attempts cost is gone."""
    if not spec.limits.money:
        return None
    lost = sum(_cost(record) for key, record in records if key not in tasks)
    return max(0.0, spec.limits.money - lost)


def _cost(record: Mapping[str, Any]) -> float:
    return float(record["billed_cost"] or 0.0)
