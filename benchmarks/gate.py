"""`python -m benchmarks.gate`: fail where a request costs more CPU than it may.

The CPU of Cuesta's whole process for a steady request, as a ratio to a fixed piece of work in this
process on a body of the same size: `json.loads` and SHA-256. Both are CPU time, taken in turns, so
neither a slow nor a busy machine changes the ratio much. The limits stand in gate.json.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.conversations import steady_bodies
from benchmarks.plan import KB, MB, Steady
from benchmarks.servers import CUESTA, House, upstream
from benchmarks.steady import sample, size_label

_LIMITS = Path(__file__).with_name("gate.json")
_SIZES = (Steady(100 * KB, 12_000, 8, 8), Steady(1 * MB, 32_000, 20))
_ROUNDS = 20
_REFERENCE_BYTES = 10 * MB


def _reference_s(size: int) -> float:
    """Return the CPU seconds of the fixed work on one body."""
    following = steady_bodies(1, size)
    bodies = [b"".join(following()) for _ in range(_REFERENCE_BYTES // size)]
    began = time.process_time()
    for body in bodies:
        json.loads(body)
        hashlib.sha256(body).hexdigest()
    return (time.process_time() - began) / len(bodies)


def _ratio(house: House, steady: Steady) -> float:
    """Return the ratio of the least CPU times of several rounds: what disturbs only adds."""
    ours, fixed = [], []
    with house.run(CUESTA, steady.threshold) as server:
        for round_ in range(_ROUNDS):
            ours.append(sample(server, house.upstream, steady, 900 + round_).cpu_s)
            fixed.append(_reference_s(steady.size))
    return min(ours) / min(fixed)


def main() -> int:
    """Print ratios and limits; return 1 where one is passed."""
    limits = json.loads(_LIMITS.read_text())
    passed = False
    with tempfile.TemporaryDirectory(prefix="cuesta-gate-") as folder, upstream() as port:
        house = House(Path(folder), Path(), upstream=port)
        for steady in _SIZES:
            label = size_label(steady.size)
            ratio, limit = _ratio(house, steady), limits[label]
            word = "ok" if ratio <= limit else "TOO MUCH"
            print(f"CPU of a {label} request / reference: {ratio:.2f}, limit {limit:.2f}: {word}")
            passed |= ratio > limit
    return int(passed)


if __name__ == "__main__":
    sys.exit(main())
