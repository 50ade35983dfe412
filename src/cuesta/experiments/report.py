"""All tables and figures of some records, what they lack, and what was kept apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from cuesta.experiments import contests, shapes
from cuesta.experiments.figures import Figure, figures, missing
from cuesta.experiments.groups import NO_PAPER, Apart, Grouped, Papers, grouped
from cuesta.experiments.record import Record
from cuesta.experiments.tables import Table


@dataclass(frozen=True, slots=True)
class Report:
    """What records come to.

    Attributes:
        grouped: The records, in groups that may be compared.
        tables: In the order of the paper's numbers, then the early ends; a table without blocks
            says which runs it needs.
        figures: Those that there are enough records for.
        wanting: What the other figures need, by number.
    """

    grouped: Grouped
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    wanting: dict[str, str]

    def notes(self) -> list[str]:
        """Return what was kept apart, and what counts for nothing, in words."""
        told = [in_words(apart) for apart in self.grouped.apart]
        if self.grouped.broken:
            told.append(_broken(self.grouped.broken))
        told += [
            f"{group.task_set}, {group.scaffold}, {group.name}: no task that all settings have"
            for group in self.grouped.groups
            if not group.settings
        ]
        return told

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON's plain values."""
        return {
            "tables": [table.to_dict() for table in self.tables],
            "figures": [figure.to_dict() for figure in self.figures],
            "figures_need": self.wanting,
            "notes": self.notes(),
        }


def report(records: Iterable[Record], paper: Papers = NO_PAPER) -> Report:
    """Return the report on some records; their order changes nothing.

    Args:
        records: The records.
        paper: By spec what a task costs in the paper, see `Spec.paper`.
    """
    found = grouped(records, paper)
    groups = found.groups
    tables = (
        shapes.success(groups, "2"),
        shapes.success(groups, "3"),
        contests.best_of_k(groups, "4"),
        contests.strategies(groups),
        shapes.billed(groups),
        shapes.durations(groups),
        shapes.hours(groups),
        contests.best_of_k(groups, "13"),
        contests.ends(groups),
    )
    drawn = figures(groups)
    return Report(found, tables, drawn, missing(drawn))


def in_words(apart: Apart) -> str:
    """Say what was kept apart, and why."""
    groups = ", ".join(apart.groups)
    return (
        f"{apart.task_set}, {apart.scaffold}: {groups} are kept apart, for they differ in "
        + "; ".join(apart.why)
    )


def _broken(runs: int) -> str:
    if runs == 1:
        return "1 run ended in an error of its own and counts for nothing"
    return f"{runs:,} runs ended in errors of their own and count for nothing"
