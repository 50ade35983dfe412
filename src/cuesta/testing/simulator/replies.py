"""How answers go over the wire: headers, compression, events, and what goes wrong on command."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import TYPE_CHECKING

from aiohttp import web

from cuesta.testing.simulator.answers import Answer, event_bytes
from cuesta.testing.simulator.canon import Json, dump
from cuesta.testing.simulator.encodings import IDENTITY, Encoder, accepted, encoder
from cuesta.testing.simulator.failures import Failure

if TYPE_CHECKING:
    from cuesta.testing.simulator.calls import Call
    from cuesta.testing.simulator.refusals import Refusal

_LIMITS = {
    "anthropic-ratelimit-requests-limit": "4000",
    "anthropic-ratelimit-requests-remaining": "3999",
    "anthropic-ratelimit-requests-reset": "2026-12-01T00:00:00Z",
    "anthropic-ratelimit-tokens-limit": "4000000",
    "anthropic-ratelimit-tokens-remaining": "3999000",
    "anthropic-ratelimit-tokens-reset": "2026-12-01T00:00:00Z",
}


class Replies:
    """Sends answers.

    Args:
        encoding: `auto`, a name of `ENCODINGS`, or `identity`.
    """

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._ids = count(1)
        self._turn = count()

    async def refuse(self, http: web.Request, call: Call, refusal: Refusal) -> web.StreamResponse:
        """Send a refusal."""
        call.refusal = refusal
        name = self._next_id()
        return await self._whole(
            http, call, refusal.body(name), {"request-id": name}, refusal.status
        )

    async def fail(self, http: web.Request, call: Call, failure: Failure) -> web.StreamResponse:
        """Send an error on command."""
        name = self._next_id()
        error = {"type": failure.type, "message": failure.message}
        headers = {"request-id": name}
        if failure.retry_after is not None:
            headers["retry-after"] = f"{failure.retry_after:g}"
        body = {"type": "error", "error": error, "request_id": name}
        return await self._whole(http, call, body, headers, failure.code)

    async def json(self, http: web.Request, call: Call, value: Json) -> web.StreamResponse:
        """Send a JSON value with status 200."""
        return await self._whole(http, call, value, {"request-id": self._next_id()}, 200)

    async def answer(
        self, http: web.Request, call: Call, answer: Answer, failure: Failure
    ) -> web.StreamResponse:
        """Send the model's answer, as a stream where the request asks for one."""
        try:
            if call.stream:
                return await self._stream(http, call, answer, failure)
            if failure.kind == "wait":
                await asyncio.sleep(failure.seconds)
            if failure.kind == "error":
                return await self.fail(http, call, Failure.status(529, failure.message))
            if failure.kind == "cut":
                return await self._cut_whole(http, call, answer)
            return await self.json(http, call, answer.message())
        except (ConnectionError, asyncio.CancelledError):
            call.aborted = True
            raise
        finally:
            call.finished = True

    async def _stream(
        self, http: web.Request, call: Call, answer: Answer, failure: Failure
    ) -> web.StreamResponse:
        if failure.kind == "wait" and not failure.after_events:
            await asyncio.sleep(failure.seconds)
        response, body = self._open(
            http, call, {"request-id": self._next_id(), "cache-control": "no-cache"}, 200
        )
        response.content_type = "text/event-stream"
        response.charset = "utf-8"
        await response.prepare(http)
        for number, event in enumerate(answer.events()):
            if number == failure.after_events and failure.kind == "cut":
                return _cut(http, response)
            if number == failure.after_events and failure.kind == "error":
                error = {"type": failure.type, "message": failure.message}
                await response.write(body.add(event_bytes({"type": "error", "error": error})))
                break
            if number == failure.after_events and failure.kind == "wait" and number:
                await asyncio.sleep(failure.seconds)
            await response.write(body.add(event_bytes(event)))
        await _finish(response, body)
        return response

    async def _cut_whole(self, http: web.Request, call: Call, answer: Answer) -> web.StreamResponse:
        response, body = self._open(http, call, {"request-id": self._next_id()}, 200)
        response.content_type = "application/json"
        await response.prepare(http)
        text = dump(answer.message()).encode()
        await response.write(body.add(text[: len(text) // 2]))
        return _cut(http, response)

    async def _whole(
        self, http: web.Request, call: Call, value: Json, headers: dict[str, str], status: int
    ) -> web.StreamResponse:
        response, body = self._open(http, call, headers, status)
        response.content_type = "application/json"
        data = b"" if http.method == "HEAD" else body.add(dump(value).encode()) + body.finish()
        response.content_length = len(data)
        call.finished = True
        await response.prepare(http)
        await response.write(data)
        await response.write_eof()
        return response

    def _open(
        self, http: web.Request, call: Call, headers: dict[str, str], status: int
    ) -> tuple[web.StreamResponse, Encoder]:
        call.status = status
        call.encoding = self._choose(http.headers.get("accept-encoding", ""))
        response = web.StreamResponse(status=status, headers={**_LIMITS, **headers})
        if call.encoding != IDENTITY:
            response.headers["content-encoding"] = call.encoding
        return response, encoder(call.encoding)

    def _choose(self, header: str) -> str:
        allowed = accepted(header)
        if self._encoding != "auto":
            allowed = [name for name in allowed if name == self._encoding]
        return allowed[next(self._turn) % len(allowed)] if allowed else IDENTITY

    def _next_id(self) -> str:
        return f"req_sim_{next(self._ids):08d}"


async def _finish(response: web.StreamResponse, body: Encoder) -> None:
    end = body.finish()
    if end:
        await response.write(end)
    await response.write_eof()


def _cut(http: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    if http.transport is not None:
        http.transport.close()
    return response
