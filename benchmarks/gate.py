"""`python -m benchmarks.gate`: fail where a request costs more CPU than it may.

The CPU of Cuesta's whole process for a steady request, as a ratio to a fixed piece of work in this
process. The work is done by the interpreter, as Cuesta's is, and a slice of it stands behind every
request, so that both meet the same neighbours, clock and cold caches: what slows one down slows
down the other. The middle of many conversations' ratios counts. The limits stand in gate.json.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.client import calling
from benchmarks.conversations import Conversation
from benchmarks.plan import KB, MB, Steady
from benchmarks.servers import CUESTA, House, Server, upstream
from benchmarks.steady import prepare, size_label

_LIMITS = Path(__file__).with_name("gate.json")
_SIZES = (Steady(100 * KB, 12_000, 8, 40), Steady(1 * MB, 32_000, 12, 15))
_FIXED = 4_000
_WORK_BYTES = 60 * KB


class _Work:
    """A fixed piece of work on one conversation: read it, walk through it, hash what it says."""

    def __init__(self) -> None:
        talk = Conversation(1, fixed=_FIXED)
        talk.grow_to(_WORK_BYTES)
        self._body = talk.body()

    def slice_s(self) -> float:
        """Do it once; return the CPU seconds that it took."""
        began = time.process_time()
        sizes: dict[str, int] = {}
        left = [json.loads(self._body)]
        while left:
            value = left.pop()
            if isinstance(value, dict):
                for key, inner in value.items():
                    sizes[key] = sizes.get(key, 0) + 1
                    left.append(inner)
            elif isinstance(value, list):
                left += value
            else:
                for line in str(value).splitlines():
                    digest = hashlib.sha256(line.encode()).hexdigest()
                    sizes[digest[:2]] = sizes.get(digest[:2], 0) + len(line)
        json.dumps(sizes, sort_keys=True)
        return time.process_time() - began


def _ratio(server: Server, steady: Steady, seed: int, work: _Work) -> float:
    """Return the ratio over one new conversation."""
    talk = Conversation(seed, fixed=_FIXED)
    fixed = 0.0
    with calling(server.port) as caller:
        prepare(talk, caller, steady.size)
        before = server.cpu_s()
        for _ in range(steady.requests):
            talk.grow()
            caller.post(talk.body())
            fixed += work.slice_s()
        return (server.cpu_s() - before) / fixed


def main() -> int:
    """Print ratios and limits; return 1 where one is passed."""
    limits = json.loads(_LIMITS.read_text())
    work, passed = _Work(), False
    with tempfile.TemporaryDirectory(prefix="cuesta-gate-") as folder, upstream() as port:
        house = House(Path(folder), Path(), upstream=port)
        for steady in _SIZES:
            label = size_label(steady.size)
            with house.run(CUESTA, steady.threshold) as server:
                found = [_ratio(server, steady, 900 + n, work) for n in range(steady.conversations)]
            ratio, limit = median(found), limits[label]
            word = "ok" if ratio <= limit else "TOO MUCH"
            print(
                f"CPU of a {label} request / reference: {ratio:.2f} "
                f"(from {min(found):.2f} to {max(found):.2f}), limit {limit:.2f}: {word}"
            )
            passed |= ratio > limit
    return int(passed)


if __name__ == "__main__":
    sys.exit(main())
