"""Latency and CPU of a steady request: a conversation behind many cliffs, longer by one turn."""

from __future__ import annotations

import gc
from collections import defaultdict
from dataclasses import dataclass
from statistics import mean, median

from benchmarks.client import calling, sizes_out
from benchmarks.conversations import Conversation
from benchmarks.plan import KB, MB, Plan, Steady
from benchmarks.report import Goal, Result, middle, number, percentile, ratios
from benchmarks.servers import CLIFF, CUESTA, DIRECT, House, Server

_STEPS = 24
"""Requests on the way to the size, so that cliffs fall on the way and all code is warm."""
_REACH = {100 * KB: 4.0, 1 * MB: 9.0, 5 * MB: 14.0, 20 * MB: 14.0}
_ALIKE = 0.2


@dataclass(frozen=True, slots=True)
class Sample:
    """One repetition with one proxy.

    Attributes:
        times: Seconds to the first byte.
        cpu_s: CPU seconds a request; 0 without a proxy.
        body: Bytes of the client's bodies, mean.
        out: Bytes that reached the upstream, mean of the last two thirds.
        cliffs: How often a body was smaller than the one before it.
    """

    times: list[float]
    cpu_s: float
    body: float
    out: float
    cliffs: int


def sample(server: Server, upstream: int, steady: Steady, seed: int) -> Sample:
    """Bring a new conversation to its size through a server, then time requests."""
    talk = Conversation(seed)
    sizes_out(upstream)
    gc.disable()
    try:
        with calling(server.port) as caller:
            for step in range(1, _STEPS + 1):
                talk.grow_to(steady.size * step // _STEPS)
                caller.post(talk.body())
            before, times, sent = server.cpu_s(), [], 0
            for _ in range(steady.requests):
                talk.grow()
                body = talk.body()
                sent += len(body)
                times.append(caller.post(body))
    finally:
        gc.enable()
    sizes = sizes_out(upstream)
    cliffs = sum(later < earlier for earlier, later in zip(sizes, sizes[1:], strict=False))
    count = steady.requests
    return Sample(
        times, (server.cpu_s() - before) / count, sent / count, mean(sizes[_STEPS // 3 :]), cliffs
    )


def measure(house: House, plan: Plan) -> Result:
    """Measure all sizes with all proxies."""
    result = Result(
        "Latency and CPU of a steady request",
        (
            "body", "proxy", "p50 ms", "p99 ms", "x cliff", "CPU ms", "CPU ms/MB",
            "KB out", "cliffs seen", "threshold",
        ),
    )  # fmt: skip
    for number_, steady in enumerate(plan.steady):
        found = _repeat(house, plan, steady, 1_000 * (number_ + 1))
        _add(result, steady, found)
    result.notes.append(
        "Time to the first byte of a short JSON answer, one client. `KB out` is the mean body that "
        "reached the upstream. `cliffs seen` are drops between two requests of one repetition; "
        f"{_STEPS} requests lead up to the size, so a large one crosses more than are seen."
    )
    return result


def _repeat(house: House, plan: Plan, steady: Steady, seed: int) -> dict[str, list[Sample]]:
    """Return each proxy's samples; in every repetition another one begins."""
    found: dict[str, list[Sample]] = defaultdict(list)
    names = house.names()
    for repetition in range(plan.repetitions):
        turn = repetition % len(names)
        for name in names[turn:] + names[:turn]:
            with house.run(name, steady.threshold) as server:
                found[name].append(sample(server, house.upstream, steady, seed + repetition))
    return found


def _add(result: Result, steady: Steady, found: dict[str, list[Sample]]) -> None:
    p50 = {name: [median(s.times) for s in samples] for name, samples in found.items()}
    label = size_label(steady.size)
    for name, samples in found.items():
        faster = middle(ratios(p50.get(CLIFF, []), p50[name]))
        cpu = median(s.cpu_s for s in samples) * 1e3
        result.rows.append(
            (
                label,
                name,
                number(median(p50[name]) * 1e3),
                number(median(percentile(s.times, 0.99) for s in samples) * 1e3),
                "-" if faster is None else number(faster),
                "-" if name == DIRECT else number(cpu),
                "-" if name == DIRECT else number(cpu / median(s.body for s in samples) * MB),
                f"{mean(s.out for s in samples) / KB:.0f}",
                "/".join(str(s.cliffs) for s in samples),
                f"{steady.threshold:,}",
            )
        )
    if CUESTA not in found:
        return
    ours = found[CUESTA]
    if steady.size in _REACH:
        gain = middle(ratios(p50.get(CLIFF, []), p50[CUESTA]))
        result.goals.append(
            Goal(f"latency against cliff, {label} (x)", gain, _REACH[steady.size], at_least=True)
        )
    allowed = 1.5 + 1.2 * median(s.body for s in ours) / MB
    cpu = median(s.cpu_s for s in ours) * 1e3
    result.goals.append(Goal(f"CPU of a request, {label} (ms)", cpu, allowed))
    if CLIFF in found:
        alike = mean(s.out for s in ours) / mean(s.out for s in found[CLIFF])
        if not 1 - _ALIKE <= alike <= 1 + _ALIKE:
            result.notes.append(
                f"**{label}: Cuesta sent {alike:.2f} times cliff's bytes, which is not within "
                f"{_ALIKE:.0%}.**"
            )


def size_label(size: int) -> str:
    """Return a size in words."""
    return f"{size // MB} MB" if size >= MB else f"{size // KB} KB"
