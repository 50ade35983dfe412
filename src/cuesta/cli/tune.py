"""`cuesta tune`: the threshold that suits somebody's own sessions, with its reasons."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from cuesta.cli import tell
from cuesta.cli.options import Parser
from cuesta.cli.sources import HOW_TO_PRICE, add_source_flags, nothing, performed, reading_of
from cuesta.cli.text import counted
from cuesta.core.errors import CuestaError
from cuesta.core.policy import PROFILES, profile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from cuesta.cli.sources import Reading
    from cuesta.lab.files import Task
    from cuesta.lab.measured import Tuning
    from cuesta.lab.tune import Found, Result
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
_EXTRAS = (0.0, 1.0, 3.0, 5.0)


def main(argv: list[str]) -> int:
    """Print what was found and return 0."""
    arguments = _parser().parse_args(argv)
    from cuesta.cli.tuned import as_json, lines  # noqa: PLC0415 - slow to load

    reading = reading_of(arguments)
    tuning = _tuning(arguments, reading)
    found = _found(reading, tuning)
    for reason in found.refused:
        tell(f"warning: left out {reason}")
    if not found.groups:
        raise _nothing(found, reading)
    for reason, sessions in found.unpriced.items():
        tell(f"warning: left out {counted(sessions, 'session')}: {reason}")
    if found.unpriced:
        tell(f"warning: {HOW_TO_PRICE}")
    if arguments.json:
        print(json.dumps(as_json(found.groups, tuning), indent=2))
    else:
        print("\n".join(lines(found.groups, tuning)))
    return 0


def _tuning(arguments: argparse.Namespace, reading: Reading) -> Tuning:
    """Return how thresholds are compared.

    Raises:
        UnknownModelError: If the model that all is billed as has no price.
    """
    from cuesta.lab.measured import Tuning  # noqa: PLC0415 - slow to load

    if arguments.model:
        reading.prices.price(arguments.model)
    return Tuning(
        reading.prices,
        profile(arguments.profile),
        tuple(sorted({*_EXTRAS, arguments.extra})),
        arguments.extra,
        by_model=arguments.by_model,
        model=arguments.model,
    )


def _found(reading: Reading, tuning: Tuning) -> Found:
    from cuesta.lab.tune import tune  # noqa: PLC0415 - slow to load

    passes = iter(_PASSES)

    def run(
        function: Callable[[Any], Result], tasks: Iterable[Any], /
    ) -> Iterator[tuple[int, Result]]:
        del tasks
        return enumerate(performed(reading, function, next(passes)))

    return tune(reading.tasks, tuning, read=sessions_of, run=run)


def sessions_of(task: Task) -> Iterator[Session]:
    """Yield the sessions that a task names."""
    from pathlib import Path  # noqa: PLC0415 - beside the slow one

    from cuesta.harnesses.saved.files import read_file  # noqa: PLC0415 - slow to load

    for saved in read_file(Path(task.path), task.part, task.parts):
        yield from saved.sessions


def _nothing(found: Found, reading: Reading) -> CuestaError:
    """Return the error of who has no session to tune on."""
    if found.unpriced:
        return CuestaError("\n".join([*found.unpriced, HOW_TO_PRICE]))
    return nothing(reading.paths)


def _parser() -> Parser:
    parser = Parser("cuesta tune", _TEXT)
    parser.usage = "cuesta tune [PATH ...] [options]"
    add_source_flags(parser)
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
