"""`cuesta tune`: the threshold that suits somebody's own sessions, with its reasons."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from cuesta.cli import tell
from cuesta.cli.options import Parser
from cuesta.cli.sources import HOW_TO_PRICE, add_price_flags
from cuesta.cli.text import counted
from cuesta.cli.tuned import as_json, lines
from cuesta.core.errors import CuestaError
from cuesta.core.policy import PROFILES, profile
from cuesta.harnesses.saved.files import find, homes, read_file
from cuesta.jobs.errors import TaskError
from cuesta.jobs.executors import Executor, Here, LocalPool
from cuesta.lab.measured import Tuning
from cuesta.lab.tune import Found, Result, tune
from cuesta.store.prices import price_book

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from cuesta.trace.session import Session

_TEXT = """\
Find the threshold that suits your saved sessions: how large a conversation may
grow before Cuesta drops. Nothing leaves this machine and no key is needed.

  cuesta tune                     the sessions that agents saved here
  cuesta tune sessions/           those in a folder, or in files
  cuesta tune --by-model --json

Every session is replayed at many thresholds, and billed as a prefix cache would
bill it. Dropping often keeps prompts short; but each drop sends what is left
anew, and makes the model look things up again: some extra steps (r), 3 unless
you say otherwise. The best threshold lies between. The cost is flat around it,
so there is a band, and one flag to use. A replay keeps the recorded steps.
"""

_PASSES = ("reading", "replaying", "refining")
_SILENCE = 2.0
_SMALL = 4 << 20
"""Bytes of files that are replayed before another process has started."""
_EXTRAS = (0.0, 1.0, 3.0, 5.0)


def main(argv: list[str]) -> int:
    """Print what was found and return 0."""
    arguments = _parser().parse_args(argv)
    tuning = Tuning(
        price_book(arguments.prices),
        profile(arguments.profile),
        tuple(sorted({*_EXTRAS, arguments.extra})),
        arguments.extra,
        by_model=arguments.by_model,
        model=arguments.model,
    )
    if tuning.model:
        tuning.book.price(tuning.model)
    files = _files(arguments.paths)
    found = _found(files, tuning)
    for reason in found.refused:
        tell(f"warning: left out {reason}")
    if not found.groups:
        raise _nothing(found, files)
    for reason, sessions in found.unpriced.items():
        tell(f"warning: left out {counted(sessions, 'session')}: {reason}")
    if found.unpriced:
        tell(f"warning: {HOW_TO_PRICE}")
    if arguments.json:
        print(json.dumps(as_json(found.groups, tuning), indent=2))
    else:
        print("\n".join(lines(found.groups, tuning)))
    return 0


def _nothing(found: Found, files: Sequence[Path]) -> CuestaError:
    """Return the error of who has no session to tune on."""
    if found.unpriced:
        return CuestaError("\n".join([*found.unpriced, HOW_TO_PRICE]))
    return CuestaError(
        f"no session with a model call in {counted(len(files), 'file')}.\n"
        "Name files or folders: cuesta tune PATH"
    )


def _parser() -> Parser:
    parser = Parser("cuesta tune", _TEXT)
    parser.usage = "cuesta tune [PATH ...] [options]"
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files or folders")
    parser.add_argument(
        "--by-model", action="store_true", help="one answer a model, not one a harness"
    )
    parser.add_argument(
        "--extra",
        type=_extra,
        default=3.0,
        metavar="N",
        help="extra steps that a drop causes (default: 3; 0, 1 and 5 are shown too)",
    )
    parser.add_argument(
        "--profile",
        choices=tuple(PROFILES),
        default="default",
        help="how to compact (default: default)",
    )
    add_price_flags(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _extra(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 100, not {text!r}")
    return value


def _files(paths: Sequence[Path]) -> list[Path]:
    """Return the files to read: those named, or those that agents keep here.

    Raises:
        FileNotFoundError: If there is nothing at a path that was named.
    """
    for path in paths:
        path.stat()
    return list(find(paths or homes(os.environ).values()))


def _found(files: Sequence[Path], tuning: Tuning) -> Found:
    small = len(files) < 2 or sum(file.stat().st_size for file in files) < _SMALL
    course = _Course(Here() if small else LocalPool(), len(files))
    try:
        return tune(files, tuning, read=saved_sessions, run=course.run)
    except TaskError as error:
        raise TaskError(error.index, error.reason, str(files[error.index])) from error
    finally:
        course.end()


def saved_sessions(path: Path) -> Iterator[Session]:
    """Yield the sessions that a file holds."""
    for saved in read_file(path):
        yield from saved.sessions


class _Course:
    """Runs tasks, and says on a screen how far it is once that takes long."""

    def __init__(self, executor: Executor, total: int) -> None:
        self._executor = executor
        self._total = total
        self._passes = iter(_PASSES)
        self._began = time.monotonic()
        self._told = False

    def run(
        self, function: Callable[[Any], Result], tasks: Iterable[Any], /
    ) -> Iterator[tuple[int, Result]]:
        """Run a function over tasks; see `cuesta.lab.tune.Run`."""
        phase = next(self._passes)
        for done, result in enumerate(self._executor.map(function, tasks), 1):
            self._tell(f"{phase}: {done} of {self._total} files")
            yield result

    def end(self) -> None:
        """Clear the line that says how far it is."""
        if self._told:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _tell(self, text: str) -> None:
        if sys.stderr.isatty() and time.monotonic() - self._began > _SILENCE:
            self._told = True
            print(f"\r\x1b[Kcuesta: {text}", end="", file=sys.stderr, flush=True)
