"""Answers to the client, byte for byte as they are meant."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiohttp import web

from cuesta.proxy.headers import value

if TYPE_CHECKING:
    from aiohttp.abc import AbstractStreamWriter

    from cuesta.proxy.headers import RawHeaders

_REASONS = {
    200: b"OK", 400: b"Bad Request", 403: b"Forbidden", 404: b"Not Found",
    405: b"Method Not Allowed", 413: b"Content Too Large", 426: b"Upgrade Required",
    500: b"Internal Server Error", 502: b"Bad Gateway", 508: b"Loop Detected",
}  # fmt: skip
_KINDS = {
    403: "permission_error", 404: "not_found_error", 413: "request_too_large",
    500: "api_error", 502: "api_error", 508: "api_error",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Head:
    """A status line and headers."""

    status: int
    reason: bytes
    headers: RawHeaders


class Answer(web.StreamResponse):
    """An answer whose head and body go out exactly as given.

    aiohttp's own responses add `Server`, `Date` and a `Content-Type`; this one adds only what the
    connection itself needs. The body is chunked where its length is not told.

    Args:
        request: What is answered.
        head: The status line and the headers.
        body: The whole body, where it is known; else it follows by `write`.
        persist: Whether the connection may be used again.
    """

    def __init__(
        self, request: web.BaseRequest, head: Head, body: bytes = b"", *, persist: bool = True
    ) -> None:
        super().__init__(status=head.status)
        self._request = request
        self._head = head
        self._body_left = body
        self._begun = False
        self._ended = False
        self._broken = False
        self._bodiless = request.method == "HEAD" or head.status in (204, 304)
        self._sized = self._bodiless or bool(value(head.headers, b"content-length"))
        self._in_chunks = not self._sized and request.version >= (1, 1)
        self._persist = persist and request.keep_alive and request.version >= (1, 1)

    @property
    def keep_alive(self) -> bool:
        """Whether the connection may be used again; asked by aiohttp once the answer is out."""
        return self._persist

    @property
    def ended(self) -> bool:
        """Whether all of it has left."""
        return self._ended

    async def begin(self) -> None:
        """Send the head at once, not waiting for a body.

        Raises:
            ConnectionError: If the client is gone.
        """
        self._begun = True
        lines = [b"HTTP/1.1 %d %s" % (self._head.status, self._head.reason)]
        lines += [b"%s: %s" % pair for pair in self._head.headers]
        if self._in_chunks:
            lines.append(b"Transfer-Encoding: chunked")
        if not self._persist:
            lines.append(b"Connection: close")
        writer = self._request.writer
        await writer.write(b"\r\n".join(lines) + b"\r\n\r\n")
        if self._in_chunks:
            writer.enable_chunking()

    async def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send a piece of the body, waiting while the client does not keep up.

        Raises:
            ConnectionError: If the client is gone.
        """
        if not self._bodiless:
            await self._request.writer.write(data)

    async def finish(self) -> None:
        """Send whatever of the answer has not left yet.

        Raises:
            ConnectionError: If the client is gone.
        """
        await self.prepare(self._request)
        await self.write_eof()

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Send the head if it has not left; called by aiohttp too."""
        if not self._begun:
            await self.begin()
        return request.writer

    async def write_eof(self, data: bytes = b"") -> None:
        """End the body; called by aiohttp too, and harmless when the answer has ended.

        Raises:
            ConnectionError: If the client is gone, or the answer was broken off: aiohttp then
                closes the connection.
        """
        if self._broken:
            raise ConnectionResetError("the answer was broken off")
        left, self._body_left = self._body_left + data, b""
        await self._request.writer.write_eof(b"" if self._bodiless else left)
        self._ended = True

    def break_off(self) -> None:
        """End without an end: the client must not take what it has for the whole."""
        self._broken = True
        self._persist = False
        transport = self._request.transport
        if not self._sized and not self._in_chunks and transport is not None:
            # An orderly close would be the end of such a body: let it be a reset.
            sock = transport.get_extra_info("socket")
            with contextlib.suppress(OSError):  # closed already
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def json_answer(
    request: web.BaseRequest,
    body: Any,  # noqa: ANN401 - whatever JSON can hold
    status: int = 200,
    *,
    persist: bool = True,
) -> Answer:
    """Return an answer of our own."""
    content = json.dumps(body, separators=(",", ":")).encode() + b"\n"
    more = [(b"Upgrade", b"HTTP/1.1")] if status == 426 else []  # RFC 9110, 15.5.22
    return own_answer(request, content, status, more, persist=persist)


def own_answer(
    request: web.BaseRequest, content: bytes, status: int, more: RawHeaders, *, persist: bool
) -> Answer:
    """Return an answer of our own that is JSON already.

    Args:
        request: What is answered.
        content: The body.
        status: The HTTP status.
        more: Headers beside those of any such answer.
        persist: Whether the connection may be used again.
    """
    headers = [
        (b"Content-Type", b"application/json"),
        (b"Content-Length", b"%d" % len(content)),
        (b"Cache-Control", b"no-store"),
        *more,
    ]
    return Answer(request, Head(status, _REASONS[status], headers), content, persist=persist)


def error_answer(
    request: web.BaseRequest, status: int, message: str, *, persist: bool = False
) -> Answer:
    """Return an error of our own in the shape that Anthropic's clients read.

    Source: Anthropic's API reference, "Errors".
    """
    error = {"type": _KINDS.get(status, "invalid_request_error"), "message": f"cuesta: {message}"}
    return json_answer(request, {"type": "error", "error": error}, status, persist=persist)
