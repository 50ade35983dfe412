"""What the paper's tables are made of: blocks of rows and columns, and the numbers in them.

Columns and rows follow the paper. A cell is None where the runs for it are not there or something
in them is not known; it is never filled from anything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from cuesta.experiments.spread import Value

Cells: TypeAlias = "tuple[Value | None, ...]"


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        name: What it shows.
        over: What it shares with its neighbours: a threshold, or a model; empty: nothing.
    """

    name: str
    over: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A row.

    Attributes:
        labels: From the widest to the narrowest, as many as the block has.
        cells: As many as the block has columns.
    """

    labels: tuple[str, ...]
    cells: Cells


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a table with columns of its own.

    Attributes:
        heading: What its runs have in common.
        labels: Names of the rows' labels.
        columns: Its columns.
        rows: Its rows.
        notes: What must be known to read it.
    """

    heading: str
    labels: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the paper.

    Attributes:
        number: Its number there; empty for one that the paper tells in its text.
        title: What it shows.
        blocks: Empty where the runs for it are missing.
        needs: Which runs it needs.
        notes: What holds for all blocks.
    """

    number: str
    title: str
    blocks: tuple[Block, ...]
    needs: str
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its number and title."""
        return f"Table {self.number}. {self.title}" if self.number else self.title

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON's plain values; `needs` only where there is no block."""
        return {
            "table": self.number,
            "title": self.title,
            "notes": list(self.notes),
            "needs": "" if self.blocks else self.needs,
            "blocks": [_plain(block) for block in self.blocks],
        }


def size(tokens: int) -> str:
    """Return a threshold as the paper writes it: `16K`, or the number where it is not round."""
    return f"{tokens // 1000}K" if tokens and not tokens % 1000 else f"{tokens:,}"


def told(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Return the rows in which something stands."""
    return tuple(row for row in rows if any(cell is not None for cell in row.cells))


def seeds_note(blocks: Sequence[Block]) -> tuple[str, ...]:
    """Say what the spread is, and over how many seeds."""
    counts = {
        len(cell.seeds)
        for block in blocks for row in block.rows for cell in row.cells if cell
    }  # fmt: skip
    if max(counts, default=1) < 2:
        return ()
    most, least = max(counts), min(counts - {1})
    seeds = f"{most}" if most == least else f"{least} to {most}"
    return (f"sd: sample standard deviation over {seeds} seeds; each is a mean over the tasks",)


def _plain(block: Block) -> dict[str, Any]:
    return {
        "heading": block.heading,
        "labels": list(block.labels),
        "columns": [{"name": column.name, "over": column.over} for column in block.columns],
        "rows": [
            {"labels": list(row.labels), "cells": [cell and cell.to_dict() for cell in row.cells]}
            for row in block.rows
        ],
        "notes": list(block.notes),
    }
