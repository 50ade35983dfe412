"""`cuesta tune`: the threshold that suits somebody's own sessions, with its reasons."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from cuesta.cli import tell
from cuesta.cli.options import Parser
from cuesta.cli.tuned import as_json, lines
from cuesta.core.errors import CuestaError
from cuesta.core.policy import PROFILES, profile
from cuesta.core.prices import PriceBook
from cuesta.lab.measured import Tuning
from cuesta.lab.tune import tune

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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
_EXTRAS = (0.0, 1.0, 3.0, 5.0)


def main(argv: list[str]) -> int:
    """Print what was found and return 0."""
    arguments = _parser().parse_args(argv)
    tuning = Tuning(
        PriceBook(),
        profile(arguments.profile),
        tuple(sorted({*_EXTRAS, arguments.extra})),
        arguments.extra,
        by_model=arguments.by_model,
    )
    sessions = Saved(arguments.paths)
    try:
        found = tune(sessions, tuning)
    finally:
        sessions.end()
    for reason in found.refused:
        tell(f"warning: left out {reason}")
    if not found.groups:
        raise CuestaError("no session with a model call was found; name files or folders")
    if arguments.json:
        print(json.dumps(as_json(found.groups, tuning), indent=2))
    else:
        print("\n".join(lines(found.groups, tuning)))
    return 0


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


class Saved:
    """Saved sessions, read again each time they are gone through; it says how far it is.

    Args:
        paths: Files and folders; none: where the installed agents keep theirs.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._passes = 0
        self._began = time.monotonic()
        self._told = False

    def __iter__(self) -> Iterator[Session]:
        """Yield them one by one."""
        phase = _PASSES[min(self._passes, len(_PASSES) - 1)]
        self._passes += 1
        for number, session in enumerate(read(self._paths), 1):
            self._tell(f"{phase}: {number} sessions")
            yield session

    def end(self) -> None:
        """Clear the line that says how far it is."""
        if self._told:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _tell(self, text: str) -> None:
        if sys.stderr.isatty() and time.monotonic() - self._began > _SILENCE:
            self._told = True
            print(f"\r\x1b[Kcuesta: {text}", end="", file=sys.stderr, flush=True)


def read(paths: Sequence[Path]) -> Iterable[Session]:
    """Yield the saved sessions under paths."""
    raise NotImplementedError(paths)
