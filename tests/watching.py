"""Watching other processes: wait for what they do, and see whether they live."""

import time
from pathlib import Path

PATIENCE = 30.0
"""Seconds after which what was waited for is not coming."""


def wait_for(condition):
    """Return what a condition becomes once it is true; fail when it does not in time."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.01)
    return found


def alive(pid):
    """Tell whether a process runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
