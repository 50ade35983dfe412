"""Saved sessions, wherever a command reads them from: which files, how many at once, how far."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuesta.cli.text import fitted
from cuesta.core.errors import CuestaError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from cuesta.cli.options import Parser
    from cuesta.jobs.executors import Executor
    from cuesta.lab.files import Outcome, Task
    from cuesta.lab.sweep import Sweep
    from cuesta.lab.tariff import Prices

_SMALL = 4 << 20
"""Bytes of files that are read before another process would have started."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What is read, and by how many.

    Attributes:
        paths: What was named; empty: where the agents on this machine keep theirs.
        tasks: What there is to read.
        prices: What tokens cost.
        executor: Where it is read.
        folder: Where outcomes are kept, so that the command may be stopped and go on; None: not.
    """

    paths: Sequence[Path]
    tasks: Sequence[Task]
    prices: Prices
    executor: Executor
    folder: Path | None = None


def add_source_flags(parser: Parser) -> None:
    """Give a parser the flags that say what is read."""
    group = parser.add_argument_group("what is read")
    group.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="a file or a folder")
    group.add_argument(
        "--model", default="", metavar="NAME", help="price all calls as this model's"
    )
    group.add_argument(
        "--prices", type=Path, metavar="FILE", help="prices of models, in TOML (docs/prices.md)"
    )
    group.add_argument(
        "--workers", type=int, default=0, metavar="N", help="processes (default: one a core)"
    )
    group.add_argument(
        "--resume",
        type=Path,
        metavar="DIR",
        help="keep what is done in this folder, and go on from what is there",
    )


def reading_of(arguments: argparse.Namespace) -> Reading:
    """Find what there is to read.

    Args:
        arguments: Parsed by a parser that went through `add_source_flags`.

    Raises:
        OSError: If a path is not there.
        CuestaError: If there is nothing, saying where was looked.
    """
    from cuesta.lab.files import tasks_of  # noqa: PLC0415 - slow to load

    tasks = tasks_of(arguments.paths)
    if not tasks:
        raise nothing(arguments.paths)
    executor = _executor(arguments.workers, tasks)
    return Reading(arguments.paths, tasks, _prices(arguments.prices), executor, arguments.resume)


def nothing(paths: Sequence[Path]) -> CuestaError:
    """Return the error of who finds no session."""
    if paths:
        return CuestaError(f"no saved session in {', '.join(map(str, paths))}")
    return CuestaError(
        "no agent has saved a session where they usually do. Name a file or a folder:\n"
        "  cuesta replay PATH"
    )


def _prices(path: Path | None) -> Prices:
    from cuesta.core.prices import PriceBook  # noqa: PLC0415 - likewise

    return PriceBook()


def _executor(workers: int, tasks: Sequence[Task]) -> Executor:
    from cuesta.jobs.executors import Here, LocalPool, cores  # noqa: PLC0415 - likewise

    wanted = min(workers or cores(), len(tasks))
    if wanted <= 1 or (not workers and sum(task.size for task in tasks) < _SMALL):
        return Here()
    return LocalPool(wanted)


def outcomes(reading: Reading, sweep: Sweep, label: str = "read") -> Iterator[Outcome]:
    """Read, count and replay; yield what came of each task, and tell how far it is.

    Args:
        reading: What is read.
        sweep: What it is replayed under; without variants it is only counted.
        label: What is being done, in a word.
    """
    if reading.folder is None:
        yield from _straight(reading, sweep, _Progress(label, len(reading.tasks)))
        return
    from cuesta.jobs.records import Records  # noqa: PLC0415 - only where asked
    from cuesta.jobs.run import run  # noqa: PLC0415 - likewise
    from cuesta.lab.files import Outcome, work_to_keep  # noqa: PLC0415 - likewise

    progress = _Progress(label, len(reading.tasks))
    with Records(reading.folder, {"replay": sweep.to_dict()}) as records:
        tasks = {task.key: task for task in reading.tasks}
        run(
            partial(work_to_keep, sweep), tasks, records, reading.executor,
            progress=lambda done, _, __: progress.show(done),
        )  # fmt: skip
        progress.end()
        for key, values in records:
            if key in tasks:
                yield Outcome.from_dict(values)


def _straight(reading: Reading, sweep: Sweep, progress: _Progress) -> Iterator[Outcome]:
    """Yield outcomes in the order of the tasks, whichever ends first."""
    from cuesta.lab.files import work  # noqa: PLC0415 - slow to load

    waiting: dict[int, Outcome] = {}
    following = 0
    done = reading.executor.map(partial(work, sweep), reading.tasks)
    for count, (number, outcome) in enumerate(done, 1):
        progress.show(count)
        waiting[number] = outcome
        while following in waiting:
            yield waiting.pop(following)
            following += 1
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
        files: How many there are, by state.
        sessions: How many there are, by harness.
        problems: What could not be read, by reason.
        others: Path and state of each file without a session.
        calls: Model calls.
        billed_calls: Those of them whose bill is known.
        prompt: Billed prompt tokens.
        output: Billed output tokens.
    """

    files: Counter[str] = field(default_factory=Counter)
    sessions: Counter[str] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    others: list[tuple[str, str]] = field(default_factory=list)
    calls: int = 0
    billed_calls: int = 0
    prompt: int = 0
    output: int = 0

    def add(self, outcome: Outcome) -> None:
        """Add what came of a task."""
        self.problems.update(outcome.problems)
        if not outcome.task.part:
            self.files[outcome.state] += 1
            if not outcome.tallies:
                self.others.append((outcome.task.path, outcome.state))
        for tally in outcome.tallies:
            self.sessions[tally.harness] += 1
            self.calls += tally.calls
            self.billed_calls += tally.billed_calls
            self.prompt += tally.usage.prompt
            self.output += tally.usage.output

    def to_dict(self) -> dict[str, Any]:
        """Return the sums as plain values."""
        return {
            "files": dict(sorted(self.files.items())),
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
