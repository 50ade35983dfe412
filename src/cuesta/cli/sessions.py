"""`cuesta sessions`: which saved sessions there are."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from cuesta.cli.bill import short_tokens
from cuesta.cli.options import Parser
from cuesta.cli.replay_text import dollars, read
from cuesta.cli.sources import Summary, add_source_flags, nothing, outcomes, reading_of
from cuesta.cli.text import fitted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cuesta.lab.tally import Tally

_TEXT = """\
List saved agent sessions, the oldest first. Without a PATH it looks where the
agents on this machine keep theirs.

  cuesta sessions
  cuesta sessions ~/.claude/projects
"""

_COLUMNS = "{}  {:<16}  {}  {:>6}  {:>6}  {:>8}"
_HARNESS, _NAME = 14, 20


def main(argv: list[str]) -> int:
    """Print the list and return 0."""
    parser = Parser("cuesta sessions", _TEXT)
    parser.usage = "cuesta sessions [options] [PATH ...]"
    add_source_flags(parser, resumes=True)
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args(argv)
    from cuesta.lab.sweep import Sweep  # noqa: PLC0415 - slow to load

    reading = reading_of(arguments)
    summary = Summary()
    tallies: list[Tally] = []
    for outcome in outcomes(reading, Sweep((), reading.prices, arguments.model)):
        summary.add(outcome)
        tallies += outcome.tallies
    if not tallies:
        raise nothing(reading.paths)
    tallies.sort(key=lambda tally: (tally.time, tally.path, tally.session))
    if arguments.json:
        figures = {"v": 1, "read": summary.to_dict(), "sessions": [t.to_dict() for t in tallies]}
        print(json.dumps(figures, indent=2))
    else:
        print("\n".join([*_table(tallies), "", *read(summary)]))
    return 0


def _table(tallies: Sequence[Tally]) -> Iterator[str]:
    yield _COLUMNS.format(
        fitted("harness", _HARNESS), "began", fitted("session", _NAME), "calls", "peak", "cost"
    )
    for tally in tallies:
        began = time.strftime("%Y-%m-%d %H:%M", time.localtime(tally.time)) if tally.time else "-"
        cost = dollars(tally.cost) if tally.billed_calls else "-"
        yield _COLUMNS.format(
            fitted(tally.harness, _HARNESS),
            began,
            fitted(tally.session or Path(tally.path).name, _NAME),
            f"{tally.calls:,}",
            short_tokens(tally.peak),
            cost,
        )
