"""Clients on raw sockets: one that waits, and ones that run side by side."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import re
import socket
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import uvloop

SECONDS = 60
"""How long an answer may take before the run fails."""

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_AT = re.compile(rb"at=(\d+)!")
_OK = b"HTTP/1.1 200"
_END = b"0\r\n\r\n"
_T = TypeVar("_T")


class AnswerError(Exception):
    """An answer was no success, or did not come."""


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Keep this process's garbage collector out of what is timed."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def request(*pieces: bytes, query: str = "") -> list[bytes]:
    """Return a request for the Messages API: its head, and the pieces of its body."""
    head = (
        f"POST /v1/messages{query} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: none\r\n"
        "anthropic-version: 2023-06-01\r\ncontent-type: application/json\r\n"
        f"content-length: {sum(map(len, pieces))}\r\n\r\n"
    )
    return [head.encode(), *pieces]


class Caller:
    """A keep-alive connection that asks and waits."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def post(self, *body: bytes) -> float:
        """Send a body, whole or in pieces; return the seconds to the first byte of the answer.

        Raises:
            AnswerError: If the answer is no success.
        """
        text = b"".join(request(*body))
        with _no_collection():
            began = time.perf_counter()
            self._socket.sendall(text)
            first = self._socket.recv(65536)
            seconds = time.perf_counter() - began
        self._rest(first)
        return seconds

    def get(self, path: str) -> bytes:
        """Fetch a page and return its body."""
        self._socket.sendall(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode())
        return self._rest(self._socket.recv(65536)).partition(b"\r\n\r\n")[2]

    def _rest(self, answer: bytes) -> bytes:
        pieces = bytearray(answer)
        while not _complete(pieces):
            piece = self._socket.recv(1 << 20)
            if not piece:
                raise AnswerError("the connection was closed in the middle of an answer")
            pieces += piece
        if not pieces.startswith(_OK):
            raise AnswerError(bytes(pieces[:300]).decode("latin-1"))
        return bytes(pieces)


@contextlib.contextmanager
def calling(port: int) -> Iterator[Caller]:
    """Keep a connection for a while."""
    caller = Caller(port)
    try:
        yield caller
    finally:
        caller.close()


def sizes_out(port: int) -> list[int]:
    """Return the sizes of the bodies that reached the upstream since the last call."""
    with calling(port) as caller:
        return list(json.loads(caller.get("/-/sizes")))


def _complete(answer: bytearray) -> bool:
    head = answer.find(b"\r\n\r\n")
    if head < 0:
        return False
    length = _LENGTH.search(answer, 0, head)
    if length:
        return len(answer) >= head + 4 + int(length[1])
    return len(answer) > head + 4 and answer.endswith(_END)


class _Line(asyncio.Protocol):
    """A connection of the load client."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)
        self._answer = bytearray()
        self._done: asyncio.Future[None] | None = None

    def ask(self, text: list[bytes]) -> asyncio.Future[None]:
        """Send a request; the future is done with its answer."""
        self._answer.clear()
        self._done = asyncio.get_running_loop().create_future()
        self._transport.writelines(text)
        return self._done

    def data_received(self, data: bytes) -> None:
        self._answer += data
        if self._done and not self._done.done() and _complete(self._answer):
            if self._answer.startswith(_OK):
                self._done.set_result(None)
            else:
                self._fail(bytes(self._answer[:300]).decode("latin-1"))

    def connection_lost(self, _: Exception | None) -> None:
        self._fail("the connection was closed in the middle of an answer")

    def close(self) -> None:
        """Hang up."""
        self._transport.close()

    def _fail(self, why: str) -> None:
        if self._done and not self._done.done():
            self._done.set_exception(AnswerError(why))


def load(port: int, bodies: Sequence[Callable[[], tuple[bytes, ...]]], seconds: float) -> float:
    """Ask over one connection a conversation, as fast as answers come; return requests a second.

    Args:
        port: Where to.
        bodies: For each conversation, what makes the pieces of its next body.
        seconds: How long.
    """

    async def talk(next_body: Callable[[], tuple[bytes, ...]], until: float) -> int:
        _, line = await asyncio.get_running_loop().create_connection(_Line, "127.0.0.1", port)
        count = 0
        while time.monotonic() < until:
            await asyncio.wait_for(line.ask(request(*next_body())), SECONDS)
            count += 1
        line.close()
        return count

    async def all_talk() -> float:
        began = time.monotonic()
        counts = await asyncio.gather(*(talk(body, began + seconds) for body in bodies))
        return sum(counts) / (time.monotonic() - began)

    return _run(all_talk)


@dataclass(slots=True)
class Streamed:
    """What a set of streams showed.

    Attributes:
        first_s: Seconds to each stream's first event.
        lag_s: Seconds from the upstream's write to the arrival, for every event.
    """

    first_s: list[float] = field(default_factory=list)
    lag_s: list[float] = field(default_factory=list)


class _Stream(asyncio.Protocol):
    """A connection that reads one stream."""

    def __init__(self, seen: Streamed) -> None:
        self._seen = seen
        self._rest = b""
        self._began = 0
        self._first = True
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)

    def ask(self, text: list[bytes]) -> None:
        """Send the request."""
        self._began = time.monotonic_ns()
        self._transport.writelines(text)

    def data_received(self, data: bytes) -> None:
        now = time.monotonic_ns()
        data = self._rest + data
        end = 0
        for match in _AT.finditer(data):
            self._seen.lag_s.append((now - int(match[1])) / 1e9)
            end = match.end()
            if self._first:
                self._first = False
                self._seen.first_s.append((now - self._began) / 1e9)
        self._rest = data[max(end, len(data) - 64) :]
        if self._rest.endswith(_END) and not self.done.done():
            self.done.set_result(None)
            self._transport.close()

    def connection_lost(self, _: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(AnswerError("a stream was cut"))


def stream(port: int, bodies: list[bytes], events: int) -> Streamed:
    """Run one stream a body, all at once, and return what they showed.

    Raises:
        AnswerError: If an event is missing.
    """
    seen = Streamed()

    async def all_stream() -> None:
        loop = asyncio.get_running_loop()
        made = await asyncio.gather(
            *(loop.create_connection(lambda: _Stream(seen), "127.0.0.1", port) for _ in bodies)
        )
        for (_, reader), body in zip(made, bodies, strict=True):
            reader.ask(request(body, query=f"?sse={events}"))
        await asyncio.wait_for(asyncio.gather(*(reader.done for _, reader in made)), SECONDS)

    _run(all_stream)
    expected = (events + 1) * len(bodies)
    if len(seen.lag_s) != expected:
        raise AnswerError(f"{len(seen.lag_s)} of {expected} events arrived")
    return seen


def _run(work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner, _no_collection():
        return runner.run(work())
