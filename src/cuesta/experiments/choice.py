"""Which runs of a matrix are meant: words, each of which must be true of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cuesta.experiments.record import Cell
from cuesta.experiments.spec import Block, Spec
from cuesta.experiments.tasksets import TASK_SETS

_SEED = "seed="
Setting = tuple[str, str, int]
"""Model, strategy and threshold."""


class Choice:
    """Some runs of an experiment.

    Args:
        spec: The experiment.
        only: Words; a run is meant if each is its scaffold, task set, model, strategy, threshold
            (`16000` or `16K`), task, or `seed=N`. Empty: every run is.
    """

    def __init__(self, spec: Spec, only: Sequence[str] = ()) -> None:
        self._spec = spec
        self._only = frozenset(only)
        settings = (_words(b.scaffold, b.task_set, s) for b in spec.blocks for s in b.settings())
        self._names = self._only - frozenset().union(*settings)
        """Words that can only be seeds and tasks."""

    def fits(self, cell: Cell) -> bool:
        """Tell whether a run is meant."""
        words = _words(cell.scaffold, cell.task_set, (cell.model, cell.strategy, cell.threshold))
        return words | {cell.task, f"{_SEED}{cell.seed}"} >= self._only

    def settings(self) -> Iterator[tuple[Block, Setting, int]]:
        """Yield the settings of which runs are meant, and how many runs each has."""
        for block in self._spec.blocks:
            for setting in block.settings():
                meant = self._only <= _words(block.scaffold, block.task_set, setting) | self._names
                runs = self._count(block) if meant else 0
                if runs:
                    yield block, setting, runs

    def _count(self, block: Block) -> int:
        """Return how many runs of a setting are meant, as far as the tasks' names are known."""
        wanted = {name for name in self._names if name.startswith(_SEED)}
        tasks = self._names - wanted
        seeds = {f"{_SEED}{seed}" for seed in block.seeds}
        known = frozenset(block.tasks or TASK_SETS[block.task_set].names)
        there = wanted <= seeds and (tasks <= known or not known)
        if not there or max(len(wanted), len(tasks)) > 1:
            return 0
        size = len(block.tasks) or TASK_SETS[block.task_set].count
        return (len(wanted) or len(seeds)) * (len(tasks) or size)


def _words(scaffold: str, task_set: str, setting: Setting) -> frozenset[str]:
    model, strategy, threshold = setting
    sizes = {str(threshold), f"{threshold / 1000:g}K"} if threshold else set()
    return frozenset({scaffold, task_set, model, strategy, *sizes})
