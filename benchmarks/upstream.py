"""A provider that costs almost nothing: reads bodies without looking, answers with fixed bytes.

`python -m benchmarks.upstream` prints its port and serves until its standard input ends.

- `POST` anything: a short JSON message; with `?sse=N` in the query a stream of N events, 10 ms
  apart, each with `at=NANOSECONDS!` of the monotonic clock inside.
- `GET /-/sizes`: sizes of the bodies since the last time, in bytes, as a JSON list.
- `GET /-/last`: the last body; needs `--keep`.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from typing import cast

import uvloop

EVERY_S = 0.01
"""Seconds between two events of a stream."""

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_STREAM = re.compile(rb"[?&]sse=(\d+)")
_USAGE = (
    '"usage":{"input_tokens":10,"cache_read_input_tokens":20000,'
    '"cache_creation_input_tokens":900,"output_tokens":190}'
)
_MESSAGE = (
    '{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-5",'
    '"content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn",' + _USAGE + "}"
)
_STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
)


def _answer(body: bytes, status: str = "200 OK") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


_JSON = _answer(_MESSAGE.encode())


def _event(name: str, data: str) -> bytes:
    text = f'event: {name}\ndata: {{"type":"{name}",{data}}}\n\n'.encode()
    return b"%x\r\n%s\r\n" % (len(text), text)


def _stamp() -> str:
    return f"at={time.monotonic_ns()}!"


class _Provider(asyncio.Protocol):
    """One connection; requests come one after another."""

    sizes: list[int]
    keep = False
    last: list[bytes]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)
        self._head = b""
        self._left = 0
        self._streaming = 0
        self._pieces: list[bytes] = []

    def data_received(self, data: bytes) -> None:
        if not self._left:
            self._head += data
            head, end, data = self._head.partition(b"\r\n\r\n")
            if not end:
                return
            self._head = b""
            self._begin(head)
        if self._keeps:
            self._pieces.append(data)
        self._left -= len(data)
        if not self._left:
            self._end()

    def _begin(self, head: bytes) -> None:
        line = head.partition(b"\r\n")[0]
        length = _LENGTH.search(head)
        stream = _STREAM.search(line)
        self._line = line
        self._left = int(length[1]) if length else 0
        self._streaming = int(stream[1]) if stream else 0
        self._keeps = self.keep
        if line.startswith(b"POST"):
            self.sizes.append(self._left)

    def _end(self) -> None:
        cls = type(self)
        if self._line.startswith(b"POST"):
            if self._keeps:
                cls.last, self._pieces = self._pieces, []
            if self._streaming:
                self._stream()
            else:
                self._transport.write(_JSON)
        elif b"/-/sizes" in self._line:
            self._transport.write(_answer(json.dumps(cls.sizes).encode()))
            cls.sizes.clear()
        elif b"/-/last" in self._line:
            self._pieces = []
            self._transport.write(_answer(b"".join(cls.last)))
        else:
            self._transport.write(_answer(b"null", "404 Not Found"))

    def _stream(self) -> None:
        message = f'"message":{{"id":"{_stamp()}","role":"assistant",{_USAGE}}}'
        self._transport.write(_STREAM_HEAD + _event("message_start", message))
        loop = asyncio.get_running_loop()
        loop.call_later(EVERY_S, self._next, loop, loop.time(), 1)

    def _next(self, loop: asyncio.AbstractEventLoop, began: float, number: int) -> None:
        if self._transport.is_closing():
            return
        delta = f'"index":0,"delta":{{"type":"text_delta","text":"{_stamp()}"}}'
        self._transport.write(_event("content_block_delta", delta))
        if number < self._streaming:
            loop.call_at(began + (number + 1) * EVERY_S, self._next, loop, began, number + 1)
            return
        ended = '"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":190}'
        end = _event("message_delta", ended) + _event("message_stop", '"ok":true')
        self._transport.write(end + b"0\r\n\r\n")


async def _serve() -> None:
    _Provider.sizes, _Provider.last = [], []
    _Provider.keep = "--keep" in sys.argv
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Provider, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve())
