"""A long history that arrives for the first time, and what others wait meanwhile."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from statistics import median
from typing import Self

from benchmarks.client import calling
from benchmarks.conversations import Conversation, tiny_body
from benchmarks.plan import MB, Plan
from benchmarks.report import Goal, Result, number
from benchmarks.servers import CLIFF, CUESTA, DIRECT, House, Server
from benchmarks.steady import size_label

_PAUSE_S = 0.002
_REACH_S = 0.35
_WAITS_MS = {20 * MB: 60.0, 64 * MB: 100.0}


class _Other:
    """Another client with a conversation that has just begun, asking every 2 ms."""

    def __init__(self, server: Server, seed: int) -> None:
        self._server = server
        self._body = tiny_body(seed)
        self._stop = threading.Event()
        self._asked = threading.Event()
        self._waits: list[tuple[float, float]] = []
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> Self:
        self._thread.start()
        self._asked.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _ask(self) -> None:
        with calling(self._server.port) as caller:
            while not self._stop.wait(_PAUSE_S):
                began = time.perf_counter()
                self._waits.append((began, caller.post(self._body)))
                self._asked.set()

    def worst(self, began: float, ended: float) -> float:
        """Return the longest wait, in seconds, of a request that was open in this time."""
        return max(
            (wait for at, wait in self._waits if at < ended and at + wait > began), default=0.0
        )


def measure(house: House, plan: Plan) -> Result:
    """Measure all proxies; each history is one that nobody has seen."""
    alone: dict[str, list[float]] = defaultdict(list)
    waits: dict[tuple[str, int], list[float]] = defaultdict(list)
    for repetition in range(plan.repetitions):
        seed = 7_000_000 + 100 * repetition
        first = _history(seed, plan.attach_size)
        others = [(size, _history(seed + n, size)) for n, size in enumerate(plan.stall_sizes, 1)]
        for name in house.names():
            with house.run(name) as server, calling(server.port) as caller:
                alone[name].append(caller.post(first))
                for size, body in others:
                    waits[name, size].append(_wait(server, body, seed))
    return _result(house, plan, alone, waits)


def _history(seed: int, size: int) -> bytes:
    talk = Conversation(seed)
    talk.grow_to(size)
    return talk.body()


def _wait(server: Server, body: bytes, seed: int) -> float:
    """Return the longest wait of another client while a history arrives, in seconds."""
    with calling(server.port) as caller, _Other(server, seed) as other:
        began = time.perf_counter()
        caller.post(body)
        ended = time.perf_counter()
    return other.worst(began, ended)


def _result(
    house: House,
    plan: Plan,
    alone: dict[str, list[float]],
    waits: dict[tuple[str, int], list[float]],
) -> Result:
    label = size_label(plan.attach_size)
    labels = [size_label(size) for size in plan.stall_sizes]
    result = Result(
        f"A {label} history arriving for the first time",
        ("proxy", "first byte ms", *(f"another's worst wait, {size} (ms)" for size in labels)),
    )
    for name in house.names():
        worst = [number(median(waits[name, size]) * 1e3) for size in plan.stall_sizes]
        result.rows.append((name, number(median(alone[name]) * 1e3), *worst))
    if CUESTA in alone:
        what = f"a {label} history for the first time (s)"
        result.goals.append(Goal(what, median(alone[CUESTA]), _REACH_S))
        for size, name in zip(plan.stall_sizes, labels, strict=True):
            worst_ms = median(waits[CUESTA, size]) * 1e3
            limit = _WAITS_MS.get(size, 60.0)
            result.goals.append(
                Goal(f"another client's wait meanwhile, {name} (ms)", worst_ms, limit)
            )
    missing = [name for name in (DIRECT, CLIFF) if name not in alone]
    if missing:
        result.notes.append(f"Not measured: {', '.join(missing)}.")
    result.notes.append(
        f"A fresh process at threshold 32,000. The wait is the longest of a client that asks every "
        f"{_PAUSE_S * 1e3:.0f} ms, from another history's first byte sent to its answer's first."
    )
    return result
