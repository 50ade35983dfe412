"""How answers go over the wire: headers, compression, events, and what goes wrong on command."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from aiohttp import web

from cuesta.testing.simulator.canon import Json, dump
from cuesta.testing.simulator.encodings import IDENTITY, Encoder, accepted, encoder
from cuesta.testing.simulator.failures import Failure

if TYPE_CHECKING:
    from cuesta.testing.simulator.calls import Call
    from cuesta.testing.simulator.refusals import Refusal
    from cuesta.testing.simulator.wires import Answer, Wire


@dataclass(frozen=True, slots=True)
class Asked:
    """One HTTP request.

    Attributes:
        http: The request as the server has it.
        call: The request as the log has it.
        wire: The wire that it is on.
        number: Its place in the log, from 1.
    """

    http: web.Request
    call: Call
    wire: Wire
    number: int


class Replies:
    """Sends answers.

    Args:
        encoding: `auto`, a name of `ENCODINGS`, or `identity`.
    """

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._ids = count(1)
        self._turn = count()

    async def refuse(self, asked: Asked, refusal: Refusal) -> web.StreamResponse:
        """Send a refusal."""
        asked.call.refusal = refusal
        name = self._next_id()
        return await self._whole(
            asked, refusal.body(name), asked.wire.headers(name), refusal.status
        )

    async def fail(self, asked: Asked, failure: Failure) -> web.StreamResponse:
        """Send an error on command."""
        name = self._next_id()
        headers = asked.wire.headers(name)
        if failure.retry_after is not None:
            headers["retry-after"] = f"{failure.retry_after:g}"
        body = asked.wire.failure(failure, name)
        return await self._whole(asked, body, headers, failure.code)

    async def json(self, asked: Asked, value: Json, status: int = 200) -> web.StreamResponse:
        """Send a JSON value."""
        return await self._whole(asked, value, asked.wire.headers(self._next_id()), status)

    async def answer(self, asked: Asked, answer: Answer, failure: Failure) -> web.StreamResponse:
        """Send the model's answer, as a stream where the request asks for one."""
        try:
            if asked.call.stream:
                return await self._stream(asked, answer, failure)
            if failure.kind == "wait":
                await asyncio.sleep(failure.seconds)
            if failure.kind == "error":
                return await self.fail(asked, failure.at_once(asked.wire.overloaded))
            if failure.kind == "cut":
                return await self._cut_whole(asked, answer)
            return await self.json(asked, answer.whole())
        except (ConnectionError, asyncio.CancelledError):
            asked.call.aborted = True
            raise
        finally:
            asked.call.finished = True

    async def _stream(self, asked: Asked, answer: Answer, failure: Failure) -> web.StreamResponse:
        if failure.kind == "wait" and not failure.after_events:
            await asyncio.sleep(failure.seconds)
        headers = {**asked.wire.headers(self._next_id()), "cache-control": "no-cache"}
        response, body = self._open(asked, headers, 200)
        response.content_type = "text/event-stream"
        response.charset = "utf-8"
        await response.prepare(asked.http)
        for number, event in enumerate(answer.stream()):
            if number == failure.after_events and failure.kind == "cut":
                return _cut(asked.http, response)
            if number == failure.after_events and failure.kind == "error":
                await response.write(body.add(answer.broken(failure)))
                break
            if number == failure.after_events and failure.kind == "wait" and number:
                await asyncio.sleep(failure.seconds)
            await response.write(body.add(event))
        await _finish(response, body)
        return response

    async def _cut_whole(self, asked: Asked, answer: Answer) -> web.StreamResponse:
        response, body = self._open(asked, asked.wire.headers(self._next_id()), 200)
        response.content_type = "application/json"
        await response.prepare(asked.http)
        text = dump(answer.whole()).encode()
        await response.write(body.add(text[: len(text) // 2]))
        return _cut(asked.http, response)

    async def _whole(
        self, asked: Asked, value: Json, headers: dict[str, str], status: int
    ) -> web.StreamResponse:
        response, body = self._open(asked, headers, status)
        response.content_type = "application/json"
        head_only = asked.http.method == "HEAD"
        data = b"" if head_only else body.add(dump(value).encode()) + body.finish()
        response.content_length = len(data)
        asked.call.finished = True
        await response.prepare(asked.http)
        await response.write(data)
        await response.write_eof()
        return response

    def _open(
        self, asked: Asked, headers: dict[str, str], status: int
    ) -> tuple[web.StreamResponse, Encoder]:
        asked.call.status = status
        asked.call.encoding = self._choose(asked.http.headers.get("accept-encoding", ""))
        response = web.StreamResponse(status=status, headers=headers)
        if asked.call.encoding != IDENTITY:
            response.headers["content-encoding"] = asked.call.encoding
        return response, encoder(asked.call.encoding)

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
