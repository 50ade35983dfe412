"""`cuesta replay`: what saved sessions would have cost under each strategy."""

from __future__ import annotations

import argparse
import contextlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from cuesta.cli import replay_text as text
from cuesta.cli.options import Parser
from cuesta.cli.sources import Summary, add_source_flags, merged, nothing, outcomes, reading_of
from cuesta.cli.variants import add_strategy_flags, size, thresholds
from cuesta.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Self

    from cuesta.cli.sources import Reading
    from cuesta.lab.files import Outcome
    from cuesta.lab.records import Record, Variant
    from cuesta.lab.sweep import Sweep
    from cuesta.lab.table import Row

_TEXT = """\
Read saved agent sessions, replay them under strategies that drop context, and
tell what each would have cost. No key is needed and nothing leaves this
machine. Without a PATH it looks where the agents on this machine keep theirs.

  cuesta replay
  cuesta replay ~/.claude/projects --threshold 16K,32K,64K
  cuesta replay runs/ --model claude-opus-5-5 --csv runs.csv
  cuesta replay runs/ --strategy cliff,sliding_window --match mean-peak 32K
"""

_STRATEGIES = ("keep_all", "cliff")
_THRESHOLDS = (0, 8_000, 16_000, 32_000, 64_000, 128_000, 200_000)
_AT = "auto,8K,16K,32K,64K,128K,200K; `auto` is what the proxy chooses by itself"
_RECLAIMS = (5_000,)
_MATCHED = "mean-peak"


def main(argv: list[str]) -> int:
    """Replay, print the table and return 0."""
    arguments = _parser().parse_args(argv)
    from cuesta.lab.records import KEEP_ALL, RECORDED, variants  # noqa: PLC0415 - slow to load

    target = _target(arguments.match)
    names = [RECORDED, KEEP_ALL, *(arguments.strategy or _STRATEGIES)]
    thresholds = arguments.threshold or _THRESHOLDS
    reclaims = arguments.reclaim or _RECLAIMS
    chosen = list(variants(names, thresholds, arguments.profile, reclaims))
    run = _Run(arguments, reading_of(arguments))
    run.check(chosen)
    return run.finish(run.matched(chosen, target) if target else chosen)


def _target(match: Sequence[str] | None) -> int:
    """Return the mean peak context that was asked for, in tokens; 0: none was."""
    if match is None:
        return 0
    try:
        if match[0] == _MATCHED:
            return size(match[1])
    except argparse.ArgumentTypeError as error:
        raise ConfigError(f"argument --match: {error}") from None
    raise ConfigError(f"argument --match: expected `{_MATCHED} N`, not {' '.join(match)!r}")


def _parser() -> Parser:
    parser = Parser("cuesta replay", _TEXT)
    parser.usage = "cuesta replay [options] [PATH ...]"
    add_source_flags(parser, resumes=True)
    group = parser.add_argument_group("what is replayed")
    add_strategy_flags(group, "keep_all,cliff", _AT)
    group.add_argument(
        "--reclaim",
        type=thresholds,
        action="extend",
        default=[],
        metavar="SIZES",
        help="tokens of old tool results that pile up before microcompaction clears them (default: "
        "5K)",
    )
    group.add_argument(
        "--profile",
        choices=("default", "paper"),
        default="default",
        help="what is kept, cut and dropped (default: default)",
    )
    group.add_argument(
        "--match",
        nargs=2,
        metavar=("mean-peak", "N"),
        help="find each strategy's threshold at which the largest prompt of a session is N tokens "
        "in the mean, and compare them there",
    )
    group = parser.add_argument_group("what is shown")
    group.add_argument("--files", action="store_true", help="say what each file holds")
    group.add_argument("--json", action="store_true", help="print the table as JSON")
    group.add_argument("--csv", type=Path, metavar="FILE", help="a row a session and variant")
    group.add_argument("--parquet", type=Path, metavar="FILE", help="the same (needs polars)")
    group.add_argument("--report", type=Path, metavar="FILE", help="one HTML page with plots")
    group.add_argument("--figures", type=Path, metavar="DIR", help="its plots as PNG and SVG")
    return parser


