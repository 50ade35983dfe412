"""`cuesta reproduce`: the paper's tables that need no model, beside the paper's figures."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuesta.cli.options import Parser
from cuesta.core.errors import ConfigError
from cuesta.lab.reproduce import (
    EXTRA_STEPS,
    FULL,
    MODELS,
    PAPER_COST,
    PAPER_HITS,
    PAPER_PARTS,
    PAPER_SHARES,
    PAPER_SUMS,
    TAKEN_APART,
    THRESHOLDS,
    Reproduction,
    reproduce,
)
from cuesta.store.prices import PAPER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cuesta.core.usage import Usage

_TEXT = """\
Replay saved trajectories of mini-swe-agent as the paper ran it: with everything
kept, and under Algorithm 1 at 32K, 16K and 8K. Bill them at the paper's prices,
and print its tables that need no model beside its own figures.

  cuesta reproduce trajectories.tar.zst
  cuesta reproduce folder --json
"""

_PATIENCE = 2.0
"""Seconds before a person is told how far it is."""
_LABEL = 32
_COLUMN = 10
_HEADS = ("full", "32K", "16K", "8K")
_ROWS = ("tool results", "tool calls", "thoughts", "system and task")
_PARTS_MODEL = "GLM 5.1"

_WHY = """\
What differs, and why

Other runs. The paper's trajectories are not public: its columns are means over
runs of GLM and Kimi, each threshold with runs of its own. Here one recorded run
a task is replayed at every threshold; a replay keeps the recorded steps. A
model that has lost an output may look again, so the rows with extra steps show
what that would add; how many steps it really takes only runs can tell.

Other outputs. What a model writes is billed in full at every threshold, so its
part of the bill grows as the context shrinks. The recorded model writes its
thoughts into its answers, at length; the paper's models write other amounts,
and their costs at the same prices differ for that alone.

Other lengths. How much a threshold saves depends on how many tasks outgrow it
and by how much: see the row "tasks that outgrow it".

Other caches. The paper's model charges an answer anew as part of the next
prompt, and the whole prompt behind a cliff. An engine still holds the answer,
and what stands before the digest, so its rows are lower. Billed hit rates are
what providers granted: they miss for reasons of their own (routing between
machines, load), which no replay knows.

