"""The proxy as a server: listens, reads requests, hands them to visits, and stops in order."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import secrets
import socket
from typing import TYPE_CHECKING, Any

from aiohttp import web

from cuesta.core.errors import ConfigError, RequestError
from cuesta.proxy import guard
from cuesta.proxy.answer import error_answer, json_answer
from cuesta.proxy.course import Workers
from cuesta.proxy.headers import tokens, values
from cuesta.proxy.relay import Relay
from cuesta.proxy.reports import PREFIX, Reports
from cuesta.proxy.routing import Routes
from cuesta.proxy.visit import Call, House, Visit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from cuesta.proxy.engine import Engine, TapFactory
    from cuesta.proxy.options import ProxyOptions
    from cuesta.store.base import Store

BODY_LIMIT = 128 << 20
"""Bytes that a request body may have as received; providers stop at 32 MB."""

_KEEP_ALIVE_S = 600
_HEAD_LIMIT = 256 * 1024
_HEADERS_LIMIT = 1_000
_BACKLOG = 1024
_SETTLE_S = 5.0
_CLOSE_S = 1.0
_OUR_FAULT = 500


class Proxy:
    """The HTTP shell around an engine.

    Args:
        engine: Decides what becomes of requests.
        store: Keeps ledger and trace; it stays the caller's to close.
        options: What the person who runs the proxy decided.
        taps: Makes readers of usage, by dialect.

    Raises:
        ConfigError: If the options or the environment make no sense.
    """

    def __init__(
        self, engine: Engine, store: Store, options: ProxyOptions, taps: Mapping[str, TapFactory]
    ) -> None:
        self._options = options
        self._allowed = frozenset(name.lower() for name in options.allow_host)
        self._workers = Workers()
        self._reports = Reports(store, options.upstream, options.workers)
        self._house = House(
            engine=engine,
            taps=taps,
            store=store,
            reports=self._reports,
            routes=Routes(options),
            workers=self._workers,
            notes=options.header,
            hop=secrets.token_hex(8),
        )
        self._visits: dict[asyncio.Task[None], Visit] = {}
        self._busy: set[web.RequestHandler] = set()
        self._stopping = False
        self._idle = asyncio.Event()
        self._cut = asyncio.Event()
        self.port = options.port
        """The port that the proxy listens on; the real one, once started."""
        self.on_drain: Callable[[int, float], None] | None = None
        """Told, when a stop begins to wait, for how many answers and how many seconds at most."""
        self._web: web.Server | None = None
        self._listener: asyncio.Server | None = None

    async def start(self, sock: socket.socket | None = None) -> None:
        """Begin to listen.

        Args:
            sock: A bound socket to listen on; None: the address of the options.

        Raises:
            ConfigError: If the address cannot be listened on.
        """
        await self._house.routes.open()
        self._web = _Server(
            self._handle,
            handler_cancellation=True,
            auto_decompress=False,
            access_log=None,
            logger=_quiet_logger(),
            keepalive_timeout=_KEEP_ALIVE_S,
            max_line_size=_HEAD_LIMIT,
            max_field_size=_HEAD_LIMIT,
            max_headers=_HEADERS_LIMIT,
        )
        where: dict[str, Any] = {"sock": sock}
        if sock is None:
            where = {"host": self._options.host, "port": self._options.port}
        try:
            self._listener = await asyncio.get_running_loop().create_server(
                self._web, backlog=_BACKLOG, **where
            )
        except OSError as error:
            await self._house.routes.close()
            self._workers.close()
            raise ConfigError(_cannot_listen(self._options, error)) from error
        self.port = self._listener.sockets[0].getsockname()[1]
        try:
            self._house.routes.refuse_itself(self.port)
        except ConfigError:
            await self.stop(0)
            raise

    async def stop(self, drain_s: float | None = None) -> None:
        """Stop listening, let running answers finish, then close.

        Args:
            drain_s: How long answers may take, in seconds; None: as the options say. `cut` ends
                the wait.
        """
        self._stopping = True
        if self._listener is not None:
            self._listener.close()
        self._close_connections(but=self._busy)
        seconds = self._options.drain_s if drain_s is None else drain_s
        if self._busy and seconds and self.on_drain:
            self.on_drain(len(self._busy), seconds)
        await self._drain(seconds)
        if self._web is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._connections_gone(), _CLOSE_S)
            await self._web.shutdown(_CLOSE_S)
        await self._house.routes.close()
        self._workers.close()

    def watch(self, elsewhere: Callable[[], str]) -> None:
        """Tell on the status page what is amiss elsewhere: words, or nothing."""
        self._reports.watch(elsewhere)

    def cut(self) -> None:
        """Do not wait for running answers any longer."""
        self._cut.set()

    async def _drain(self, seconds: float) -> None:
        """Wait for running answers, and end those that take too long."""
        self._look_whether_idle()
        cut = asyncio.ensure_future(self._cut.wait())
        idle = asyncio.ensure_future(self._idle.wait())
        await asyncio.wait((cut, idle), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for visit in self._visits.values():
            visit.leave()
        self._close_connections(but=())
        await asyncio.wait((idle,), timeout=_SETTLE_S)
        cut.cancel()
        idle.cancel()

    def _close_connections(self, but: Collection[web.RequestHandler]) -> None:
        """Close connections in order: what is buffered for them still goes out."""
        for connection in self._web.connections if self._web else ():
            if connection not in but:
                connection.force_close()

    async def _connections_gone(self) -> None:
        while self._web and self._web.connections:  # noqa: ASYNC110 - aiohttp has no event for it
            await asyncio.sleep(0.01)

    def _look_whether_idle(self) -> None:
        if self._stopping and not self._busy and not self._visits:
            self._idle.set()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self._busy.add(request.protocol)
        try:
            return await self._serve(request)
        except RequestError as error:
            return error_answer(request, error.status, str(error))
        finally:
            self._busy.discard(request.protocol)
            self._look_whether_idle()

    def _forget(self, task: asyncio.Task[None]) -> None:
        del self._visits[task]
        self._look_whether_idle()

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        guard.check(request.raw_path, request.raw_headers, self._allowed)
        guard.check_hop(request.raw_headers, self._house.hop)
        run, target = guard.split_run(request.raw_path)
        if target.startswith(PREFIX):
            page = await self._reports.page(request.method, target)
            return json_answer(request, page, persist=not self._stopping)
        call = Call(request.method, target, run, request.raw_headers, await _read_body(request))
        relay = Relay(request, persist=not self._stopping)
        visit = Visit(self._house, call, relay)
        task = asyncio.create_task(visit.run())
        self._visits[task] = visit
        task.add_done_callback(self._forget)
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            visit.leave()
            raise
        return relay.answer or error_answer(
            request, 502, "the proxy stopped or failed before an answer came"
        )


class _Connection(web.RequestHandler):
    """A client's connection whose errors are answered in our words.

    aiohttp's own answer to what it cannot read repeats it, and tells versions in `Server`.
    """

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what is no proper HTTP, or what failed in us."""
        super().handle_error(request, status, exc, message)
        if status < _OUR_FAULT:
            return error_answer(request, 400, "what was sent is no valid HTTP request")
        return error_answer(request, 500, "the proxy failed at this request")


