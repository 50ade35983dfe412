"""Latency and CPU of a steady request: a conversation behind many cliffs, longer by one turn."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, median

from benchmarks.client import Caller, calling, sizes_out
from benchmarks.conversations import Conversation
from benchmarks.plan import KB, MB, Plan, Steady
from benchmarks.report import Goal, Result, middle, number, percentile, ratios
from benchmarks.servers import CLIFF, CUESTA, DIRECT, House, Server

_STEPS = 24
"""Requests on the way to the size, so that cliffs fall on the way and all code is warm."""
_FIXED = 4_000
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
    """Bring new conversations to their size through a server, then time requests."""
    times: list[float] = []
    cpu, sent, out, cliffs = 0.0, 0, [], 0
    with calling(server.port) as caller:
        for number_ in range(steady.conversations):
            talk = Conversation(100 * seed + number_, fixed=_FIXED, thinking=steady.thinking)
            sizes_out(upstream)
            prepare(talk, caller, steady.size)
            before = server.cpu_s()
            for _ in range(steady.requests):
                talk.grow()
                body = talk.body()
                sent += len(body)
                times.append(caller.post(body))
            cpu += server.cpu_s() - before
            sizes = sizes_out(upstream)
            cliffs += sum(later < earlier for earlier, later in pairwise(sizes))
            out += sizes[len(sizes) // 3 :]
    return Sample(times, cpu / len(times), sent / len(times), mean(out), cliffs)


def prepare(talk: Conversation, caller: Caller, size: int) -> None:
    """Bring a conversation to its size in about `_STEPS` requests."""
    while talk.size < size:
        talk.grow_to(min(size, talk.size + size // _STEPS))
        caller.post(talk.body())


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
        found = _repeat(house, plan, steady, 10_000 * (number_ + 1))
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
    label = size_label(steady.size) + (", thinking" if steady.thinking else "")
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
    if CUESTA in found:
        _judge(result, steady, label, found)


def _judge(result: Result, steady: Steady, label: str, found: dict[str, list[Sample]]) -> None:
    """Add the goals of a size, and say so where the two proxies did not send about as much."""
    ours = found[CUESTA]
    p50 = {name: [median(s.times) for s in samples] for name, samples in found.items()}
    if not steady.thinking and steady.size in _REACH:
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
