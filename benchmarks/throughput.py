"""Requests a second with many conversations at once."""

from __future__ import annotations

from collections import defaultdict
from statistics import median

from benchmarks.client import calling, load, sizes_out
from benchmarks.conversations import steady_bodies
from benchmarks.plan import KB, Plan
from benchmarks.report import Goal, Result, middle, number, ratios
from benchmarks.servers import CLIFF, CUESTA, DIRECT, House

_TWO = "cuesta, 2 workers"


def measure(house: House, plan: Plan) -> Result:
    """Measure all proxies, and Cuesta with two workers."""
    rates: dict[str, list[float]] = defaultdict(list)
    cpus: dict[str, list[float]] = defaultdict(list)
    outs: dict[str, list[float]] = defaultdict(list)
    names = house.names()
    columns = [*names, _TWO] if CUESTA in names else names
    for repetition in range(plan.repetitions):
        turn = repetition % len(columns)
        for column in columns[turn:] + columns[:turn]:
            name, workers = (CUESTA, 2) if column == _TWO else (column, 1)
            seeds = range(10_000 * (repetition + 1), 10_000 * (repetition + 1) + plan.conversations)
            bodies = [steady_bodies(seed, plan.conversation_size) for seed in seeds]
            with house.run(name, workers=workers) as server:
                with calling(server.port) as caller:
                    for body in bodies:
                        caller.post(*body())
                load(server.port, bodies, plan.window_s / 4)
                sizes_out(house.upstream)
                before = server.cpu_s()
                rate = load(server.port, bodies, plan.window_s)
                sizes = sizes_out(house.upstream)
                cpus[column].append((server.cpu_s() - before) / len(sizes) * 1e3)
            rates[column].append(rate)
            outs[column].append(sum(sizes) / len(sizes))
    return _result(plan, rates, cpus, outs)


def _result(
    plan: Plan,
    rates: dict[str, list[float]],
    cpus: dict[str, list[float]],
    outs: dict[str, list[float]],
) -> Result:
    count = plan.conversations
    result = Result(
        f"Requests a second, {plan.conversation_size // KB} KB bodies, {count} conversations",
        ("proxy", "requests/s", "x cliff", "CPU ms a request", "KB out"),
    )
    for column, values in rates.items():
        gain = middle(ratios(values, rates.get(CLIFF, [])))
        result.rows.append(
            (
                column,
                number(median(values)),
                "-" if gain is None else number(gain),
                "-" if column == DIRECT else number(median(cpus[column])),
                f"{median(outs[column]) / KB:.0f}",
            )
        )
    if CUESTA in rates:
        gain = middle(ratios(rates[CUESTA], rates.get(CLIFF, [])))
        result.goals.append(
            Goal(f"requests a second against cliff, {count} at once (x)", gain, 12.0, at_least=True)
        )
        two = middle(ratios(rates[_TWO], rates[CUESTA]))
        result.goals.append(
            Goal("two workers against one, requests a second (x)", two, 1.25, at_least=True)
        )
    result.notes.append(
        "Client and upstream share the machine's cores with the proxy: on two cores a second "
        "worker can gain little."
    )
    return result
