"""What an experiment would run, what that would cost at most, and what is missing here for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from cuesta.core.errors import UnknownModelError
from cuesta.core.prices import PriceBook
from cuesta.core.usage import Usage
from cuesta.experiments.choice import Choice, Setting
from cuesta.experiments.needs import Need
from cuesta.experiments.perform import Task, run_of
from cuesta.experiments.record import NATIVE, Cell
from cuesta.experiments.running import GateOptions
from cuesta.experiments.scaffolds.registry import SCAFFOLDS
from cuesta.experiments.spec import WITHOUT_THRESHOLD, Block, Spec
from cuesta.experiments.tasksets import TASK_SETS
from cuesta.strategies.names import ASKING

_RESULTS, _TASK = "RESULTS", "TASK"


@dataclass(frozen=True, slots=True)
class Row:
    """The runs of one setting.

    Attributes:
        block: The block of the spec.
        model: The model.
        strategy: The compaction strategy.
        threshold: In tokens; 0: none, or the scaffold's own.
        runs: How many: tasks times seeds.
        calls: Model calls, at most.
        most: US dollars at most: every call up to the limit of steps, each with a full window and
            the longest answer, nothing cached. None: the model has no known price.
        cached: The same with a perfect cache, and prompts that grow evenly up to the threshold.
        paper: US dollars for so many runs in the paper, or None.
    """

    block: Block
    model: str
    strategy: str
    threshold: int
    runs: int
    calls: int
    most: float | None
    cached: float | None
    paper: float | None


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole experiment, before it is run.

    Attributes:
        spec: The spec.
        rows: Its settings.
        needs: What it needs, each once.
        commands: What starts the first run of each scaffold and kind of strategy.
    """

    spec: Spec
    rows: tuple[Row, ...]
    needs: tuple[Need, ...]
    commands: tuple[str, ...]

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return sum(row.runs for row in self.rows)

    @property
    def calls(self) -> int:
        """How many model calls there are at most."""
        return sum(row.calls for row in self.rows)

    @property
    def missing(self) -> tuple[Need, ...]:
        """What is not there."""
        return tuple(need for need in self.needs if not need.there)


def plan(spec: Spec, book: PriceBook, only: Sequence[str] = ()) -> Plan:
    """Plan an experiment; nothing is asked, fetched or started but `docker version`.

    Args:
        spec: The spec.
        book: Prices.
        only: Which runs; see `choice.Choice`.
    """
    settings = list(Choice(spec, only).settings())
    rows = (_row(spec, block, setting, runs, book) for block, setting, runs in settings)
    commands = _commands(spec, [(block, setting) for block, setting, _ in settings], book)
    return Plan(spec, tuple(rows), needs(spec, only), tuple(commands))


def needs(spec: Spec, only: Sequence[str] = ()) -> tuple[Need, ...]:
    """Return what the runs need, each thing once.

    Args:
        spec: The spec.
        only: Which runs; see `choice.Choice`.
    """
    found = (
        need
        for block, (model, strategy, _), _ in Choice(spec, only).settings()
        for need in SCAFFOLDS[block.scaffold].needs(
            replace(block, strategies=(strategy,)), spec.endpoints[model]
        )
    )
    return tuple(dict.fromkeys(found))


def _row(spec: Spec, block: Block, setting: Setting, runs: int, book: PriceBook) -> Row:
    model, strategy, threshold = setting
    calls = spec.limits.steps * (2 if strategy in ASKING else 1)
    window = block.window or spec.endpoints[model].window
    low = window if strategy in WITHOUT_THRESHOLD or not threshold else min(window, threshold)
    output = calls * spec.limits.output
    most = Usage(input=calls * window, output=output)
    grown = min(low, calls * low)
    cached = Usage(input=grown + output, cache_read=calls * low // 2, output=output)
    paper = spec.paper.get(f"{model} {strategy} {threshold}")
    return Row(
        block, model, strategy, threshold, runs, runs * calls,
        _dollars(book, model, most, runs), _dollars(book, model, cached, runs),
        None if paper is None else paper * runs,
    )  # fmt: skip


def _dollars(book: PriceBook, model: str, usage: Usage, runs: int) -> float | None:
    try:
        return book.price(model).cost(usage) * runs
    except UnknownModelError:
        return None


def _commands(
    spec: Spec, settings: Sequence[tuple[Block, Setting]], book: PriceBook
) -> Iterator[str]:
    """Yield what starts the first run of each scaffold and kind of strategy.

    The results' folder is called `RESULTS`, and a task whose name is not known `TASK`.
    """
    shown = set()
    for block, (model, strategy, threshold) in settings:
        kind = block.scaffold, strategy if strategy in (NATIVE, "cliff") else ""
        if kind in shown:
            continue
        shown.add(kind)
        task = (block.tasks or TASK_SETS[block.task_set].names or (_TASK,))[0]
        cell = Cell(
            block.scaffold, model, strategy, threshold, block.seeds[0], block.task_set, task
        )
        run = run_of(Task(spec, block, cell, 1, spec.folder, _no_gate, None, book))
        for line in SCAFFOLDS[block.scaffold].describe(run):
            yield line.replace(str(spec.folder.resolve()), _RESULTS)


def _no_gate(options: GateOptions) -> NoReturn:
    """Stand for a proxy in a run that is only described, which starts none."""
    raise AssertionError(f"a plan starts nothing: {options}")
