"""The whole run: three providers that bill differently, each behind a proxy in its own weather."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random

from aiohttp import ClientSession, TCPConnector

from cuesta.testing.chaos.asks import Ask
from cuesta.testing.chaos.clients import Cast, Scene, play
from cuesta.testing.chaos.provider import Provider
from cuesta.testing.chaos.proxies import ChaosError, ProxyProcess
from cuesta.testing.chaos.report import Report
from cuesta.testing.chaos.weather import Weather
from cuesta.testing.histories import WireName
from cuesta.testing.simulator import Conditions

_LOSSES = 40
_LEAST = 8
_CHECKING, _PLAIN = "claude-opus-5-5", "claude-sonnet-4-5"
_ROLES: tuple[tuple[WireName, str | None], ...] = (
    ("anthropic", _CHECKING),
    ("openai_chat", None),
    ("anthropic", _PLAIN),
    ("openai_responses", None),
)


@dataclass(frozen=True, slots=True)
class _Stage:
    """One provider and one proxy.

    Attributes:
        bill_factor: What it bills of the simulator's own count.
        threshold: The proxy's, in tokens; 0: automatic.
        window: The provider's, in tokens as billed.
        scale: How long tool results are.
    """

    bill_factor: float
    threshold: int
    window: int
    scale: float


_STAGES = (
    _Stage(bill_factor=0.7, threshold=6_000, window=25_000, scale=1.0),
    _Stage(bill_factor=1.5, threshold=8_000, window=50_000, scale=1.0),
    _Stage(bill_factor=1.0, threshold=0, window=150_000, scale=3.0),
)


@dataclass(frozen=True, slots=True)
class Chaos:
    """How much of it.

    What clients and models say follows from the seed; where in a request a kill falls does not
    altogether, as it depends on the machine.

    Attributes:
        seed: Makes conversations and weather.
        conversations: How many.
        turns: Of each.
        workers: Processes that each proxy serves with.
        at_once: How many conversations are played side by side.
    """

    seed: int = 1
    conversations: int = 60
    turns: int = 300
    workers: int = 1
    at_once: int = 6


async def run(
    chaos: Chaos,
    progress: Callable[[Report], None] = lambda _: None,
    log: Callable[[str], None] = lambda _: None,
) -> Report:
    """Play all conversations and return what was seen.

    Args:
        chaos: How much.
        progress: Called after each conversation.
        log: Called with a line for each attempt of each request.

    Raises:
        ChaosError: If the run itself cannot go on.
    """
    report, begun = Report(), time.monotonic()
    async with AsyncExitStack() as opened:
        folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="cuesta-chaos-"))
        session = await opened.enter_async_context(ClientSession(connector=TCPConnector(limit=0)))
        scenes = [
            await _scene(chaos, number, report, (Path(folder), session, opened), log)
            for number in range(len(_STAGES))
        ]
        try:
            await _play_all(chaos, scenes, progress)
        except* ChaosError as group:
            raise ChaosError("; ".join(_messages(group))) from group
    report.seconds = time.monotonic() - begun
    return report


def _messages(group: BaseExceptionGroup[BaseException]) -> Iterator[str]:
    """Yield what the errors in a group say, however deep they are."""
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _messages(error)
        else:
            yield str(error)


async def _play_all(chaos: Chaos, scenes: list[Scene], progress: Callable[[Report], None]) -> None:
    casts = [_cast(chaos, number) for number in range(chaos.conversations)]
    places = asyncio.Semaphore(chaos.at_once)

    async def one(number: int, cast: Cast) -> None:
        async with places:
            scene = scenes[number % len(scenes)]
            await play(cast, scene)
            progress(scene.report)

    async with asyncio.TaskGroup() as weather:
        storms = [weather.create_task(scene.weather.run()) for scene in scenes]
        async with asyncio.TaskGroup() as group:
            for number, cast in enumerate(casts):
                group.create_task(one(number, cast))
        for storm in storms:
            storm.cancel()


async def _scene(
    chaos: Chaos,
    number: int,
    report: Report,
    around: tuple[Path, ClientSession, AsyncExitStack],
    log: Callable[[str], None],
) -> Scene:
    folder, session, opened = around
    stage = _STAGES[number]
    here = folder / f"proxy-{number}"
    here.mkdir()
    conditions = Conditions(window=stage.window, bill_factor=stage.bill_factor)
    dice = Random(f"{chaos.seed} weather {number}")  # noqa: S311 - reproducible, not secret
    every = max(_LEAST, chaos.conversations * chaos.turns // len(_STAGES) // _LOSSES)

    async def pause(ask: Ask) -> None:
        await weather.pause(ask)

    provider = Provider(conditions, pause)
    await provider.start()
    opened.push_async_callback(provider.stop)
    proxy = ProxyProcess(here, provider.url, stage.threshold, chaos.workers)
    weather = Weather(proxy, dice, every, report, log)
    return Scene(provider, proxy, weather, report, session, stage.scale, log)


def _cast(chaos: Chaos, number: int) -> Cast:
    """Return a conversation; every wire, and both kinds of models, meet every stage."""
    wire, model = _ROLES[number % len(_ROLES)]
    return Cast(chaos.seed * 10_000 + number, wire, model, chaos.turns)