class _Server(web.Server):
    """A server of such connections."""

    def __call__(self) -> web.RequestHandler:
        return _Connection(self, loop=self._loop, **self._kwargs)


async def _read_body(request: web.BaseRequest) -> bytes:
    """Read a request's body as it is, compressed or not.

    Raises:
        RequestError: If it is too long or does not end properly.
    """
    if (request.content_length or 0) > BODY_LIMIT:
        raise _too_long()
    expected = tokens(values(request.raw_headers, b"expect"))
    if b"100-continue" in expected and request.version >= (1, 1):
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    pieces = []
    size = 0
    try:
        while piece := await request.content.readany():
            size += len(piece)
            if size > BODY_LIMIT:
                raise _too_long()
            pieces.append(piece)
    except (web.RequestPayloadError, ConnectionError):
        raise RequestError("the request body does not end properly") from None
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _too_long() -> RequestError:
    return RequestError(f"the request body is longer than {BODY_LIMIT >> 20} MiB", 413)


def listen(options: ProxyOptions) -> socket.socket:
    """Return a socket that listens where the options say, for several processes to share.

    Raises:
        ConfigError: If the address cannot be listened on.
    """
    try:
        found = socket.getaddrinfo(options.host, options.port, type=socket.SOCK_STREAM)
        family, *_, address = found[0]
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except OSError as error:
        raise ConfigError(_cannot_listen(options, error)) from error


def _cannot_listen(options: ProxyOptions, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {options.port} on {options.host} is in use: stop the program that uses it, or "
            "choose another with --port (0 takes a free one)"
        )
    reason = error.strerror or "the address is not one of this machine"
    return f"cannot listen on {options.host} port {options.port}: {reason}"


class _NoDetails(logging.Filter):
    """aiohttp logs what it could not parse, and that may hold a key."""

    def filter(self, record: logging.LogRecord) -> bool:
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else "error"
        record.msg, record.args = "a connection failed: %s", (kind,)
        record.exc_info = record.exc_text = record.stack_info = None
        return True


def _quiet_logger() -> logging.Logger:
    logger = logging.getLogger(f"{__name__}.connection")
    if not logger.filters:
        logger.addFilter(_NoDetails())
    return logger
