"""A hand-written upstream and clients on raw sockets: nothing between a test and the bytes."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import sys
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path

from cuesta.core.usage import Usage
from cuesta.exchange.events import Accepted, Record, Refused, Relay, Send
from cuesta.proxy.app import Proxy
from cuesta.proxy.options import ProxyOptions
from cuesta.store.memory import MemoryStore
from cuesta.trace.event import TraceEvent

SECONDS = 10
"""How long anything may take before a test fails."""


def within(awaitable):
    """Wait for something, but not for ever."""
    return asyncio.wait_for(awaitable, SECONDS)


@dataclasses.dataclass
class Message:
    """A request or an answer as it stood on the wire."""

    line: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes = b""
    complete: bool = True

    @property
    def status(self):
        return int(self.line.split()[1])

    def all(self, name):
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def one(self, name):
        (value,) = self.all(name)
        return value

    @property
    def error(self):
        """The message of an error of ours."""
        assert self.one(b"content-type") == b"application/json"
        body = json.loads(self.body)
        assert body["type"] == "error"
        assert body["error"]["message"].startswith("cuesta: ")
        return body["error"]["message"]


async def read_head(reader):
    head = await within(reader.readuntil(b"\r\n\r\n"))
    line, *lines = head[:-4].split(b"\r\n")
    return Message(line, [tuple(text.split(b": ", 1)) for text in lines])


async def read_chunk(reader):
    """Read one chunk of a chunked body; empty at its end."""
    size = int(await within(reader.readuntil(b"\r\n")), 16)
    return (await within(reader.readexactly(size + 2)))[:-2]


async def read_body(reader, message):
    try:
        if b"chunked" in message.all(b"transfer-encoding"):
            while chunk := await read_chunk(reader):
                message.body += chunk
        elif message.all(b"content-length"):
            left = int(message.one(b"content-length"))
            while left and (piece := await within(reader.read(left))):
                message.body += piece
                left -= len(piece)
            message.complete = not left
        elif message.line.startswith(b"HTTP"):
            message.body = await within(reader.read())
    except (asyncio.IncompleteReadError, ConnectionResetError):
        message.complete = False


class Upstream:
    """A server that records what comes and answers by a function of the test.

    Args:
        answer: Called with the request and the connection's writer; None: a short JSON answer.
    """

    def __init__(self, answer: Callable[..., Awaitable[None]] | None = None, ssl=None):
        self.requests: list[Message] = []
        self.connections = 0
        self.gone = asyncio.Event()
        """Set when a peer closed a connection while its answer was being made."""
        self._answer = answer or plain
        self._ssl = ssl
        self._open = set()

    async def __aenter__(self):
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", 0, ssl=self._ssl, limit=1 << 24
        )
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http{'s' if self._ssl else ''}://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for task in list(self._open):
            task.cancel()
        if self._open:
            await asyncio.wait(self._open)

    async def _serve(self, reader, writer):
        self.connections += 1
        task = asyncio.current_task()
        self._open.add(task)
        try:
            while True:
                request = await read_head(reader)
                await read_body(reader, request)
                self.requests.append(request)
                answering = asyncio.create_task(self._answer(request, writer))
                watching = asyncio.create_task(reader.read(1))
                await asyncio.wait((answering, watching), return_when=asyncio.FIRST_COMPLETED)
                if watching.done():
                    self.gone.set()
                    answering.cancel()
                    break
                watching.cancel()
                await asyncio.wait((watching,))
                answering.result()
        except (asyncio.IncompleteReadError, ConnectionError, TimeoutError):
            pass
        finally:
            self._open.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()


async def plain(message, writer):
    """Answer with a few bytes of JSON."""
    head, body = response(b"{}", b"Content-Type: application/json")[:-2], b"{}"
    writer.write(head if message.line.startswith(b"HEAD") else head + body)
    await writer.drain()


def sends(data):
    """Return an answer function that sends these bytes, head and all."""

    async def answer(_request, writer):
        writer.write(data)
        await writer.drain()

    return answer


def response(body, *headers, status=b"200 OK"):
    """Return the bytes of an answer with a Content-Length."""
    lines = [b"HTTP/1.1 " + status, *headers, b"Content-Length: %d" % len(body)]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def trace_event(arrived, action="keep", **changes):
    plain_event = TraceEvent(
        arrived.at, "conversation", "test", arrived.path, "claude-opus-5", action, "as told"
    )
    return dataclasses.replace(plain_event, run=arrived.run, **changes)


def sent(body, note, dialect):
    """Send a request and have its answer relayed, whatever it is."""
    head = yield Send(body, dialect)
    return (yield Relay(note)) if isinstance(head, Accepted | Refused) else head


class Engine:
    """An engine whose exchanges are a generator function of the test; by default it passes all."""

    def __init__(self, exchange=None):
        self.arrived = []
        self.answered = []
        self._exchange = exchange or self.passing

    def exchange(self, arrived):
        self.arrived.append(dataclasses.replace(arrived, body=arrived.body[:1000]))
        return self._exchange(arrived)

    def passing(self, arrived):
        event = trace_event(arrived)
        del arrived
        answered = yield from sent(None, "kept: below the threshold", "test")
        self.answered.append(answered)
        yield Record(
            dataclasses.replace(
                event,
                status=answered.status,
                usage=answered.usage,
                aborted=answered.aborted,
            )
        )


class Tap:
    """Reads {"usage": N} once the copy of the body is whole."""

    def __init__(self, content_type):
        self.decoded = b""
        self.content_type = content_type

    def feed(self, decoded):
        self.decoded += decoded

    @property
    def usage(self):
        try:
            return Usage(input=json.loads(self.decoded)["usage"])
        except (ValueError, KeyError, TypeError):
            return None


@contextlib.asynccontextmanager
async def proxy_to(upstream, engine=None, store=None, **options):
    """Run a proxy in front of an upstream (or its URL)."""
    url = upstream if isinstance(upstream, str) else upstream.url
    settings = ProxyOptions(**{"port": 0, "upstream": url, **options})
    proxy = Proxy(engine or Engine(), store or MemoryStore(), settings, {"test": Tap})
    await proxy.start()
    try:
        yield proxy
    finally:
        await within(proxy.stop(0))


@contextlib.asynccontextmanager
async def connection(proxy):
    """A client's connection to a proxy."""
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port, limit=1 << 24)
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await within(writer.wait_closed())


