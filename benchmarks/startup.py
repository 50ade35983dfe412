"""From starting the process to its first answer."""

from __future__ import annotations

from statistics import median

from benchmarks.plan import Plan
from benchmarks.report import Goal, Result
from benchmarks.servers import CUESTA, DIRECT, House

_REACH_S = 0.35


def measure(house: House, plan: Plan) -> Result:
    """Start each proxy several times."""
    result = Result("Start to first answer", ("proxy", "median s", "fastest s", "slowest s"))
    for name in house.names(DIRECT):
        taken = []
        for _ in range(plan.starts):
            with house.run(name) as server:
                taken.append(server.started_s)
        result.rows.append((name, *(f"{s:.3f}" for s in (median(taken), min(taken), max(taken)))))
        if name == CUESTA:
            result.goals.append(Goal("start to first answer (s)", median(taken), _REACH_S))
    return result
