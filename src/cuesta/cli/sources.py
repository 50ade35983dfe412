"""Saved sessions, wherever a command reads them from: which files, how many at once, how far."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cuesta.cli.text import fitted
from cuesta.core.errors import CuestaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from cuesta.cli.options import Parser
    from cuesta.jobs.executors import Executor
    from cuesta.lab.files import Outcome, Task
    from cuesta.lab.sweep import Sweep
    from cuesta.lab.tariff import Prices

_Result = TypeVar("_Result")
_SMALL = 4 << 20
"""Bytes of files that are read before another process would have started."""


_MOST_WORKERS = 256

HOW_TO_PRICE = "`--prices FILE` names that file; `--model NAME` prices all as another model."
"""What helps where a model has no price."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What is read, and by how many.

    Attributes:
        paths: What was named; empty: where the agents on this machine keep theirs.
        tasks: What there is to read.
        prices: What tokens cost.
        executor: Where it is read.
        folder: Where outcomes are kept, so that the command may be stopped and go on; None: not.
        own_prices: The user's own file of prices.
    """

    paths: Sequence[Path]
    tasks: Sequence[Task]
    prices: Prices
    executor: Executor
    folder: Path | None = None
    own_prices: str = ""


def add_source_flags(parser: Parser, *, resumes: bool = False) -> None:
    """Give a parser the flags that say what is read.

    Args:
        parser: The parser.
        resumes: Whether the command keeps what it has done, so that it can go on from there.
    """
    group = parser.add_argument_group("what is read")
    group.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="a file or a folder")
    group.add_argument(
        "--model", default="", metavar="NAME", help="price all calls as this model's"
    )
    group.add_argument(
        "--prices", type=Path, metavar="FILE", help="prices of models, in TOML (docs/replay.md)"
    )
    group.add_argument(
        "--workers", type=_workers, default=0, metavar="N", help="processes (default: one a core)"
    )
    group.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="read on a Ray cluster: its address, or `local` for one that is started here",
    )
    if not resumes:
        parser.set_defaults(resume=None)
        return
    group.add_argument(
        "--resume",
        type=Path,
        metavar="DIR",
        help="keep what is done in this folder, and go on from what is there",
    )


def _workers(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= _MOST_WORKERS):
        raise argparse.ArgumentTypeError(f"expected 1 to {_MOST_WORKERS}, not {text!r}")
    return int(text[:9])


def reading_of(arguments: argparse.Namespace) -> Reading:
    """Find what there is to read.

    Args:
        arguments: Parsed by a parser that went through `add_source_flags`.

    Raises:
        OSError: If a path is not there.
        CuestaError: If there is nothing, saying where was looked.
    """
    from cuesta.harnesses.saved.files import homes  # noqa: PLC0415 - slow to load
    from cuesta.lab.files import tasks_of  # noqa: PLC0415 - likewise
    from cuesta.store.prices import price_book  # noqa: PLC0415 - likewise

    tasks = tasks_of(arguments.paths or homes(os.environ).values())
    if not tasks:
        raise nothing(arguments.paths)
    executor = _executor(arguments, tasks)
    prices = price_book(arguments.prices)
    own = arguments.prices.read_text(encoding="utf-8") if arguments.prices else ""
    return Reading(arguments.paths, tasks, prices, executor, arguments.resume, own)


def nothing(paths: Sequence[Path]) -> CuestaError:
    """Return the error of who finds no session."""
    if paths:
        return CuestaError(f"no saved session in {', '.join(map(str, paths))}")
    return CuestaError(
        "no agent has saved a session where they usually do.\nName a file or a folder."
    )


def _executor(arguments: argparse.Namespace, tasks: Sequence[Task]) -> Executor:
    if arguments.ray:
        from cuesta.jobs.ray import RayPool  # noqa: PLC0415 - seldom there

        return RayPool(arguments.workers, "" if arguments.ray == "local" else arguments.ray)
    from cuesta.jobs.executors import Here, LocalPool, cores  # noqa: PLC0415 - slow to load

    wanted = min(arguments.workers or cores(), len(tasks))
    small = not arguments.workers and sum(task.size for task in tasks) < _SMALL
    return Here() if wanted <= 1 or small else LocalPool(wanted)


def outcomes(reading: Reading, sweep: Sweep, label: str = "read") -> Iterator[Outcome]:
    """Read, count and replay; yield what came of each task, and tell how far it is.

    A call that stands in several files (of a session that was resumed or forked) counts in the
    first.

    Args:
        reading: What is read.
        sweep: What it is replayed under; without variants it is only counted.
        label: What is being done, in a word.
    """
    from cuesta.harnesses.saved.repeats import Repeats  # noqa: PLC0415 - slow to load
    from cuesta.lab.files import without_repeats, work  # noqa: PLC0415 - likewise

    repeats = Repeats()
    done = (
        performed(reading, partial(work, sweep), label)
        if reading.folder is None
        else _kept(reading, sweep, _Progress(label, len(reading.tasks)))
    )
    for outcome in done:
        yield without_repeats(sweep, outcome, repeats)


def _kept(reading: Reading, sweep: Sweep, progress: _Progress) -> Iterator[Outcome]:
    """Do what was not done before, and yield outcomes in the order in which they were done."""
    from cuesta.jobs.records import Records  # noqa: PLC0415 - only where asked
    from cuesta.jobs.run import run  # noqa: PLC0415 - likewise
    from cuesta.lab.files import Outcome, work_to_keep  # noqa: PLC0415 - likewise

    assert reading.folder is not None  # noqa: S101 - see `outcomes`
    identity = {**sweep.to_dict(), "prices": reading.own_prices}
    with Records(reading.folder, identity) as records:
        tasks = {task.key: task for task in reading.tasks}
        run(
            partial(work_to_keep, sweep), tasks, records, reading.executor,
            progress=lambda done, _, __: progress.show(done),
        )  # fmt: skip
        progress.end()
        for key, values in records:
            if key in tasks:
                yield Outcome.from_dict(values)


def performed(
    reading: Reading, function: Callable[[Task], _Result], label: str
) -> Iterator[_Result]:
    """Do each task; yield the results in the order of the tasks, whichever ends first.

    Args:
        reading: What is read.
        function: Does a task; one at the top of a module, or `partial` of one.
        label: What is being done, in a word.
    """
    from cuesta.jobs.errors import TaskError  # noqa: PLC0415 - slow to load

    progress = _Progress(label, len(reading.tasks))
    waiting: dict[int, _Result] = {}
    following = 0
    done = reading.executor.map(function, reading.tasks)
    try:
        for count, (number, result) in enumerate(done, 1):
            progress.show(count)
            waiting[number] = result
            while following in waiting:
                yield waiting.pop(following)
                following += 1
    except TaskError as error:
        raise TaskError(error.index, error.reason, reading.tasks[error.index].path) from error
    finally:
        progress.end()


class _Progress:
    """A line on the screen, if there is one."""

    def __init__(self, label: str, total: int) -> None:
        self._label = label
        self._total = total
        self._shown = sys.stderr.isatty() and total > 1

    def show(self, done: int) -> None:
        if self._shown:
            text = f"{self._label}: {done} of {self._total}"
            print(f"\r{fitted(text, 60)}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._shown:
            print(f"\r{'':60}\r", end="", file=sys.stderr, flush=True)


@dataclass(slots=True)
class Summary:
    """What all files hold, summed.

    Attributes:
        files: How many files there are.
        sessions: How many there are, by harness.
        problems: What could not be read, by reason.
        others: Files and members of archives without a session, by reason.
        calls: Model calls.
        billed_calls: Those of them whose bill is known.
        prompt: Billed prompt tokens.
        output: Billed output tokens.
    """

    files: int = 0
    sessions: Counter[str] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    others: dict[str, list[str]] = field(default_factory=dict)
    calls: int = 0
    billed_calls: int = 0
    prompt: int = 0
    output: int = 0

    def add(self, outcome: Outcome) -> None:
        """Add what came of a task."""
        self.problems.update(outcome.problems)
        self.files += not outcome.task.part
        for path, reason in outcome.others:
            self.others.setdefault(reason, []).append(path)
        for tally in outcome.tallies:
            self.sessions[tally.harness] += 1
            self.calls += tally.calls
            self.billed_calls += tally.billed_calls
            self.prompt += tally.usage.prompt
            self.output += tally.usage.output

    def to_dict(self) -> dict[str, Any]:
        """Return the sums as plain values."""
        return {
            "files": self.files,
            "without_sessions": dict(sorted(self.others.items())),
            "sessions": dict(sorted(self.sessions.items())),
            "calls": self.calls,
            "billed_calls": self.billed_calls,
            "billed_prompt_tokens": self.prompt,
            "billed_output_tokens": self.output,
            "problems": dict(sorted(self.problems.items())),
        }


def merged(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Return one outcome a file, the parts of an archive put together; records are left out."""
    files: dict[str, Outcome] = {}
    for outcome in outcomes:
        before = files.get(outcome.task.path)
        files[outcome.task.path] = outcome if before is None else before.joined(outcome)
    return list(files.values())
