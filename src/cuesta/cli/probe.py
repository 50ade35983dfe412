"""`cuesta probe`: what the model would no longer have seen, on saved sessions."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cuesta.cli import probe_text as text
from cuesta.cli.options import Parser
from cuesta.cli.sources import add_source_flags, nothing, performed, reading_of
from cuesta.cli.variants import add_strategy_flags
from cuesta.core.errors import ConfigError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from cuesta.lab.losses import Found, Probed, Row, Table
    from cuesta.lab.records import Variant

_TEXT = """\
Look for what a strategy takes from the model, without asking one. A step of a
saved session uses strings in its calls: paths, identifiers, numbers, quoted
phrases. Those that stood in the conversation before and stand nowhere in the
step's prompt once the strategy has dropped context are lost.

  cuesta probe
  cuesta probe runs/ --threshold 16K,32K
  cuesta probe runs/ --strategy cliff,sliding_window --json

A lost string is no proof of harm (the agent may look again), and a kept one no
proof of understanding. The measure is the same for all strategies, so it tells
which of two keeps more, and whether a higher threshold would have kept as much
for the same money. Nothing leaves this machine.
"""

_THRESHOLDS = (16_000, 32_000, 64_000)
_BETWEEN = 2**0.5
"""From one threshold of Algorithm 1's curve to the next."""
_ABOVE = 4
"""How far above the highest threshold that curve goes, in steps."""


def main(argv: list[str]) -> int:
    """Probe, print the tables and return 0."""
    arguments = _parser().parse_args(argv)
    reading = reading_of(arguments)
    plan = _Plan.of(arguments)
    from functools import partial  # noqa: PLC0415 - beside the slow ones

    from cuesta.lab.losses import Probing, work  # noqa: PLC0415 - slow to load

    probing = Probing(plan.probed(), frozenset(plan.ours), reading.prices, arguments.model)
    found = list(performed(reading, partial(work, probing), "probed"))
    sessions = [one for part in found for one in part.probed]
    if not sessions:
        raise nothing(reading.paths)
    answer = _Answer(plan, sessions, _problems(found))
    if arguments.json:
        print(json.dumps(answer.to_dict(), indent=2))
    else:
        print("\n".join(answer.lines()))
    return 0


def _parser() -> Parser:
    parser = Parser("cuesta probe", _TEXT)
    parser.usage = "cuesta probe [options] [PATH ...]"
    add_source_flags(parser)
    group = parser.add_argument_group("what is probed")
    add_strategy_flags(group, "cliff", "16K,32K,64K")
    parser.add_argument("--json", action="store_true", help="print the tables as JSON")
    return parser


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is probed.

    Attributes:
        papers: Algorithm 1 at each threshold.
        ours: The strategies under the default profile at each threshold.
        curve: Algorithm 1 at thresholds around these.
    """

    papers: tuple[Variant, ...]
    ours: tuple[Variant, ...]
    curve: tuple[Variant, ...]

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> _Plan:
        from cuesta.lab.records import Variant, variants  # noqa: PLC0415 - slow to load
        from cuesta.strategies.registry import strategy  # noqa: PLC0415 - likewise

        asked = sorted(set(arguments.threshold or _THRESHOLDS))
        if 0 in asked:
            raise ConfigError("argument --threshold: Algorithm 1 has no automatic threshold")
        chosen = arguments.strategy or ["cliff"]
        for name in chosen:
            strategy(name)
        return cls(
            tuple(Variant("cliff", at, "paper") for at in asked),
            tuple(variants(chosen, asked)),
            tuple(Variant("cliff", at, "paper") for at in _curve(asked)),
        )

    def probed(self) -> tuple[Variant, ...]:
        from cuesta.lab.records import BASE  # noqa: PLC0415 - slow to load

        return tuple(dict.fromkeys((BASE, *self.papers, *self.ours, *self.curve)))

    def base(self, variant: Variant) -> Variant | None:
        """Return Algorithm 1 at a variant's threshold."""
        return next((paper for paper in self.papers if paper.threshold == variant.at), None)


def _curve(asked: Sequence[int]) -> Iterator[int]:
    """Yield thresholds from the lowest to well above the highest one."""
    at, most = float(asked[0]), asked[-1] * _BETWEEN**_ABOVE
    while at <= most * 1.01:
        yield round(at)
        at *= _BETWEEN


def _problems(found: Sequence[Found]) -> Mapping[str, int]:
    from collections import Counter  # noqa: PLC0415 - beside the slow ones

    counts: Counter[str] = Counter()
    for part in found:
        counts.update(part.problems)
    return dict(sorted(counts.items()))


class _Answer:
    """What is told."""

    def __init__(
        self, plan: _Plan, sessions: Sequence[Probed], problems: Mapping[str, int]
    ) -> None:
        from cuesta.lab.losses import Table  # noqa: PLC0415 - slow to load

        self._plan = plan
        self._sessions = sessions
        self._problems = problems
        self._tables = {
            name: Table([one for one in sessions if one.harness == name])
            for name in sorted({one.harness for one in sessions})
        }

    def to_dict(self) -> dict[str, Any]:
        return {
            "v": 1,
            "problems": self._problems,
            "harnesses": {
                name: {
                    "uses_per_100_calls": table.uses,
                    "rows": [row.to_dict() for row in self._rows(table)],
                    "controls": [row.to_dict() for row in self._controls(table)],
                }
                for name, table in self._tables.items()
            },
            "rereads": [
                {"harness": one.harness, "path": one.path, "call": r.call,
                 "before": r.before, "behind": r.behind}
                for one in self._sessions
                for r in one.rereads
            ],
        }  # fmt: skip

    def lines(self) -> Iterator[str]:
        for name, table in self._tables.items():
            rows = list(self._rows(table))
            yield from text.heading(name, rows[0].sessions, table.uses)
            yield from text.rates(rows)
            yield ""
            yield from text.slices([row for row in rows if row.variant in self._plan.ours])
            yield ""
            yield from text.controls(list(self._controls(table)))
            yield ""
        yield from text.rereads(self._sessions)
        yield from text.notes(self._problems)

    def _rows(self, table: Table) -> Iterator[Row]:
        from cuesta.lab.losses import HEAD_ONLY  # noqa: PLC0415 - slow to load
        from cuesta.lab.records import BASE  # noqa: PLC0415 - likewise

        yield table.row(BASE)
        for paper in self._plan.papers:
            yield table.row(paper)
            for variant in self._plan.ours:
                if self._plan.base(variant) == paper:
                    yield table.row(variant, paper)
        for variant in self._plan.ours:
            if self._plan.base(variant) is None:
                yield table.row(variant)
        yield table.row(HEAD_ONLY)

    def _controls(self, table: Table) -> Iterator[Row]:
        from cuesta.lab.losses import BLIND, ELSEWHERE, SHUFFLED  # noqa: PLC0415 - slow to load
        from cuesta.lab.records import BASE  # noqa: PLC0415 - likewise

        for variant in self._plan.ours:
            for control in (BLIND, SHUFFLED):
                yield table.row(replace(variant, profile=control), variant)
        yield table.row(replace(BASE, profile=ELSEWHERE))
