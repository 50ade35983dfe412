"""Does one cell of the matrix, in whichever process, and returns its record."""

from __future__ import annotations

import hashlib
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuesta.core.errors import CuestaError, UnknownModelError
from cuesta.core.prices import Price, PriceBook
from cuesta.experiments.account import account
from cuesta.experiments.own.crew import Crew
from cuesta.experiments.record import ERROR, Cell, Record
from cuesta.experiments.running import OpenGate, Performed, Run
from cuesta.experiments.scaffolds.registry import SCAFFOLDS
from cuesta.experiments.spec import Block, Spec

_LONGEST_NAME = 120


@dataclass(frozen=True, slots=True)
class Task:
    """One run to be done; it is sent to other processes.

    Attributes:
        spec: The whole experiment.
        block: The block that the cell stems from.
        cell: The cell.
        attempt: The number of the attempt, from 1 on.
        folder: Where the results lie.
        open_gate: Starts the proxy; a function at the top of a module.
        crew: Plays the own tasks.
        book: Prices.
    """

    spec: Spec
    block: Block
    cell: Cell
    attempt: int
    folder: Path
    open_gate: OpenGate
    crew: Crew | None
    book: PriceBook


def perform(task: Task) -> dict[str, Any]:
    """Do a run and return its record, as JSON's plain values.

    A run in which anything but the agent failed comes back as a record that ends in `error`.
    """
    began, at = time.monotonic(), time.time()
    run = run_of(task)
    shutil.rmtree(run.folder, ignore_errors=True)
    run.folder.mkdir(parents=True)
    try:
        performed = SCAFFOLDS[task.cell.scaffold].perform(run)
    except (CuestaError, OSError) as error:
        seconds = round(time.monotonic() - began, 3)
        performed = Performed(None, ERROR, str(error), (), seconds, True, "", run.window, {})
    return _record(task, performed, at).to_dict()


def run_of(task: Task) -> Run:
    """Return what the scaffold is given."""
    cell = task.cell
    return Run(
        cell=cell,
        block=task.block,
        endpoint=task.spec.endpoints[cell.model],
        limits=task.spec.limits,
        folder=task.folder.resolve() / "runs" / _name(cell),
        open_gate=task.open_gate,
        crew=task.crew,
    )


def _name(cell: Cell) -> str:
    """Return a folder's name for a cell, unlike that of any other."""
    name = cell.key.replace("/", "_")
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[:_LONGEST_NAME]}-{hashlib.sha256(cell.key.encode()).hexdigest()[:8]}"


def _record(task: Task, performed: Performed, at: float) -> Record:
    cell = task.cell
    names = {task.spec.endpoints[cell.model].name: cell.model}
    sums = account(performed, task.book, names)
    return Record(
        spec=task.spec.hash,
        basis=task.spec.basis(task.block, cell.model),
        cell=cell,
        window=performed.window,
        resolved=performed.resolved,
        end=performed.end,
        reason=performed.reason,
        steps=sums.steps,
        usage=sums.usage,
        asked=sums.asked,
        perfect=sums.perfect,
        billed_cost=sums.billed_cost,
        perfect_cost=sums.perfect_cost,
        seconds=performed.seconds,
        cliffs=sums.cliffs,
        cliffs_told=performed.cliffs_told,
        calls=sums.calls,
        attempt=task.attempt,
        at=round(at, 3),
        versions=performed.versions,
        price=_price(task.book, cell.model),
    )


def _price(book: PriceBook, model: str) -> Price | None:
    with suppress(UnknownModelError):
        return book.price(model)
    return None
