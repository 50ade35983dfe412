"""The simulator as an HTTP server on loopback."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Self, TypedDict, Unpack

from aiohttp import web

from cuesta.testing.simulator.answers import Answer, content_of, output_tokens, stop_reason
from cuesta.testing.simulator.cache import PrefixCache
from cuesta.testing.simulator.calls import Call, Histories, without_secrets
from cuesta.testing.simulator.encodings import decode
from cuesta.testing.simulator.failures import Failure
from cuesta.testing.simulator.judge import Conditions, Judge, Verdict
from cuesta.testing.simulator.refusals import SOURCES, Refusal, refuse
from cuesta.testing.simulator.replies import Replies
from cuesta.testing.simulator.script import Place, Places, Script, Step, side_step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cuesta.testing.simulator.reading import Request

_MAX_SENT = 64 * 1024 * 1024
_MODELS = ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-sonnet-4-5")
_START_TIMEOUT = 30


class SimulatorOptions(TypedDict, total=False):
    """What may be set on a simulator beside its conditions.

    Attributes:
        encoding: `auto`: each answer takes the next encoding that its client allows; or a name of
            `ENCODINGS`, used where the client allows it; or `identity`.
        clock: Returns seconds; cache entries expire by it.
        redact_every: Give out every so many thinking blocks sealed as a whole; 0: none.
    """

    encoding: str
    clock: Callable[[], float]
    redact_every: int


class Simulator:
    """A provider of the Anthropic Messages API that refuses whatever the real one would.

    Use it as an async context manager, by `start` and `stop`, or from plain code by `in_thread`.

    Args:
        script: What the model says.
        conditions: What the provider is like today.
        options: See `SimulatorOptions`.

    Attributes:
        calls: Every HTTP request, in the order of arrival.
        judge: The judge that every request goes through.
    """

    def __init__(
        self,
        script: Script,
        conditions: Conditions | None = None,
        **options: Unpack[SimulatorOptions],
    ) -> None:
        self.calls: list[Call] = []
        self.judge = Judge(conditions)
        clock = options.get("clock", time.monotonic)
        self._script = script
        self._cache = PrefixCache(clock, self.judge.conditions.bill_factor)
        self._replies = Replies(options.get("encoding", "auto"))
        self._redact_every = options.get("redact_every", 0)
        self._thoughts = 0
        self._places = Places()
        self._histories = Histories()
        self._failures: deque[Failure] = deque()
        self._runner: web.AppRunner | None = None
        self._url = ""

    @property
    def url(self) -> str:
        """The base URL, without a slash at its end; empty while it is not started."""
        return self._url

    @property
    def invalid(self) -> int:
        """How many requests were refused by a rule, overflows of the window not counted."""
        return sum(c.refusal is not None and c.refusal.rule != "window" for c in self.calls)

    @property
    def overflows(self) -> int:
        """How many requests did not fit the window."""
        return sum(c.refusal is not None and c.refusal.rule == "window" for c in self.calls)

    def fail_next(self, *failures: Failure) -> None:
        """Let the next calls of a conversation fail, one failure each, in order."""
        self._failures.extend(failures)

    async def start(self) -> None:
        """Listen on a free port of 127.0.0.1."""
        app = web.Application(client_max_size=_MAX_SENT)
        app.router.add_post("/v1/messages", self._messages)
        app.router.add_post("/v1/messages/count_tokens", self._count)
        app.router.add_route("*", "/{path:.*}", self._other)
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, auto_decompress=False
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self._url = f"http://{host}:{port}"

    async def stop(self) -> None:
        """Stop listening and drop what is still open."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
            self._url = ""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @contextmanager
    def in_thread(self) -> Iterator[Simulator]:
        """Run in a thread with an event loop of its own while the context lasts."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, name="simulator", daemon=True)
        thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self.start(), loop).result(_START_TIMEOUT)
            try:
                yield self
            finally:
                asyncio.run_coroutine_threadsafe(self.stop(), loop).result(_START_TIMEOUT)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_START_TIMEOUT)
            loop.close()

    async def _messages(self, http: web.Request) -> web.StreamResponse:
        call = self._log(http)
        refusal = _authentication(http) or await _body_of(http, call)
        if refusal is not None:
            return await self._replies.refuse(http, call, refusal)
        verdict = self.judge.verdict(call.raw, call.headers)
        place, step = self._begin(call, verdict)
        if verdict.refusal is not None or verdict.request is None:
            return await self._replies.refuse(http, call, verdict.refusal or _UNREADABLE)
        failure = self._failures.popleft() if self._failures and not call.side else Failure()
        if failure.breaks:
            self._places.failed(place, verdict.request.prefix.state)
        if failure.code:
            return await self._replies.fail(http, call, failure)
        answer = self._answer(call, verdict, place, step)
        return await self._replies.answer(http, call, answer, failure)

    async def _count(self, http: web.Request) -> web.StreamResponse:
        call = self._log(http)
        refusal = _authentication(http) or await _body_of(http, call)
        if refusal is not None:
            return await self._replies.refuse(http, call, refusal)
        verdict = self.judge.verdict(call.raw, call.headers, counting=True)
        _note(call, verdict)
        if verdict.refusal is not None or verdict.request is None:
            return await self._replies.refuse(http, call, verdict.refusal or _UNREADABLE)
        tokens = self.judge.prompt_tokens(verdict.request)
        return await self._replies.json(http, call, {"input_tokens": tokens})

    async def _other(self, http: web.Request) -> web.StreamResponse:
        call = self._log(http)
        if http.method in {"HEAD", "GET"} and http.path in {"/", "/api/hello"}:
            return await self._replies.json(http, call, {"message": "hello"})
        if http.method == "GET" and http.path == "/v1/models":
            models = [{"type": "model", "id": name, "display_name": name} for name in _MODELS]
            return await self._replies.json(http, call, {"data": models, "has_more": False})
        refusal = Refusal(404, "not_found_error", f"Not Found: {http.path}", "path", "")
        return await self._replies.refuse(http, call, refusal)

    def _log(self, http: web.Request) -> Call:
        headers = without_secrets(http.headers.items())
        call = Call(http.method, http.path, http.query_string, headers)
        self.calls.append(call)
        return call

    def _begin(self, call: Call, verdict: Verdict) -> tuple[Place, Step]:
        """Note what a call asks for, and find its step."""
        _note(call, verdict)
        request = verdict.request
        if request is None or any(m.fault is not None for m in request.messages):
            return Place("", 0), Step()
        beside = side_step(request.body)
        if beside is not None:
            call.side = True
            return Place("", 0), beside
        place = self._places.find(request.body, request.prefix.state)
        call.conversation, call.step = place.conversation, place.step
        self._histories.compare(call, request)
        return place, self._script.next(request.body, place.step)

    def _answer(self, call: Call, verdict: Verdict, place: Place, step: Step) -> Answer:
        request = verdict.request
        if request is None:
            raise RuntimeError("an unreadable request has no answer")
        content = content_of(
            step, place, request, self.judge.signatures, redact=self._redacts(step)
        )
        if not call.side and not step.calls and step.text:
            self._places.said(place, step.text)
        self.judge.keep(request, content)
        call.usage = replace(self._cache.charge(request), output=output_tokens(content))
        call.content = content
        return Answer(
            id=f"msg_sim_{len(self.calls):08d}",
            model=call.model,
            content=content,
            stop_reason=stop_reason(step),
            usage=call.usage,
            transformations=verdict.transformations,
        )

    def _redacts(self, step: Step) -> bool:
        self._thoughts += bool(step.thinking)
        return bool(self._redact_every and step.thinking) and (
            self._thoughts % self._redact_every == 0
        )


_UNREADABLE = refuse("body", "The request body is not valid JSON")


def _note(call: Call, verdict: Verdict) -> None:
    call.transformations = verdict.transformations
    request: Request | None = verdict.request
    if request is not None:
        call.body = request.body
        call.model = str(request.body["model"])
        call.stream = request.body.get("stream") is True


def _authentication(http: web.Request) -> Refusal | None:
    bearer = http.headers.get("authorization", "").lower().startswith("bearer ")
    if http.headers.get("x-api-key") or bearer:
        return None
    message = "x-api-key header is required"
    return Refusal(
        401, "authentication_error", message, "authentication", SOURCES["authentication"]
    )


async def _body_of(http: web.Request, call: Call) -> Refusal | None:
    """Read a request's body into its call, decompressed."""
    sent = await http.read()
    try:
        call.raw = decode(sent, http.headers.get("content-encoding", ""))
    except ValueError as error:
        return refuse("body", f"Could not decompress the request body: {error}")
    return None