Other scaffolds. Table 7 was made on Terminal-Bench with Terminus-2, whose model
types keystrokes and writes less prose; its shares are beside ours to show the
kind, not to be met. Tables on success, run time and other scaffolds need runs.
"""


def main(argv: list[str]) -> int:
    """Print the tables and return 0."""
    parser = Parser("cuesta reproduce", _TEXT)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="archive or folder")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args(argv)
    missing = next((path for path in arguments.paths if not path.exists()), None)
    if missing is not None:
        raise ConfigError(f"{missing}: there is no such file or folder")
    found = _run(arguments.paths)
    if arguments.json:
        print(json.dumps(_figures(found), indent=2))
    else:
        print("\n".join([*_head(found), *_costs(found), *_hits(found), *_parts(found), _WHY]))
    return 0


def _run(paths: Sequence[Path]) -> Reproduction:
    """Replay everything, and say how far it is once it takes long."""
    screen = sys.stderr.isatty()
    told = time.monotonic() + _PATIENCE
    found: Reproduction | None = None
    for found in reproduce(paths):
        if time.monotonic() >= told:
            told = time.monotonic() + (1 if screen else 10)
            print(_counted(found.tasks), end="\r" if screen else "\n", file=sys.stderr)
    if found is None:
        raise ConfigError("no trajectory of mini-swe-agent is there")
    return found


def _counted(tasks: int) -> str:
    return "1 trajectory" if tasks == 1 else f"{tasks} trajectories"


def _head(found: Reproduction) -> Iterator[str]:
    calls = found.tallies[FULL].calls
    yield (
        f"{_counted(found.tasks)} of mini-swe-agent, {calls} calls, "
        f"{found.billed.prompt / 1e6:.1f}M prompt tokens"
    )
    yield ""


def _costs(found: Reproduction) -> Iterator[str]:
    yield _row("Dollars a task, perfect cache", _HEADS)
    yield from _rule()
    for model in MODELS:
        paper = PAPER_COST[model]
        costs = [found.cost(model, t) for t in THRESHOLDS]
        yield _row(f"{model}, the paper", [f"{cost:.2f}" for cost in paper])
        yield _row("  replayed", [f"{cost:.3f}" for cost in costs])
        again = [found.cost(model, t, by="again") for t in THRESHOLDS]
        yield _row(f"  with {EXTRA_STEPS} more steps a cliff", [f"{cost:.3f}" for cost in again])
        kept = [found.cost(model, t, by="engine") for t in THRESHOLDS]
        yield _row("  by an engine's cache", [f"{cost:.3f}" for cost in kept])
        yield _row("  of full cost: the paper", _shares(paper))
        yield _row("  replayed", _shares(costs))
        yield _row(f"  with {EXTRA_STEPS} more steps a cliff", _shares(again))
        yield _row("  by an engine's cache", _shares(kept))
        yield ""
    yield _row(
        "Cliffs a task", [f"{found.tallies[t].cliffs / found.tasks:.2f}" for t in THRESHOLDS]
    )
    crossed = [f"{found.crossed[t] / found.tasks:.0%}" for t in THRESHOLDS[1:]]
    yield _row("Tasks that outgrow it", ["", *crossed])
    yield ""


def _hits(found: Reproduction) -> Iterator[str]:
    yield _row("Prompt tokens read from the cache", _HEADS)
    yield from _rule()
    for model, shares in PAPER_HITS.items():
        yield _row(f"{model}, the paper, billed", [f"{share:.0%}" for share in shares])
    tallies = [found.tallies[threshold] for threshold in THRESHOLDS]
    yield _row("recorded, billed", [_hit(found.billed)])
    yield _row("replayed, perfect cache", [_hit(tally.perfect) for tally in tallies])
    yield _row("replayed, an engine's cache", [_hit(tally.engine) for tally in tallies])
    yield ""


def _parts(found: Reproduction) -> Iterator[str]:
    for threshold in TAKEN_APART:
        tally = found.tallies[threshold]
        ours = tally.dollars(PAPER[MODELS[_PARTS_MODEL]])
        paper = PAPER_PARTS[threshold]
        total = tally.prompt.total or 1
        at = "nothing dropped" if threshold == FULL else f"at {threshold // 1000}K"
        yield _row(f"{_PARTS_MODEL}, {at}", ("context", "cached", "other", "total"))
        yield from _rule()
        for i, name in enumerate(_ROWS):
            share = f"{PAPER_SHARES[i]:.1%}" if threshold == FULL else ""
            yield _row(f"{name}, the paper", [share, *_dollars(*paper[i])])
            cached, other = (part / found.tasks for part in ours[i])
            here = f"{tally.prompt.values[i] / total:.1%}"
            yield _row("  replayed", [here, *_dollars(cached, other)])
        yield _row("all, the paper", ["", *_dollars(*PAPER_SUMS[threshold])])
        sums = [sum(part) / found.tasks for part in zip(*ours, strict=True)]
        yield _row("  replayed", ["", *_dollars(*sums)])
        yield ""


def _dollars(cached: float, other: float) -> list[str]:
    return [f"{amount:.3f}" for amount in (cached, other, cached + other)]


def _shares(costs: Sequence[float]) -> list[str]:
    return [f"{cost / costs[0]:.0%}" if costs[0] else "" for cost in costs]


def _hit(usage: Usage) -> str:
    return f"{usage.cache_read / usage.prompt:.0%}" if usage.prompt else ""


def _row(label: str, cells: Sequence[str]) -> str:
    return (f"{label:<{_LABEL}}" + "".join(f"{cell:>{_COLUMN}}" for cell in cells)).rstrip()


def _rule() -> Iterator[str]:
    yield "-" * (_LABEL + _COLUMN * len(_HEADS))


def _figures(found: Reproduction) -> dict[str, Any]:
    """Return everything that the tables show, as plain values."""
    return {
        "tasks": found.tasks,
        "billed": _tokens(found.billed),
        "thresholds": [_threshold(found, threshold) for threshold in THRESHOLDS],
    }


def _threshold(found: Reproduction, threshold: int) -> dict[str, Any]:
    tally, number = found.tallies[threshold], THRESHOLDS.index(threshold)
    costs = {
        model: {
            "paper": PAPER_COST[model][number],
            **{by: found.cost(model, threshold, by=by) for by in ("perfect", "engine", "again")},
        }
        for model in MODELS
    }
    parts = [
        {"name": name, "share": share / (tally.prompt.total or 1), "cached": cached, "other": other}
        for name, share, (cached, other) in zip(
            (*_ROWS, "user"), tally.prompt.values,
            tally.dollars(PAPER[MODELS[_PARTS_MODEL]]), strict=True,
        )
    ]  # fmt: skip
    return {
        "threshold": threshold,
        "calls": tally.calls,
        "cliffs": tally.cliffs,
        "outgrown_by": found.crossed[threshold],
        "perfect": _tokens(tally.perfect),
        "engine": _tokens(tally.engine),
        "dollars_a_task": costs,
        "parts_of_all_tasks": parts if threshold in TAKEN_APART else [],
    }


def _tokens(usage: Usage) -> dict[str, int]:
    return {"input": usage.input, "cache_read": usage.cache_read, "output": usage.output}
