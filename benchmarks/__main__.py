"""`python -m benchmarks`: measure, print, and write the report."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks import attach, cost, growth, memory, startup, steady, streams, throughput
from benchmarks.client import AnswerError
from benchmarks.plan import FULL, QUICK, Plan
from benchmarks.report import Result, document, machine
from benchmarks.servers import CUESTA, NAMES, House, upstream

MEASUREMENTS: dict[str, Callable[[House, Plan], Result]] = {
    "latency": steady.measure,
    "throughput": throughput.measure,
    "streams": streams.measure,
    "attach": attach.measure,
    "memory": memory.measure,
    "startup": startup.measure,
    "cost": cost.measure,
    "growth": growth.measure,
}
"""What can be measured, by name."""

_OURS = ("growth",)
"""What is measured of Cuesta alone."""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", type=_names(MEASUREMENTS), default=tuple(MEASUREMENTS),
                        help=f"measurements, with commas: {', '.join(MEASUREMENTS)}")  # fmt: skip
    parser.add_argument("--servers", type=_names(NAMES), default=NAMES,
                        help=f"columns, with commas: {', '.join(NAMES)}")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="small sizes; the figures mean little")
    parser.add_argument("--repetitions", type=int, help="instead of the plan's own")
    parser.add_argument("--tools", type=Path, default=Path(".bench"),
                        help="where scripts/install-bench put what it installed")  # fmt: skip
    parser.add_argument("--out", type=Path, help="write the report to this file, too")
    return parser.parse_args()


def _names(known: object) -> Callable[[str], tuple[str, ...]]:
    """Return a reader of names with commas."""

    def read(text: str) -> tuple[str, ...]:
        names = tuple(text.split(","))
        for name in names:
            if name not in known:  # type: ignore[operator]
                raise argparse.ArgumentTypeError(f"there is no `{name}`")
        return names

    return read


def main() -> int:
    """Measure what was asked for; return 1 where a measurement broke off."""
    arguments = _arguments()
    plan = QUICK if arguments.quick else FULL
    if arguments.repetitions:
        plan = replace(plan, repetitions=arguments.repetitions)
    about = [f"machine: {machine()}"]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cuesta-bench-") as folder, upstream() as port:
        house = House(Path(folder), arguments.tools.absolute(), arguments.servers, port)
        about += [f"{name}: {why}" for name, why in house.missing.items()]
        results, broken = _measure_all(house, plan, arguments.only)
    about.append(f"{plan.repetitions} repetitions, {time.monotonic() - began:.0f} s in all")
    text = document(results, about)
    print(text, end="")
    if arguments.out:
        arguments.out.write_text(text)
    return int(broken)


def _measure_all(house: House, plan: Plan, names: tuple[str, ...]) -> tuple[list[Result], bool]:
    results, broken = [], False
    for name in names:
        began = time.monotonic()
        _say(f"{name} ...")
        if name in _OURS and CUESTA in house.missing:
            why = f"Not measured: Cuesta is {house.missing[CUESTA]}."
            results.append(Result(name, (), notes=[why]))
            continue
        try:
            results.append(MEASUREMENTS[name](house, plan))
        except (AnswerError, OSError) as error:
            broken = True
            _say(f"{name} broke off: {error}")
            results.append(Result(name, (), notes=[f"**Broke off:** {error}"]))
        _say(f"{name}: {time.monotonic() - began:.1f} s")
    return results, broken


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