def request(target="/v1/messages", *headers, body=b"", method="POST", host=b"127.0.0.1:1"):
    """Return the bytes of a request."""
    lines = [f"{method} {target} HTTP/1.1".encode(), b"Host: " + host, *headers]
    if body:
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


async def ask(proxy, data):
    """Send bytes on a new connection and read one answer."""
    async with connection(proxy) as (reader, writer):
        writer.write(data)
        await within(writer.drain())
        answer = await read_head(reader)
        bodiless = data.startswith(b"HEAD") or answer.status in (204, 304)
        if not bodiless:
            await read_body(reader, answer)
        return answer


async def page(proxy, name):
    answer = await ask(proxy, request(f"/-/cuesta/{name}", method="GET"))
    assert answer.status == 200
    return json.loads(answer.body)


async def eventually(condition):
    """Wait until a condition holds."""
    async with asyncio.timeout(SECONDS):
        while not condition():  # noqa: ASYNC110 - of things that have no event to wait for
            await asyncio.sleep(0.01)


def gzipped(data):
    compressor = zlib.compressobj(wbits=31)
    return compressor.compress(data) + compressor.flush()


def raw_deflated(data):
    compressor = zlib.compressobj(wbits=-15)
    return compressor.compress(data) + compressor.flush()


PROGRAM = """
import json, sys
sys.path[:0] = json.loads(sys.argv[2])
from cuesta.proxy.options import ProxyOptions
from cuesta.proxy.serve import run
from cuesta.exchange.events import Relay, Send

class Engine:
    def exchange(self, arrived):
        yield Send(None, "")
        yield Relay("")

settings = json.loads(sys.argv[1])
descriptors = settings.pop("descriptors")
run(ProxyOptions(**settings), Engine(), {}, **descriptors,
    on_ready=lambda proxy, store: print(proxy.port, repr(store.degraded), flush=True))
print("ended", flush=True)
"""


class Process:
    """A proxy in a process of its own; `port` is set once it serves."""

    def __init__(self, upstream, descriptors=None, **options):
        self.settings = {
            "upstream": upstream.url,
            "port": 0,
            "ephemeral": True,
            "descriptors": descriptors or {},
            **options,
        }

    async def __aenter__(self):
        paths = [str(Path(__file__).parent), *sys.path]
        self.child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PROGRAM, json.dumps(self.settings), json.dumps(paths),
            stdout=asyncio.subprocess.PIPE, pass_fds=self.settings["descriptors"].values(),
        )  # fmt: skip
        line = (await within(self.child.stdout.readline())).split()
        self.port, self.degraded = int(line[0]), line[1]
        return self

    async def ended(self):
        """Wait for its orderly end."""
        assert await within(self.child.stdout.read()) == b"ended\n"
        return await within(self.child.wait())

    async def __aexit__(self, *_):
        if self.child.returncode is None:
            self.child.kill()
        await self.child.wait()
        self.child._transport.close()
