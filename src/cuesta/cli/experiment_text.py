"""What `cuesta experiment report` prints for a person, within 80 columns."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from cuesta.cli.text import cells, fitted, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cuesta.experiments.report import Report
    from cuesta.experiments.spread import Value
    from cuesta.experiments.tables import Block, Column, Table

WIDTH = 80
_MOST_LABEL = 26
_DASH = "-"


def lines(report: Report) -> Iterator[str]:
    """Write the tables, what they lack, and what was kept apart."""
    for table in report.tables:
        yield from _table(table)
        yield ""
    yield from wrapped(_figures(report), WIDTH)
    for number, needs in report.wanting.items():
        yield from _wrapped(f"Figure {number} needs {needs}")
    notes = report.notes()
    if notes:
        yield ""
        yield "Kept apart"
        for note in notes:
            yield from _wrapped(note)


def _figures(report: Report) -> str:
    if not report.figures:
        return "No figure can be drawn."
    numbers = ", ".join(dict.fromkeys(figure.number for figure in report.figures))
    return f"Figures {numbers} ({len(report.figures)} in all): `--figures DIR` or `--html FILE`"


def _table(table: Table) -> Iterator[str]:
    yield from wrapped(table.name, WIDTH)
    if not table.blocks:
        yield from _wrapped(f"needs {table.needs}")
        return
    for block in table.blocks:
        yield ""
        yield from _wrapped(block.heading, mark="")
        yield from _block(block)
        for note in block.notes:
            yield from _wrapped(note)
    for note in table.notes:
        yield from _wrapped(note)


def _wrapped(note: str, mark: str = "* ") -> Iterator[str]:
    for number, line in enumerate(wrapped(note, WIDTH - 4)):
        yield f"{'' if number else mark:>4}{line}" if mark else line


def _block(block: Block) -> Iterator[str]:
    """Write a block, in several parts side by side below each other where it is too wide."""
    nested = len(block.labels) > 1
    last = [row.labels[-1] for row in block.rows]
    label = min(max(cells(one) for one in [*last, block.labels[-1]]) + 2 * nested, _MOST_LABEL)
    widths = _widths(block)
    for number, part in enumerate(_parts(block.columns, widths, WIDTH - label)):
        if number:
            yield ""
        yield from _heads(block, part, widths, label)
        above: tuple[str, ...] = ()
        for row in block.rows:
            if nested and row.labels[:-1] != above:
                above = row.labels[:-1]
                yield fitted(", ".join(above), WIDTH).rstrip()
            own = fitted("  " * nested + row.labels[-1], label)
            yield own + _line([_mean(row.cells[i]) for i in part], part, widths)
            spreads = [_spread(row.cells[i]) for i in part]
            if any(spreads):
                yield fitted("  " * nested + "  sd", label) + _line(spreads, part, widths)


def _widths(block: Block) -> list[int]:
    """Return how wide each column is, with the blank before it; a common head fits as well."""
    columns = block.columns
    widths = [
        max(map(len, [*column.name.split(), *_texts(block, number)])) + 1
        for number, column in enumerate(columns)
    ]
    for name, same in groupby(range(len(columns)), key=lambda i: columns[i].over):
        found = list(same)
        if name:
            widths[found[0]] += max(0, cells(name) + 1 - sum(widths[i] for i in found))
    return widths


def _texts(block: Block, number: int) -> list[str]:
    return [
        text
        for row in block.rows
        for text in (_mean(row.cells[number]), _spread(row.cells[number]))
    ]


def _mean(value: Value | None) -> str:
    return value.text if value else _DASH


def _spread(value: Value | None) -> str:
    return value.spread if value else ""


def _parts(columns: Sequence[Column], widths: Sequence[int], room: int) -> list[list[int]]:
    """Return the columns that stand beside each other, by number; one head stays together."""
    parts: list[list[int]] = [[]]
    for _, same in groupby(range(len(columns)), key=lambda i: columns[i].over or str(i)):
        found = list(same)
        used = sum(widths[i] for i in parts[-1] + found)
        if parts[-1] and used > room:
            parts.append([])
        parts[-1] += found
    return parts


def _line(texts: Sequence[str], part: Sequence[int], widths: Sequence[int]) -> str:
    return "".join(f"{text:>{widths[i]}}" for text, i in zip(texts, part, strict=True)).rstrip()


def _heads(block: Block, part: Sequence[int], widths: Sequence[int], label: int) -> Iterator[str]:
    columns = block.columns
    if any(columns[i].over for i in part):
        over = ""
        for name, same in groupby(part, key=lambda i: columns[i].over):
            room = sum(widths[i] for i in same)
            over += f"{fitted(name, room - 1).rstrip():>{room}}"
        yield f"{'':{label}}{over}".rstrip()
    words = [columns[i].name.split() for i in part]
    depth = max(map(len, words))
    for level in range(depth):
        texts = [(["", "", ""][: depth - len(one)] + one)[level] for one in words]
        own = fitted(block.labels[-1] if level == depth - 1 else "", label)
        yield (own + _line(texts, part, widths)).rstrip()
    yield "-" * (label + sum(widths[i] for i in part))
