"""Play conversations through proxies that keep losing everything, and print what was seen.

Usage: python scripts/chaos.py [--conversations N] [--turns N] [--workers N] [--seed N]
       [--json] [--log FILE]
Exit code 1: something happened that must not. Needs Linux.
"""

import argparse
import asyncio
import json
import sys

from cuesta.testing.chaos import Chaos, ChaosError, Report, run


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

    def progress(report: Report) -> None:
        done = f"{report.conversations} of {chaos.conversations} conversations"
        told = f"{report.requests} requests, {report.losses.total()} losses"
        found = f"{len(report.violations)} violations"
        print(f"\r{done}, {told}, {found}", end="", file=sys.stderr, flush=True)

    try:
        report = asyncio.run(run(chaos, progress, lambda line: log and print(line, file=log)))
    except ChaosError as error:
        print(f"\n{error}", file=sys.stderr)
        return 2
    print(file=sys.stderr)
    print(json.dumps(report.to_dict(), indent=2) if as_json else report.table())
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())
