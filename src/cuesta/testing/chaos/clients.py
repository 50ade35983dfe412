"""Clients that play histories through a proxy over HTTP, and try again as real ones do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from random import Random

from aiohttp import ClientError, ClientSession

from cuesta.testing.chaos.asks import HEADER, Ask, Talk
from cuesta.testing.chaos.bytes_judge import BytesJudge
from cuesta.testing.chaos.notes import Lost, Note
from cuesta.testing.chaos.prints import Print
from cuesta.testing.chaos.provider import SCRIPTED, Provider
from cuesta.testing.chaos.proxies import ChaosError, ProxyProcess
from cuesta.testing.chaos.report import Report
from cuesta.testing.chaos.weather import Weather
from cuesta.testing.histories import ClientHistory, Feature, WireName

_ATTEMPTS = 30
_SECONDS = 60
_ALWAYS = frozenset({
    Feature.PARALLEL_CALLS, Feature.TOOLS_CHANGE, Feature.FORKS, Feature.REWINDS,
    Feature.HUMAN_MESSAGES, Feature.RETRIES, Feature.RESUME,
})  # fmt: skip
_NEVER = frozenset({Feature.ORPHAN_THINKING})
"""Its client sends what is invalid, and does not say so."""
_NEVER_ON_RESPONSES = frozenset({Feature.UNKNOWN_BLOCKS})
"""Likewise: unknown items part reasoning from what follows it."""
_DRAWN = 0.35
_SUBAGENTS = 0.02
_SUBAGENT_TURNS = 12
_KEYS = {"x-api-key": "sk-ant-chaos", "authorization": "Bearer sk-chaos"}


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that a conversation meets: one provider behind one proxy in its weather."""

    provider: Provider
    proxy: ProxyProcess
    weather: Weather
    report: Report
    session: ClientSession
    scale: float
    log: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What reached the client in one attempt.

    Attributes:
        status: The HTTP status; 0 where the answer never came or broke off.
        note: What `x-cuesta` said.
        relayed: The hash of the body.
    """

    status: int
    note: str = ""
    relayed: bytes = b""


@dataclass(frozen=True, slots=True)
class Cast:
    """One conversation to be played.

    Attributes:
        seed: Makes everything in it.
        wire: What it speaks.
        model: The model's name; None: drawn.
        turns: How many.
    """

    seed: int
    wire: WireName
    model: str | None
    turns: int


async def play(cast: Cast, scene: Scene) -> None:
    """Play a conversation to its end, and the sub-agents that it starts on the way.

    Raises:
        ChaosError: If a request is never answered.
    """
    dice = Random(f"{cast.seed} sub-agents")  # noqa: S311 - reproducible, not secret
    with _talk(cast, f"c{cast.seed}", scene) as talk:
        part = _Part(talk, scene)
        while await part.step():
            if dice.random() < _SUBAGENTS:
                await _subagents(cast, scene, dice)
        part.end()
    scene.report.conversations += 1


async def _subagents(cast: Cast, scene: Scene, dice: Random) -> None:
    """Let sub-agents work side by side while the conversation waits."""
    async with asyncio.TaskGroup() as group:
        for _ in range(dice.randint(1, 3)):
            seed = dice.randrange(1 << 30)
            turns = min(_SUBAGENT_TURNS, cast.turns)
            scene.report.subagents += 1
            group.create_task(_subagent(Cast(seed, cast.wire, cast.model, turns), scene))


async def _subagent(cast: Cast, scene: Scene) -> None:
    with _talk(cast, f"s{cast.seed}", scene) as talk:
        part = _Part(talk, scene)
        while await part.step():
            pass
        part.end()


@contextmanager
def _talk(cast: Cast, name: str, scene: Scene) -> Iterator[Talk]:
    talk = Talk(name, _history(cast, scene.scale), scene.provider.conditions)
    try:
        yield talk
    finally:
        scene.provider.forget(talk)


def _history(cast: Cast, scale: float) -> ClientHistory:
    """Make a client that does what the run is about, and a share of all else that clients do."""
    possible = ClientHistory.possible(cast.wire) - _NEVER
    if cast.wire == "openai_responses":
        possible -= _NEVER_ON_RESPONSES
    dice = Random(f"{cast.seed} features")  # noqa: S311 - reproducible, not secret
    drawn = {f for f in Feature if dice.random() < _DRAWN}
    features = frozenset((drawn | _ALWAYS) & possible)
    return ClientHistory(cast.seed, features, cast.model, cast.turns, scale, cast.wire)


def _line(ask: Ask, outcome: Outcome, lost: Lost) -> str:
    """Say what became of one attempt."""
    refused = ", ".join(ask.refusals) or "nothing"
    broken = f", broken by the client: {ask.broken}" if ask.broken else ""
    return (
        f"{ask.label}{broken}; attempt {ask.attempt} after {lost.count} losses, refused so far: "
        f"{refused}; status {outcome.status} [{outcome.note}]"
    )


class _Part:
    """One history on its way through a proxy."""

    def __init__(self, talk: Talk, scene: Scene) -> None:
        self._talk = talk
        self._scene = scene
        self._bytes = BytesJudge(scene.report, checks=talk.checks)

    def end(self) -> None:
        """Count what the whole history tells."""
        self._scene.report.many += self._bytes.cliffs >= 2

    async def step(self) -> bool:
        """Make the next request and see it through; tell whether there was one."""
        ask = self._talk.ask()
        if ask is None:
            return False
        scene = self._scene
        scene.provider.expect(self._talk, ask)
        scene.report.requests += 1
        scene.report.turns += ask.kind != "side"
        client = self._talk.client_print(ask) if ask.kind in {"main", "retry"} else None
        for attempt in range(_ATTEMPTS):
            ask.attempt = attempt
            ask.reading.clear()
            await scene.weather.clear()
            if scene.provider.fault is not None:
                raise ChaosError(f"{ask.label}: {scene.provider.fault!r}")
            lost = scene.weather.lost
            outcome = await self._attempt(ask)
            form = ask.accepted
            if form is not None and client is not None:
                self._bytes.sent(ask, client, form, lost)
            scene.log(_line(ask, outcome, lost))
            if client is not None and (outcome.status == 0 or outcome.status >= 400):
                self._bytes.broke_off(ask, client, Note.read(outcome.note))
            if self._settled(ask, outcome):
                self._finish(ask, client, outcome, lost)
                scene.weather.tick()
                return True
            scene.report.retries += 1
        raise ChaosError(f"{ask.label}: not answered in {_ATTEMPTS} attempts")

    def _settled(self, ask: Ask, outcome: Outcome) -> bool:
        """Tell whether a client would not send the request again."""
        if ask.content == [] and ask.kind != "count_tokens":
            return True
        if outcome.status == 0 or outcome.status >= 500:
            return False
        here = [form.refusal for form in ask.forms if form.attempt == ask.attempt]
        return outcome.status < 400 or not here or here[-1] != SCRIPTED

    def _finish(self, ask: Ask, client: Print | None, outcome: Outcome, lost: Lost) -> None:
        report, note = self._scene.report, Note.read(outcome.note)
        healed = False
        if ask.refusals and ask.accepted is not None:
            healed = self._bytes.first(client or self._talk.client_print(ask), lost)
        for refusal in ask.refusals:
            report.refusals[refusal] += 1
            if refusal in {SCRIPTED, "window"}:
                continue
            report.mistakes += bool(ask.broken)
            report.healed += healed and not ask.broken
            if not ask.broken and not healed:
                report.invalid.append(f"{ask.label}: {refusal} [{outcome.note}]")
        if ask.content == [] and ask.kind != "count_tokens":
            report.lost += 1
            return
        if outcome.status >= 400:
            return
        if ask.relayed and outcome.relayed != ask.relayed:
            report.garbled.append(f"{ask.label}: the answer is not what was sent")
        report.passed += note.action == "pass"
        if client is not None:
            self._bytes.answered(ask, client, note, lost)

    async def _attempt(self, ask: Ask) -> Outcome:
        scene = self._scene
        headers = {
            **ask.headers, **_KEYS,
            HEADER: f"{ask.name}.{ask.attempt}", "accept-encoding": "identity",
        }  # fmt: skip
        url = f"http://127.0.0.1:{scene.proxy.port}{ask.path}"
        status, note = 0, ""
        try:
            async with (
                asyncio.timeout(_SECONDS),
                scene.session.post(url, data=ask.body, headers=headers) as answer,
            ):
                status, note = answer.status, answer.headers.get("x-cuesta", "")
                digest = blake2b()
                async for piece in answer.content.iter_any():
                    ask.reading.set()
                    digest.update(piece)
                return Outcome(status, note, digest.digest())
        except (ClientError, ConnectionError):
            scene.report.cut += status == 200
            return Outcome(0, note)
        except TimeoutError:
            raise ChaosError(f"{ask.label}: no answer in {_SECONDS} s") from None
