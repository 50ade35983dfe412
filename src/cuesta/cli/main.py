"""The command `cuesta`: finds the verb, loads only what it needs, turns errors into words."""

from __future__ import annotations

import difflib
import importlib
import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

from cuesta.cli import tell
from cuesta.core.errors import ConfigError, CuestaError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_VERBS = {
    "run": "start an agent with a proxy of its own",
    "serve": "run the proxy by itself, for any number of agents",
    "status": "what went through, and what it cost",
    "explain": "why each of the last requests was kept or compacted",
    "replay": "what each strategy would have cost, on saved sessions",
    "probe": "what each strategy would have hidden from the model",
    "sessions": "which saved sessions there are",
    "reproduce": "the paper's tables that need no model, on saved trajectories",
    "tune": "which threshold suits your own saved sessions; needs no key",
    "experiment": "runs of agents on benchmarks, as in the paper, and their report",
    "demo": "watch a long job with and without Cuesta; needs no key",
}

_HELP = """\
usage: cuesta VERB [options]

Cuesta stands between a coding agent and its model. A conversation grows
untouched, so that the provider's cache stays warm; then it drops in one cliff:
old tool output goes, what was said and done stays, word for word.

Start here:
  cuesta demo                 watch it work on a made-up job
  cuesta run -- claude        start Claude Code through Cuesta
  cuesta status               see what that was worth

Verbs:
{verbs}

`cuesta VERB --help` tells more. `cuesta --version` shows the version.
"""

_DEMO_HELP = """\
Let a scripted agent do a long job twice, directly and through the proxy, with a
simulated provider on this machine. Nothing leaves it and no key is needed.

  cuesta demo
  cuesta demo --profile paper --json
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Args:
        argv: The arguments behind `cuesta`; by default the process's own.

    Returns:
        0, or 1 for a failure, 2 for a mistake in options, 130 for an interrupt; `run` returns its
        command's own.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if isinstance(sys.stdout, io.TextIOWrapper):  # a screen that lacks a character shows `?`
        sys.stdout.reconfigure(errors="replace")
    try:
        status = _dispatch(words)
        sys.stdout.flush()
    except BrokenPipeError:  # as in `cuesta explain | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except ConfigError as error:
        return _complain(error, 2)
    except CuestaError as error:
        return _complain(error, 1)
    except OSError as error:
        return _complain(_in_words(error), 1)
    except KeyboardInterrupt:
        return 130
    return status


def _dispatch(words: list[str]) -> int:
    verb = words[0] if words else "--help"
    if verb in ("-h", "--help", "help"):
        print(
            _HELP.format(verbs="\n".join(f"  {v:<10} {text}" for v, text in _VERBS.items())), end=""
        )
        return 0
    if verb in ("-V", "--version"):
        from importlib.metadata import version  # noqa: PLC0415 - only asked for here

        print(f"cuesta {version('cuesta')}")
        return 0
    if verb not in _VERBS:
        near = difflib.get_close_matches(verb, _VERBS, n=1)
        hint = f"did you mean `cuesta {near[0]}`?" if near else "see `cuesta --help`."
        raise ConfigError(f"there is no verb `{verb}`; {hint}")
    if verb == "run" and os.name == "nt":
        raise ConfigError("`cuesta run` needs Linux or macOS; here, use `cuesta serve`")
    if verb == "demo":
        return _demo(words[1:])
    from cuesta.cli.options import unknown_variables  # noqa: PLC0415 - these verbs need it anyway

    for warning in unknown_variables(os.environ):
        tell(f"warning: {warning}")
    module = importlib.import_module(f"cuesta.cli.{verb}")
    return cast("Callable[[list[str]], int]", module.main)(words[1:])


def _demo(words: list[str]) -> int:
    from cuesta.cli.demo import demo  # noqa: PLC0415 - slow to load, seldom needed
    from cuesta.cli.options import Parser, options_of  # noqa: PLC0415 - likewise
    from cuesta.exchange.options import CompactionOptions  # noqa: PLC0415 - likewise

    parser = Parser("cuesta demo", _DEMO_HELP)
    parser.add_argument(
        "--out", type=Path, default=Path("demo-out"), metavar="DIR", help="folder for the report"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    threshold = next(o for o in options_of(CompactionOptions) if o.name == "threshold")
    parser.add_argument(
        "--threshold", type=threshold.from_flag, metavar="N", help="drop above this many tokens"
    )
    parser.add_argument(
        "--profile", choices=("default", "paper"), default="default", help="how to compact"
    )
    arguments = parser.parse_args(words)
    return demo(arguments.out, arguments.json, arguments.threshold, arguments.profile)


def _in_words(error: OSError) -> str:
    """Return what went wrong with which file, without the number that Python puts first."""
    reason = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {reason}" if error.filename else reason


def _complain(error: Exception | str, status: int) -> int:
    tell(f"error: {error}")
    return status


if __name__ == "__main__":
    sys.exit(main())
