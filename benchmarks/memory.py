"""Memory after many conversations, and what each adds."""

from __future__ import annotations

from statistics import linear_regression

from benchmarks.client import calling
from benchmarks.conversations import Conversation
from benchmarks.plan import Plan
from benchmarks.report import Goal, Result, number
from benchmarks.servers import CUESTA, DIRECT, House
from benchmarks.steady import size_label

_LOOKS = 8
_REACH_MB = 80.0


def measure(house: House, plan: Plan) -> Result:
    """Send conversations one after another, two requests each, and watch the resident memory."""
    label = size_label(plan.resident_size)
    result = Result(
        f"Memory: {plan.residents} conversations of {label}, one worker, one after another",
        ("proxy", "idle MB", "after MB", "KB a conversation, fitted"),
    )
    for name in house.names(DIRECT):
        with house.run(name) as server:
            idle = server.rss_mb()
            counts, sizes = [], []
            with calling(server.port) as caller:
                for number_ in range(1, plan.residents + 1):
                    talk = Conversation(3_000_000 + number_)
                    talk.grow_to(plan.resident_size)
                    caller.post(talk.body())
                    talk.grow()
                    caller.post(talk.body())
                    if number_ % max(1, plan.residents // _LOOKS) == 0:
                        counts.append(number_)
                        sizes.append(server.rss_mb())
        slope, _ = linear_regression(counts, sizes)
        result.rows.append((name, number(idle), number(sizes[-1]), f"{slope * 1e3:.0f}"))
        if name == CUESTA:
            what = f"memory after {plan.residents} conversations of {label} (MB)"
            result.goals.append(Goal(what, sizes[-1], _REACH_MB))
    result.notes.append("Resident memory of all processes; nginx has two.")
    return result
