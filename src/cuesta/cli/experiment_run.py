"""`cuesta experiment run`: makes the runs of a spec, or tells what they would be."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cuesta.cli import tell
from cuesta.cli.experiment_plan import as_json, lines
from cuesta.cli.gate import open_gate
from cuesta.cli.options import Parser
from cuesta.cli.text import fitted
from cuesta.experiments.choice import Choice
from cuesta.experiments.matrix import Means, run_matrix
from cuesta.experiments.plan import plan
from cuesta.experiments.record import ERROR, read_records
from cuesta.experiments.spec import load
from cuesta.jobs.executors import LocalPool
from cuesta.store.prices import price_book
from cuesta.testing.crew import ScriptedCrew

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cuesta.experiments.record import Record
    from cuesta.experiments.spec import Spec
    from cuesta.jobs.executors import Executor
    from cuesta.jobs.run import Outcome

_TEXT = """\
Make the runs of a spec: a TOML file, or the name of one that comes with Cuesta.
Each run has a proxy of its own, and a record that is kept as soon as it ends.
Killed or stopped by a limit, the same command goes on with what is not done;
runs in which something other than the agent failed are made again.

  cuesta experiment run own
  cuesta experiment run terminus-2 --dry-run
  cuesta experiment run terminus-2 --only kimi-k2.6,cliff,16K --money 60

The last one is one cell of the paper's Table 2: three seeds of one setting. All
keys come from the environment; what is missing is said before anything starts.
"""
_STOPPED = {"seconds": "the limit of hours", "money": "the limit of money"}
_LABEL = 52


def main(argv: list[str]) -> int:
    """Make the runs, or print the plan; return 0, or 1 where a run ended in an error."""
    arguments = _parser().parse_args(argv)
    spec = _limited(load(arguments.spec), arguments)
    book = price_book(arguments.prices)
    if arguments.dry_run:
        planned = plan(spec, book, arguments.only)
        shown = json.dumps(as_json(planned), indent=2) if arguments.json else ""
        print(shown or "\n".join(lines(planned)))
        return 0
    means = Means(
        open_gate, ScriptedCrew(), book, _executor(spec, arguments), spec.folder, arguments.only
    )
    outcome = run_matrix(spec, means, _progress)
    choice = Choice(spec, arguments.only)
    records = [record for record in read_records(spec.folder) if choice.fits(record.cell)]
    return _sum_up(spec, outcome, records, as_values=arguments.json)


def _parser() -> Parser:
    parser = Parser("cuesta experiment run", _TEXT)
    parser.usage = "cuesta experiment run SPEC [options]"
    parser.add_argument("spec", metavar="SPEC", help="a TOML file, or a shipped spec's name")
    parser.add_argument(
        "--dry-run", action="store_true", help="print what would run, its cost, what is missing"
    )
    parser.add_argument(
        "--only",
        type=_words,
        default=(),
        metavar="WORDS",
        help="only runs that are all of this: a scaffold, model, strategy, threshold, task or "
        "seed=N, with commas between",
    )
    parser.add_argument("--results", metavar="DIR", help="where results go (default: as the spec)")
    for name, text in (("money", "dollars for all runs"), ("hours", "hours for all runs")):
        parser.add_argument(
            f"--{name}", type=_amount, metavar="N", help=f"stop at so many {text}; 0: no limit"
        )
    parser.add_argument("--parallel", type=_count, metavar="N", help="runs at once")
    parser.add_argument("--ray", metavar="ADDRESS", help="run on a Ray cluster, or `local`")
    parser.add_argument("--prices", type=Path, metavar="FILE", help="prices of models, in TOML")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _amount(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number from 0 on, not {text!r}")
    return value


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= 256:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to 256, not {text!r}")
    return int(text)


def _limited(spec: Spec, arguments: argparse.Namespace) -> Spec:
    """Return a spec with what the command says in place of its own limits and folder."""
    names = ("money", "hours", "parallel")
    said = {n: value for n in names if (value := getattr(arguments, n)) is not None}
    results = arguments.results or spec.results
    return replace(spec, limits=replace(spec.limits, **said), results=results)


def _executor(spec: Spec, arguments: argparse.Namespace) -> Executor:
    if arguments.ray:
        from cuesta.jobs.ray import RayPool  # noqa: PLC0415 - seldom there

        address = "" if arguments.ray == "local" else arguments.ray
        return RayPool(spec.limits.parallel, address)
    return LocalPool(spec.limits.parallel)


def _progress(done: int, total: int, label: str) -> None:
    """Tell a person how far it is: one line that changes, or lines where nobody looks."""
    line = f"{done} of {total} runs  {fitted(label, _LABEL)}"
    if sys.stderr.isatty():
        print(f"\r{line}", end="\n" if done == total else "", file=sys.stderr, flush=True)
    elif label:
        print(line.rstrip(), file=sys.stderr, flush=True)


def _sum_up(spec: Spec, outcome: Outcome, records: Sequence[Record], *, as_values: bool) -> int:
    failed = [record for record in records if record.end == ERROR]
    resolved = sum(record.resolved is True for record in records)
    if as_values:
        print(
            json.dumps(
                {
                    "done": outcome.done,
                    "total": outcome.total,
                    "resolved": resolved,
                    "failed": len(failed),
                    "cost": round(outcome.cost, 4),
                    "stopped_by": outcome.stopped_by,
                    "results": str(spec.folder),
                },
                indent=2,
            )
        )
    else:
        print(
            f"{outcome.done} of {outcome.total} runs, {resolved} resolved, "
            f"${outcome.cost:.2f}; results in {spec.folder}"
        )
    if outcome.stopped_by:
        tell(f"stopped by {_STOPPED[outcome.stopped_by]}; the same command goes on")
    for record in failed[:3]:
        tell(f"error: {record.cell.key}: {record.reason}")
    if failed:
        tell(f"{len(failed)} runs failed; the same command makes them again")
    return 1 if failed else 0
