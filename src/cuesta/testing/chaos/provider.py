"""The provider: strict judges behind HTTP, with the clients' own model, and a record of it all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Protocol

from aiohttp import web

from cuesta.core.usage import Usage
from cuesta.testing.chaos.asks import HEADER, Ask, Form, Talk
from cuesta.testing.chaos.prints import Print
from cuesta.testing.simulator import Conditions, Verdict
from cuesta.testing.simulator.answers import Answer
from cuesta.testing.simulator.canon import dump
from cuesta.testing.simulator.chat.answers import ChatAnswer
from cuesta.testing.simulator.encodings import decode
from cuesta.testing.simulator.refusals import Refusal
from cuesta.testing.simulator.responses.answers import ResponsesAnswer

_MAX_SENT = 64 << 20
_PIECES = 6
_OUTPUT = 50
_OVERLOADED = {
    "type": "error",
    "error": {"type": "overloaded_error", "message": "The answer is lost"},
}
SCRIPTED = "scripted overflow"
"""The name of the refusals that are no fault of what was sent."""


class _Spoken(Protocol):
    """An answer of any wire."""

    def whole(self) -> dict[str, Any]: ...

    def stream(self) -> Any: ...  # noqa: ANN401 - an iterator of bytes


class Provider:
    """Answers the requests that it is told to expect, as `Simulator` would, and keeps no bodies.

    Args:
        conditions: What the provider is like.
        pause: Awaited in the middle of each stream; a test breaks something there.

    Attributes:
        conditions: What the provider is like.
        url: Its address; empty before the start.
        fault: A mistake of its own, which says nothing about the proxy.
    """

    def __init__(self, conditions: Conditions, pause: Callable[[Ask], Awaitable[None]]) -> None:
        self.conditions = conditions
        self.url = ""
        self.fault: Exception | None = None
        self._pause = pause
        self._expected: dict[str, tuple[Talk, Ask]] = {}
        self._runner: web.AppRunner | None = None
        self._number = 0

    def expect(self, talk: Talk, ask: Ask) -> None:
        """Be ready for a request; the one before of the same talk is over."""
        self._expected[talk.name] = (talk, ask)

    def forget(self, talk: Talk) -> None:
        """Expect nothing more of a talk."""
        self._expected.pop(talk.name, None)

    async def start(self) -> None:
        """Listen on a free port of 127.0.0.1."""
        app = web.Application(client_max_size=_MAX_SENT)
        app.router.add_post("/{path:.*}", self._ask)
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, auto_decompress=False
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"

    async def stop(self) -> None:
        """Stop listening."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _ask(self, http: web.Request) -> web.StreamResponse:
        try:
            return await self._judged(http)
        except Exception as error:
            self.fault = error
            raise

    async def _judged(self, http: web.Request) -> web.StreamResponse:
        name, _, attempt = http.headers.get(HEADER, "").rpartition(".")
        talk, ask = self._expected.get(name.rpartition(".")[0], (None, None))
        if talk is None or ask is None or ask.name != name:
            return web.json_response({"error": "nobody waits for this any more"}, status=410)
        raw = decode(await http.read(), http.headers.get("content-encoding", ""))
        verdict, rule = self._verdict(talk, ask, raw, tuple(http.headers.items()))
        request = verdict.request
        shown = Print(talk.wire, request.body if request is not None else {})
        ask.forms.append(Form(int(attempt), shown, rule))
        if verdict.refusal is not None or request is None:
            return _refuse(verdict.refusal, name)
        content = talk.answer(ask, request)
        tokens = talk.judge.prompt_tokens(request)
        if ask.kind == "count_tokens":
            return web.json_response({"input_tokens": tokens})
        if not content:
            return web.json_response(_OVERLOADED, status=529)
        self._number += 1
        usage = Usage(input=tokens, output=_OUTPUT)
        answer = _answer(talk, ask, verdict, (self._number, usage))
        if request.body.get("stream") is True:
            return await self._stream(http, ask, answer)
        text = dump(answer.whole()).encode()
        ask.relayed = blake2b(text).digest()
        return web.Response(body=text, content_type="application/json")

    def _verdict(
        self, talk: Talk, ask: Ask, raw: bytes, headers: tuple[tuple[str, str], ...]
    ) -> tuple[Verdict[Any], str]:
        """Judge a form, and name what refuses it; at times the window is too small for the first.

        The window never refuses what was answered already, in an answer that broke off.
        """
        counting = ask.kind == "count_tokens"
        verdict = talk.judge.verdict(raw, headers, counting=counting or bool(ask.content))
        if verdict.refusal is not None:
            return verdict, verdict.refusal.rule
        if not ask.overflows or ask.forms or verdict.request is None:
            return verdict, ""
        tokens = talk.judge.prompt_tokens(verdict.request)
        judge: Any = talk.judge
        judge.conditions = replace(self.conditions, window=tokens - 1)
        try:
            return talk.judge.verdict(raw, headers), SCRIPTED
        finally:
            judge.conditions = self.conditions

    async def _stream(self, http: web.Request, ask: Ask, answer: _Spoken) -> web.StreamResponse:
        events = list(answer.stream())
        step = max(1, len(events) // _PIECES)
        pieces = [b"".join(events[n : n + step]) for n in range(0, len(events), step)]
        ask.relayed = blake2b(b"".join(pieces)).digest()
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        with suppress(ConnectionError):  # whoever asked is gone, and asks again
            await response.prepare(http)
            for number, piece in enumerate(pieces):
                if number == len(pieces) // 2:
                    await self._pause(ask)
                await response.write(piece)
            await response.write_eof()
        return response


def _refuse(refusal: Refusal | None, name: str) -> web.Response:
    if refusal is None:
        return web.json_response({"error": "nothing to read"}, status=400)
    return web.json_response(refusal.body(name), status=refusal.status)


def _answer(talk: Talk, ask: Ask, verdict: Verdict[Any], billed: tuple[int, Usage]) -> _Spoken:
    """Put an answer's content into the words of its wire."""
    number, usage = billed
    request: Any = verdict.request
    content, body = ask.content or [], request.body
    if talk.wire == "anthropic":
        calls = any(block["type"] == "tool_use" for block in content)
        return Answer(
            id=f"msg_chaos_{number:08d}",
            model=body["model"],
            content=content,
            stop_reason="tool_use" if calls else "end_turn",
            usage=usage,
            transformations=verdict.transformations,
        )
    if talk.wire == "openai_chat":
        return ChatAnswer(
            number=number,
            model=body["model"],
            message=content[0],
            finish_reason="stop",
            usage=usage,
            reasoning_tokens=0,
            tells_usage=True,
        )
    compacts = ask.path.partition("?")[0].endswith("/compact")
    return ResponsesAnswer(
        number=number,
        body={"model": body["model"]},
        content=content,
        stop_reason=None,
        usage=usage,
        reasoning_tokens=0,
        kind="response.compaction" if compacts else "response",
    )
