"""Play conversations through proxies that keep losing everything, and print what was seen.

Usage: python scripts/chaos.py [--conversations N] [--turns N] [--workers N] [--seed N]
       [--json] [--log FILE]
A violation names its history: c70003 is conversation 3 of --seed 7, s followed by a number is a
sub-agent's. What is said in it follows from the seed; where a kill falls depends on the machine.
Exit code 1: something happened that must not; 2: the run could not go on. Needs Linux.
"""

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Coroutine

from cuesta.testing.chaos import Chaos, ChaosError, Report, run


async def stoppable(running: Coroutine[None, None, Report]) -> Report:
    """Run until told to stop; the proxies are killed whatever happens."""
    task = asyncio.ensure_future(running)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await task


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("conversations", "turns", "workers", "seed"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Chaos(), name))
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    parser.add_argument("--log", type=argparse.FileType("w"), help="write a line an attempt here")
    given = vars(parser.parse_args())
    as_json, log = given.pop("json"), given.pop("log")
    chaos = Chaos(**given)

    seen = [Report()]

    def progress(report: Report) -> None:
        seen[0] = report
        done = f"{report.conversations} of {chaos.conversations} conversations"
        told = f"{report.requests} requests, {report.losses.total()} losses"
        found = f"{len(report.violations)} violations"
        print(f"\r{done}, {told}, {found}", end="", file=sys.stderr, flush=True)

    running = run(chaos, progress, lambda line: log and print(line, file=log))
    try:
        report = asyncio.run(stoppable(running))
    except ChaosError as error:
        print(f"\n{error}\nUntil then:", file=sys.stderr)
        print(seen[0].table())
        return 2
    print(file=sys.stderr)
    print(json.dumps(report.to_dict(), indent=2) if as_json else report.table())
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())
