"""Judge generated histories in two processes and print what was seen.

Usage: python scripts/conformance.py HISTORIES [WIRE [STRATEGY]]
"""

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields
from functools import partial

from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.testing.conformance import Report, judge_history
from cuesta.testing.driver import Bench
from cuesta.testing.histories import ClientHistory

BATCH = 20


def judge(wire: str, strategy: str, seeds: range) -> Report:
    """Judge a batch of histories, one in ten at the automatic threshold."""
    report = Report()
    for seed in seeds:
        automatic = seed % 10 == 9
        options = CompactionOptions(strategy=strategy, threshold=0 if automatic else 8000)
        history = ClientHistory(seed, scale=6.0 if automatic else 1.0, wire=wire)
        judge_history(history, Bench(Engine(options)), report)
    return report


def add(total: Report, part: Report) -> None:
    """Add a batch's report to the total."""
    for field in fields(Report):
        mine, other = getattr(total, field.name), getattr(part, field.name)
        if isinstance(mine, int):
            setattr(total, field.name, mine + other)
        elif isinstance(mine, list):
            mine.extend(other)
        else:
            mine.update(other)


def show(report: Report) -> None:
    """Print the table."""
    print(f"histories                     {report.histories:>8,}")
    print(f"  on a model that checks      {report.checking:>8,}")
    print(f"  crossing two cliffs         {report.crossed(2):>8,}")
    print(f"requests                      {report.requests:>8,}")
    print(f"  invalid without Cuesta      {report.invalid_without:>8,}")
    print(f"  broken by Cuesta            {len(report.broken):>8,}")
    print(f"  failed                      {report.failed:>8,}")
    print(f"  with which a cliff fell     {report.drops:>8,}")
    print(f"  behind an external cliff    {report.external:>8,}")
    for action, count in sorted(report.actions.items()):
        print(f"  {action:<28}{count:>8,}")
    rarest = min(report.features, key=lambda feature: report.features[feature])
    print(f"rarest feature: {rarest.name.lower()}, in {report.features[rarest]} histories")
    for line in report.broken[:20]:
        print("BROKEN", line)


def main() -> int:
    """Judge and print; 1 if Cuesta made anything invalid."""
    count = int(sys.argv[1])
    wire = sys.argv[2] if len(sys.argv) > 2 else "anthropic"
    strategy = sys.argv[3] if len(sys.argv) > 3 else "cliff"
    started = time.monotonic()
    total = Report()
    batches = [range(n, min(n + BATCH, count)) for n in range(0, count, BATCH)]
    with ProcessPoolExecutor(2) as pool:
        for done, report in enumerate(pool.map(partial(judge, wire, strategy), batches), 1):
            add(total, report)
            print(f"\r{total.histories} of {count} histories", end="", file=sys.stderr, flush=True)
            if done == len(batches):
                print(file=sys.stderr)
    print(f"wire                          {wire:>20}")
    print(f"strategy                      {strategy:>20}")
    show(total)
    print(f"seconds                       {time.monotonic() - started:>8.0f}")
    return 1 if total.broken or total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
