"""Many streams at once: when the first event comes, and how late the others are."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import median

from benchmarks.client import Streamed, stream
from benchmarks.conversations import Conversation
from benchmarks.plan import KB, Plan
from benchmarks.report import Goal, Result, number, percentile
from benchmarks.servers import CUESTA, DIRECT, House


@dataclass(frozen=True, slots=True)
class _Run:
    """A fresh proxy's first set of streams, and the next one."""

    cold: Streamed
    warm: Streamed
    cpu_s: float

    def lag_ms(self, share: float) -> float:
        return percentile(self.warm.lag_s, share) * 1e3


def _run(house: House, plan: Plan, name: str, seed: int) -> _Run:
    talks = [Conversation(seed + n, stream=True) for n in range(plan.streams)]
    with house.run(name) as server:
        seen: list[Streamed] = []
        for _ in range(2):
            for talk in talks:
                talk.grow_to(plan.stream_size) if not seen else talk.grow()
            before = server.cpu_s()
            seen.append(stream(server.port, [talk.body() for talk in talks], plan.events))
        return _Run(seen[0], seen[1], server.cpu_s() - before)


def measure(house: House, plan: Plan) -> Result:
    """Measure all proxies, each time freshly started."""
    runs: dict[str, list[_Run]] = defaultdict(list)
    names = house.names()
    for repetition in range(plan.repetitions):
        turn = repetition % len(names)
        for name in names[turn:] + names[:turn]:
            runs[name].append(_run(house, plan, name, 100_000 * (repetition + 1)))
    result = Result(
        f"{plan.streams} streams of {plan.events} events, {plan.stream_size // KB} KB bodies",
        (
            "proxy", "first event cold p50 ms", "warm p50 ms", "warm p99 ms",
            "lag p50 ms", "lag p99 ms", "CPU s, warm",
        ),
    )  # fmt: skip
    for name, all_of in runs.items():
        result.rows.append(
            (
                name,
                number(_first(all_of, cold=True)),
                number(_first(all_of)),
                number(median(percentile(run.warm.first_s, 0.99) for run in all_of) * 1e3),
                number(median(run.lag_ms(0.5) for run in all_of)),
                number(median(run.lag_ms(0.99) for run in all_of)),
                "-" if name == DIRECT else number(median(run.cpu_s for run in all_of)),
            )
        )
    if CUESTA in runs:
        result.goals += _goals(plan, runs)
    result.notes.append(
        "All streams are asked for at once; events leave the upstream 10 ms apart with the time "
        "inside. Cold: the first streams of a fresh process, whose conversations it has not seen. "
        "Warm: the same conversations one turn later. Added lag is Cuesta's lag less direct's."
    )
    return result


def _first(runs: list[_Run], *, cold: bool = False) -> float:
    return median(median((run.cold if cold else run.warm).first_s) for run in runs) * 1e3


def _goals(plan: Plan, runs: dict[str, list[_Run]]) -> list[Goal]:
    ours, direct = runs[CUESTA], runs.get(DIRECT, [])
    count = plan.streams
    goals = [
        Goal(f"{count} streams, first event p50, warm (ms)", _first(ours), 100),
        Goal(f"{count} streams, first event p50, cold (ms)", _first(ours, cold=True), 150),
    ]
    for share, limit in ((0.5, 1.0), (0.99, 15.0)):
        added = [a.lag_ms(share) - b.lag_ms(share) for a, b in zip(ours, direct, strict=False)]
        goals.append(
            Goal(
                f"{count} streams, added lag p{share * 100:.0f} (ms)",
                median(added) if added else None,
                limit,
            )
        )
    return goals
