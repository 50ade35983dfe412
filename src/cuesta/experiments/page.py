"""The report as one page: tables, figures as pictures, and what was kept apart. It asks no network.

No script stands in it; the figures are drawn when the page is made.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files
from itertools import groupby
from pathlib import Path

from cuesta.experiments.figures import Figure
from cuesta.experiments.report import Report
from cuesta.experiments.tables import Block, Cells, Table
from cuesta.lab.report.drawing import need_drawing, whole_spec, write_figures
from cuesta.lab.report.numbers import DASH, counted

_PAGE = """<!doctype html>
<html lang=en><meta charset=utf-8>
<meta http-equiv=Content-Security-Policy content="default-src 'none'; style-src 'unsafe-inline'">
<meta name=viewport content="width=device-width">
<title>{title}</title>
<style>{style}
figure svg {{ display: block; width: 100%; max-width: 900px; height: auto; background: #fff; }}
figure svg text {{ font-family: "Liberation Sans", Arial, Helvetica, sans-serif; }}
th.over {{ text-align: center; }}
td small {{ display: block; color: var(--faint); }}
</style>
<header><h1>{title}</h1><p>{lead}</p></header>
{body}
"""


def html(report: Report, title: str) -> str:
    """Return the page.

    Args:
        report: What is shown.
        title: What stands above it.

    Raises:
        ConfigError: If the library that draws is not installed.
    """
    groups = report.grouped.groups
    runs = sum(len(setting.runs) for group in groups for setting in group.settings)
    return _PAGE.format(
        title=escape(title),
        style=(files("cuesta.lab.report") / "page.css").read_text(encoding="utf-8"),
        lead=escape(f"{counted(runs, 'run')} in {counted(len(groups), 'group')} of like settings"),
        body="\n".join([*_notes(report), *map(_table, report.tables), *_figures(report)]),
    )


def write_all(report: Report, folder: Path) -> list[Path]:
    """Write each figure as SVG and PNG, and its rows as CSV and JSON; return the files.

    Args:
        report: Whose figures.
        folder: Where to; made if it is not there.

    Raises:
        ConfigError: If the library that draws is not installed.
        OSError: If a file cannot be written.
    """
    drawn = {figure.name: (figure.spec, figure.rows) for figure in report.figures}
    written = write_figures(drawn, folder)
    for figure in report.figures:
        table, plain = folder / f"{figure.name}.csv", folder / f"{figure.name}.json"
        with table.open("w", encoding="utf-8", newline="") as out:
            writer = csv.DictWriter(out, list(dict.fromkeys(k for row in figure.rows for k in row)))
            writer.writeheader()
            writer.writerows(figure.rows)
        plain.write_text(json.dumps(figure.to_dict(), indent=2) + "\n", encoding="utf-8")
        written += [table, plain]
    return written


def _notes(report: Report) -> Iterator[str]:
    notes = report.notes()
    if notes:
        yield f"<section><h2>Kept apart</h2>{_list(notes)}</section>"


def _table(table: Table) -> str:
    blocks = "".join(map(_block, table.blocks)) or f"<p class=note>Needs {escape(table.needs)}.</p>"
    return f"<section><h2>{escape(table.name)}</h2>{blocks}{_list(table.notes)}</section>"


def _block(block: Block) -> str:
    over = [(name, len(list(same))) for name, same in groupby(one.over for one in block.columns)]
    heads = "".join(f"<th class=over colspan={count}>{escape(name)}</th>" for name, count in over)
    first = (
        f"<tr><th colspan={len(block.labels)}></th>{heads}</tr>" if any(o for o, _ in over) else ""
    )
    names = "".join(f"<th class=text>{escape(name)}</th>" for name in block.labels)
    names += "".join(f"<th>{escape(column.name)}</th>" for column in block.columns)
    rows = "".join(f"<tr>{_labels(row.labels)}{_cells(row.cells)}</tr>" for row in block.rows)
    return (
        f"<h3>{escape(block.heading)}</h3><div class=scroll tabindex=0><table>"
        f"<thead>{first}<tr>{names}</tr></thead><tbody>{rows}</tbody></table></div>"
        f"{_list(block.notes)}"
    )


def _labels(labels: Iterable[str]) -> str:
    return "".join(f"<td class=text>{escape(label)}</td>" for label in labels)


def _cells(cells: Cells) -> str:
    told = []
    for cell in cells:
        spread = (
            f"<small>\N{PLUS-MINUS SIGN} {escape(cell.spread)}</small>"
            if cell and cell.spread
            else ""
        )
        told.append(f"<td>{escape(cell.text) if cell else DASH}{spread}</td>")
    return "".join(told)


def _list(notes: Sequence[str]) -> str:
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f"<ul class=problems>{items}</ul>" if items else ""


def _figures(report: Report) -> Iterator[str]:
    library = need_drawing()
    for figure in report.figures:
        picture = library.vegalite_to_svg(json.dumps(whole_spec(figure.spec, figure.rows)))
        yield f"<section><h2>{escape(_named(figure))}</h2><figure>{picture}</figure></section>"
    needs = [f"Figure {number} needs {what}" for number, what in report.wanting.items()]
    if needs:
        yield f"<section><h2>Figures that are not there</h2>{_list(needs)}</section>"


def _named(figure: Figure) -> str:
    return f"Figure {figure.number}. {figure.title}"