class _Run:
    """One command: its options, and what it reads."""

    def __init__(self, arguments: argparse.Namespace, reading: Reading) -> None:
        self._arguments = arguments
        self._reading = reading

    def check(self, variants: Sequence[Variant]) -> None:
        """Refuse what cannot be done, before anything is read."""
        self._sweep(variants).check()
        if self._arguments.parquet:
            from cuesta.lab.export import need_polars  # noqa: PLC0415 - only where asked

            need_polars()
        if self._drawn:
            from cuesta.lab.report import need_drawing  # noqa: PLC0415 - only where asked

            need_drawing()

    @property
    def _drawn(self) -> bool:
        return bool(self._arguments.report or self._arguments.figures)

    def _sweep(self, variants: Sequence[Variant], *, traces: bool = False) -> Sweep:
        from cuesta.lab.sweep import Sweep  # noqa: PLC0415 - slow to load

        return Sweep(tuple(variants), self._reading.prices, self._arguments.model, traces)

    def matched(self, variants: Sequence[Variant], target: int) -> list[Variant]:
        """Return the variants, each strategy once, at the threshold of the same mean peak."""
        from cuesta.lab.matching import match  # noqa: PLC0415 - only where asked

        fixed = [variant for variant in variants if not variant.profile]
        free = dict.fromkeys(variant.moved(0) for variant in variants if variant.profile)
        return [*fixed, *match(list(free), target, self._mean_peaks)]

    def _mean_peaks(self, variants: Sequence[Variant]) -> Mapping[Variant, float]:
        from cuesta.lab.table import Table  # noqa: PLC0415 - slow to load

        table = Table()
        reading = replace(self._reading, folder=None)
        for outcome in outcomes(reading, self._sweep(variants), "matching"):
            for records in outcome.records:
                table.add(records)
        return {variant: table.row(variant).mean_peak for variant in variants}

    def finish(self, variants: Sequence[Variant]) -> int:
        """Replay, write the files that were asked for, print, and return 0."""
        from cuesta.lab.table import Table  # noqa: PLC0415 - slow to load

        arguments, table, summary = self._arguments, Table(), Summary()
        files: list[Outcome] = []
        sweep = self._sweep(variants, traces=self._drawn)
        with contextlib.ExitStack() as stack:
            drawing = stack.enter_context(_Drawing(arguments, variants)) if self._drawn else None
            writers = _writers(arguments, stack)
            for outcome in outcomes(self._reading, sweep):
                summary.add(outcome)
                if drawing is not None:
                    drawing.add(outcome)
                files += [outcome.without_records()] * arguments.files
                for records in outcome.records:
                    table.add(records)
                    for writer in writers:
                        writer.add(records)
        rows = [row for row in map(table.row, variants) if row.sessions]
        if not rows:
            raise nothing(self._reading.paths)
        answer = _Answer(summary, files, rows, table.unpriced)
        if arguments.json:
            print(json.dumps(answer.to_dict(), indent=2))
        else:
            print("\n".join(answer.lines()))
        return 0


@dataclass(frozen=True, slots=True)
class _Answer:
    """What is told."""

    summary: Summary
    files: Sequence[Outcome]
    rows: Sequence[Row]
    unpriced: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        files = {"files": [one.to_dict() for one in merged(self.files)]} if self.files else {}
        return {
            "v": 1,
            "read": self.summary.to_dict(),
            **files,
            "unpriced": dict(sorted(self.unpriced.items())),
            "rows": [row.to_dict() for row in self.rows],
        }

    def lines(self) -> Iterator[str]:
        if self.files:
            yield from text.sources(merged(self.files))
            yield ""
        yield from text.read(self.summary)
        yield ""
        yield from text.tables(self.rows)
        yield ""
        yield from text.notes(self.rows, self.unpriced)


class _Writer(Protocol):
    def add(self, records: Sequence[Record]) -> None:
        """Take one session's records."""


def _writers(arguments: argparse.Namespace, stack: contextlib.ExitStack) -> list[_Writer]:
    """Open the files that were asked for; they are whole when the stack is left without error."""
    writers: list[_Writer] = []
    if arguments.csv:
        from cuesta.lab.export import CsvWriter  # noqa: PLC0415 - only where asked

        file = stack.enter_context(arguments.csv.open("w", encoding="utf-8", newline=""))
        writers.append(CsvWriter(file))
    if arguments.parquet:
        from cuesta.lab.export import write_parquet  # noqa: PLC0415 - likewise

        writers.append(stack.enter_context(_AtTheEnd(arguments.parquet, write_parquet)))
    return writers


class _Drawing:
    """Gathers what a report shows, and writes page and figures once all is there."""

    def __init__(self, arguments: argparse.Namespace, variants: Sequence[Variant]) -> None:
        from cuesta.lab.report import Collected, Report  # noqa: PLC0415 - only where asked

        self._arguments = arguments
        self._collected = Collected()
        self._report = Report(self._collected, variants)

    def add(self, outcome: Outcome) -> None:
        self._collected.add(outcome)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        from cuesta.lab.report import html, write_figures  # noqa: PLC0415 - likewise

        if kind is not None or not self._report.table:
            return
        if self._arguments.report:
            self._arguments.report.write_text(html(self._report), encoding="utf-8")
        if self._arguments.figures:
            write_figures(self._report.figures(), self._arguments.figures)


class _AtTheEnd:
    """Gathers records and writes them once all are there."""

    def __init__(self, path: Path, write: Callable[[Sequence[Record], Path], None]) -> None:
        self._path = path
        self._write = write
        self._records: list[Record] = []

    def add(self, records: Sequence[Record]) -> None:
        self._records += records

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self._records:
            self._write(self._records, self._path)
