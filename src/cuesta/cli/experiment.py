"""`cuesta experiment`: which of its verbs is meant."""

from __future__ import annotations

import difflib
import importlib
from typing import TYPE_CHECKING, cast

from cuesta.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

_MODULES = {
    "list": "experiment_list",
    "run": "experiment_run",
    "report": "experiment_report",
}

_HELP = """\
usage: cuesta experiment list|run|report [options]

Run agents on benchmarks under several compaction strategies, as the paper did:
a matrix of scaffold, model, strategy, threshold, seed and task, one record a
run. A run that is killed goes on where it was.

  cuesta experiment list                 the specs that come with Cuesta
  cuesta experiment run own              six small tasks here, no key needed
  cuesta experiment run mini-swe-agent --dry-run
                                         what it would run, and cost at most
  cuesta experiment report own           the paper's tables from the records

`cuesta experiment run --help` tells more. docs/experiments.md tells what a spec
may say, and what each scaffold needs.
"""


def main(argv: list[str]) -> int:
    """Run one of the verbs and return its status."""
    verb = argv[0] if argv else "--help"
    if verb in ("-h", "--help", "help"):
        print(_HELP, end="")
        return 0
    if verb not in _MODULES:
        near = difflib.get_close_matches(verb, _MODULES, n=1)
        hint = f"did you mean `cuesta experiment {near[0]}`?" if near else "see --help."
        raise ConfigError(f"there is no verb `cuesta experiment {verb}`; {hint}")
    module = importlib.import_module(f"cuesta.cli.{_MODULES[verb]}")
    return cast("Callable[[list[str]], int]", module.main)(argv[1:])
