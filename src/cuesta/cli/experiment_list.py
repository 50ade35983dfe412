"""`cuesta experiment list`: the specs that come with Cuesta."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cuesta.cli.options import Parser
from cuesta.cli.text import wrapped
from cuesta.experiments.plan import needs
from cuesta.experiments.spec import load, shipped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cuesta.experiments.spec import Spec

_TEXT = """\
List the specs that come with Cuesta: every setting of the paper, and one of our
own that needs no key. `cuesta experiment run NAME --dry-run` tells what one
would run; `cuesta experiment list --show NAME` prints it, to be changed.

  cuesta experiment list
  cuesta experiment list --show own > mine.toml
"""
_WIDTH = 80
_INDENT = "    "


def main(argv: list[str]) -> int:
    """Print the list, or one spec, and return 0."""
    parser = Parser("cuesta experiment list", _TEXT)
    parser.add_argument("--show", choices=tuple(shipped()), metavar="NAME", help="print a spec")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")
    arguments = parser.parse_args(argv)
    if arguments.show:
        print(shipped()[arguments.show], end="")
        return 0
    specs = [load(name) for name in shipped()]
    if arguments.json:
        print(json.dumps([_plain(spec) for spec in specs], indent=2))
    else:
        print("\n".join(line for spec in specs for line in _lines(spec)))
    return 0


def _lines(spec: Spec) -> Iterator[str]:
    missing = sum(not need.there for need in needs(spec))
    things = "1 thing is" if missing == 1 else f"{missing} things are"
    yield f"{spec.name}  ({f'{things} missing here' if missing else 'can be run here'})"
    for line in wrapped(spec.about, _WIDTH - len(_INDENT)):
        yield _INDENT + line


def _plain(spec: Spec) -> dict[str, Any]:
    missing = [need.what for need in needs(spec) if not need.there]
    return {"name": spec.name, "about": spec.about, "missing": missing}
