"""`cuesta experiment report`: the paper's tables and figures from the records of runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from cuesta.cli import tell
from cuesta.cli.experiment_text import lines
from cuesta.cli.options import Parser
from cuesta.core.errors import ConfigError
from cuesta.experiments.page import html, write_all
from cuesta.experiments.record import Record, read_records
from cuesta.experiments.report import report
from cuesta.experiments.spec import load, shipped
from cuesta.lab.report.drawing import need_drawing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TEXT = """\
Print Tables 2, 3, 4, 6, 8, 10, 11 and 13 of the paper from the records of
`cuesta experiment run`, finished or not, and draw its Figures 1 and 3 to 7.
Unlike settings are never compared; a table that lacks runs says which.

  cuesta experiment report experiments/own
  cuesta experiment report own --html report.html --figures figures
"""


def main(argv: list[str]) -> int:
    """Print the report and return 0."""
    parser = Parser("cuesta experiment report", _TEXT)
    parser.add_argument(
        "where", nargs="*", metavar="DIR|SPEC", help="results, or the spec that they were made by"
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the report as a page")
    parser.add_argument("--figures", type=Path, metavar="DIR", help="write the figures there")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    arguments = parser.parse_args(argv)
    if not arguments.where:
        raise ConfigError("which results? Name their folder, or the spec: `report experiments/own`")
    if arguments.html or arguments.figures:
        need_drawing()
    records = [record for where in arguments.where for record in _records(where)]
    found = report(records, _paper(arguments.where))
    if arguments.json:
        print(json.dumps(found.to_dict(), indent=2))
    else:
        print("\n".join(lines(found)))
    if arguments.html:
        title = f"Experiment: {', '.join(Path(where).name for where in arguments.where)}"
        arguments.html.write_text(html(found, title), encoding="utf-8")
        tell(f"page: {arguments.html}")
    if arguments.figures:
        write_all(found, arguments.figures)
        tell(f"figures: {arguments.figures}")
    return 0


def _records(where: str) -> list[Record]:
    folder = Path(where)
    return read_records(folder if folder.is_dir() else load(where).folder)


def _paper(places: Sequence[str]) -> dict[str, Mapping[str, float]]:
    """Return what the paper's costs are, for specs that come with Cuesta or are named."""
    named = [where for where in places if not Path(where).is_dir()]
    return {spec.hash: spec.paper for spec in map(load, [*shipped(), *named])}
