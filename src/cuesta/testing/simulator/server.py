"""The simulator as an HTTP server on loopback."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from aiohttp import web

from cuesta.testing.simulator.autocache import AutoCache
from cuesta.testing.simulator.cache import PrefixCache
from cuesta.testing.simulator.calls import Call, Histories, without_secrets
from cuesta.testing.simulator.chat import reading as chat_reading
from cuesta.testing.simulator.chat.judge import ChatJudge
from cuesta.testing.simulator.chat.wire import ChatWire
from cuesta.testing.simulator.encodings import decode
from cuesta.testing.simulator.failures import Failure
from cuesta.testing.simulator.judge import Conditions, Judge
from cuesta.testing.simulator.messages import MessagesWire
from cuesta.testing.simulator.refusals import Refusal, refuse
from cuesta.testing.simulator.replies import Asked, Replies
from cuesta.testing.simulator.responses import reading as responses_reading
from cuesta.testing.simulator.responses.judge import ResponsesJudge
from cuesta.testing.simulator.responses.wire import CompactWire, ResponsesWire
from cuesta.testing.simulator.script import Place, Places, Script, Step
from cuesta.testing.simulator.wires import Answer, Order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cuesta.testing.simulator.judging import Verdict, WireJudge
    from cuesta.testing.simulator.wires import Wire

_MAX_SENT = 64 * 1024 * 1024
_MODELS = ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-sonnet-4-5")
_OPENAI_MODELS = ("gpt-5.5-codex", "gpt-5.5", "gpt-5.5-mini")
_CHAT_PATHS = ("/v1/chat/completions", "/chat/completions")
_RESPONSES_PATHS = ("/v1/responses", "/responses", "/backend-api/codex/responses")
_MODELS_PATHS = ("/v1/models", "/models", "/backend-api/codex/models")
_START_TIMEOUT = 30


class SimulatorOptions(TypedDict, total=False):
    """What may be set on a simulator beside its conditions.

    Attributes:
        encoding: `auto`: each answer takes the next encoding that its client allows; or a name of
            `ENCODINGS`, used where the client allows it; or `identity`.
        clock: Returns seconds; cache entries expire by it.
        redact_every: On Anthropic Messages, give out every so many thinking blocks sealed as a
            whole; 0: none.
        always_usage: Whether a stream of Chat Completions ends with its bill even where nobody
            asked for it.
        toolless_beside: Whether a request without tools is taken for one beside the conversation,
            which is so by default; agents that never send tools need it otherwise.
        upgrade_status: The status that answers a client which asks for a WebSocket; by default 426.
    """

    encoding: str
    clock: Callable[[], float]
    redact_every: int
    always_usage: bool
    toolless_beside: bool
    upgrade_status: int


class Simulator:
    """A provider of three wires that refuses whatever the real ones would.

    It speaks Anthropic Messages, OpenAI Chat Completions and OpenAI Responses on one port. Use it
    as an async context manager, by `start` and `stop`, or from plain code by `in_thread`.

    Args:
        script: What the model says, on every wire.
        conditions: What the provider is like today.
        options: See `SimulatorOptions`.

    Attributes:
        calls: Every HTTP request, in the order of arrival.
        judge: The judge that every request of Anthropic Messages goes through.
        judges: The judges of all wires, by dialect.
    """

    def __init__(
        self,
        script: Script,
        conditions: Conditions | None = None,
        **options: Unpack[SimulatorOptions],
    ) -> None:
        self.calls: list[Call] = []
        self.judge = Judge(conditions)
        self._script = script
        self._replies = Replies(options.get("encoding", "auto"))
        self._upgrade_status = options.get("upgrade_status", 426)
        self._wires = _wires(self.judge, options)
        self.judges: dict[str, WireJudge] = {w.name: w.judge for w in self._wires.values()}
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
        for path, wire in self._wires.items():
            app.router.add_post(path, partial(self._ask, wire=wire))
        for path in ("/v1/messages/count_tokens", "/v1/responses/input_tokens"):
            wire = self._wires[path.rpartition("/")[0]]
            app.router.add_post(path, partial(self._count, wire=wire))
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

    async def _ask(self, http: web.Request, wire: Wire) -> web.StreamResponse:
        asked = self._log(http, wire)
        refusal = wire.locked(http.headers, http.path) or await _body_of(asked)
        if refusal is not None:
            return await self._replies.refuse(asked, refusal)
        verdict = wire.judge.verdict(asked.call.raw, asked.call.headers)
        _note(asked.call, verdict)
        place, step = self._begin(asked, verdict)
        if verdict.refusal is not None or verdict.request is None:
            return await self._replies.refuse(asked, verdict.refusal or _UNREADABLE)
        failures = self._failures
        failure = failures.popleft() if failures and not asked.call.side else Failure()
        if failure.breaks:
            self._places.failed(place, verdict.request.end)
        if failure.code:
            return await self._replies.fail(asked, failure)
        order = Order(
            request=verdict.request,
            step=step,
            place=place,
            number=asked.number,
            transformations=verdict.transformations,
            broken=failure.breaks,
        )
        answer = self._answer(asked, order)
        return await self._replies.answer(asked, answer, failure)

    async def _count(self, http: web.Request, wire: Wire) -> web.StreamResponse:
        asked = self._log(http, wire)
        refusal = wire.locked(http.headers, http.path) or await _body_of(asked)
        if refusal is not None:
            return await self._replies.refuse(asked, refusal)
        verdict = wire.judge.verdict(asked.call.raw, asked.call.headers, counting=True)
        _note(asked.call, verdict)
        if verdict.refusal is not None or verdict.request is None:
            return await self._replies.refuse(asked, verdict.refusal or _UNREADABLE)
        tokens = wire.judge.prompt_tokens(verdict.request)
        return await self._replies.json(asked, wire.counted(tokens))

    async def _other(self, http: web.Request) -> web.StreamResponse:
        wire = self._wires.get(http.path) or self._wires["/v1/messages"]
        asked = self._log(http, wire)
        asked.call.dialect = wire.name if http.path in self._wires else ""
        asked.call.upgrade = http.headers.get("upgrade", "").lower()
        if http.method in {"HEAD", "GET"} and http.path in {"/", "/api/hello"}:
            return await self._replies.json(asked, {"message": "hello"})
        if http.method == "GET" and http.path in _MODELS_PATHS:
            return await self._replies.json(asked, _models(http))
        if asked.call.upgrade and http.path in _RESPONSES_PATHS:
            error = {"message": "WebSockets are not supported", "type": "invalid_request_error"}
            return await self._replies.json(asked, {"error": error}, self._upgrade_status)
        if http.path.startswith("/backend-api/"):
            return await self._replies.json(asked, {"detail": "Not Found"}, 404)
        return await self._replies.refuse(asked, wire.not_found(http.path))

    def _log(self, http: web.Request, wire: Wire) -> Asked:
        headers = without_secrets(http.headers.items())
        call = Call(http.method, http.path, http.query_string, headers, dialect=wire.name)
        self.calls.append(call)
        return Asked(http, call, wire, len(self.calls))

    def _begin(self, asked: Asked, verdict: Verdict[Any]) -> tuple[Place, Step]:
        """Find the step that a call asks for, and note how its prompt goes on."""
        request, call = verdict.request, asked.call
        if request is None or not request.readable:
            return Place("", 0), Step()
        beside = asked.wire.side(request)
        if beside is not None:
            call.side = True
            return Place("", 0), beside
        place = self._places.find(asked.wire.trail(request), request.end)
        call.conversation, call.step = place.conversation, place.step
        self._histories.compare(call, request)
        return place, self._script.next(request.body, place.step)

    def _answer(self, asked: Asked, order: Order) -> Answer:
        step = order.step
        if not asked.call.side and not step.calls and step.text:
            self._places.said(order.place, step.text)
        answer = asked.wire.answer(order)
        asked.call.usage = answer.usage
        asked.call.content = answer.content
        return answer


_UNREADABLE = refuse("body", "The request body is not valid JSON")


def _wires(judge: Judge, options: SimulatorOptions) -> dict[str, Wire]:
    """Return the wire of each path that answers questions."""
    conditions = judge.conditions
    clock, factor = options.get("clock", time.monotonic), conditions.bill_factor
    beside = options.get("toolless_beside", True)
    messages = MessagesWire(
        judge,
        PrefixCache(clock, factor),
        redact_every=options.get("redact_every", 0),
        toolless_beside=beside,
    )
    chat = ChatWire(
        ChatJudge(conditions),
        AutoCache(chat_reading.see, clock, factor),
        always_usage=options.get("always_usage", False),
        toolless_beside=beside,
    )
    judge_of_responses = ResponsesJudge(conditions)
    cache = AutoCache(responses_reading.see, clock, factor)
    responses = ResponsesWire(judge_of_responses, cache, toolless_beside=beside)
    compact = CompactWire(judge_of_responses, cache, toolless_beside=beside)
    return {
        "/v1/messages": messages,
        **dict.fromkeys(_CHAT_PATHS, chat),
        **dict.fromkeys(_RESPONSES_PATHS, responses),
        **dict.fromkeys((f"{path}/compact" for path in _RESPONSES_PATHS), compact),
    }


def _models(http: web.Request) -> dict[str, Any]:
    """Return the list of models in the shape of the provider that is asked."""
    if http.path.startswith("/backend-api/"):
        return {"models": []}
    if "anthropic-version" in http.headers or "authorization" not in http.headers:
        models = [{"type": "model", "id": name, "display_name": name} for name in _MODELS]
        return {"data": models, "has_more": False}
    rows = [{"id": name, "object": "model", "owned_by": "openai"} for name in _OPENAI_MODELS]
    return {"object": "list", "data": rows}


def _note(call: Call, verdict: Verdict[Any]) -> None:
    call.transformations = verdict.transformations
    request = verdict.request
    if request is not None:
        call.body = request.body
        call.model = str(request.body["model"])
        call.stream = request.body.get("stream") is True


async def _body_of(asked: Asked) -> Refusal | None:
    """Read a request's body into its call, decompressed."""
    sent = await asked.http.read()
    try:
        asked.call.raw = decode(sent, asked.http.headers.get("content-encoding", ""))
    except ValueError as error:
        return asked.wire.unreadable(str(error))
    return None
