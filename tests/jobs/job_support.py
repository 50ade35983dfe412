"""Tasks for workers, which find them by this module's name, and a run in a process of its own."""

import hashlib
import json
import os
import signal
import sys
from pathlib import Path

from cuesta.jobs.executors import LocalPool
from cuesta.jobs.records import Records
from cuesta.jobs.run import run

IDENTITY = {"what": "squares", "rounds": 1}
TASKS = {f"task-{number}": number for number in range(40)}


def square(number):
    return number * number


def pid(_):
    return os.getpid()


def spin(number):
    """Keep a core busy for a while; the result tells of every round."""
    digest = str(number).encode()
    for _ in range(30_000):
        digest = hashlib.sha256(digest).digest()
    return {"number": number, "digest": digest.hex()}


def stumble(number):
    if number == 3:
        raise ValueError("three is too many")
    return number


def die(number):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def unpicklable(_):
    return lambda: None


def endless(path):
    """Tell that it runs, and run on."""
    Path(path).write_text(str(os.getpid()))
    while True:
        hashlib.sha256(b"x" * 100_000).digest()


def children(pid):
    """Return the processes that a process has started."""
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def main(folder):
    """Run all tasks in two processes."""
    with Records(Path(folder), IDENTITY) as records:
        outcome = run(spin, TASKS, records, LocalPool(2))
    print(json.dumps([outcome.done, outcome.total]))  # noqa: T201 - the test reads it


if __name__ == "__main__":
    main(sys.argv[1])
