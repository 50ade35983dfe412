"""The way to an upstream: connections, TLS, HTTP proxies, and what to say when it fails."""

from __future__ import annotations

import os
from functools import cached_property, partial
from typing import TYPE_CHECKING

from aiohttp import (
    ClientConnectorCertificateError,
    ClientConnectorDNSError,
    ClientConnectorError,
    ClientConnectorSSLError,
    ClientError,
    ClientHttpProxyError,
    ClientOSError,
    ClientProxyConnectionError,
    ClientResponse,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    Payload,
    ServerDisconnectedError,
    TCPConnector,
)
from yarl import URL

from cuesta.core.errors import ConfigError, CuestaError
from cuesta.proxy.environment import http_proxy_for, trust
from cuesta.proxy.guard import is_ours

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aiohttp import ClientHandlerType, ClientRequest
    from aiohttp.abc import AbstractStreamWriter

_KEEP_ALIVE_S = 60.0
"""Shorter than providers keep idle connections, so that we rarely meet one that just closed."""
_CONNECT_S = 30.0
_HEAD_LIMIT = 256 * 1024
_HEADERS_LIMIT = 1_000
_WRITE_SIZE = 256 * 1024
_ANY = ("0.0.0.0", "[::]")  # noqa: S104 - an address to talk to
_AIOHTTPS_OWN = ("Host", "Content-Length", "Proxy-Authorization")
"""Headers that aiohttp knows best: where the request goes, and how long a body is."""


class UpstreamError(CuestaError):
    """The upstream gave no answer; the message is for the client."""


class Body(Payload):
    """A request body that lets go of its bytes once they are written.

    Answers stream for minutes; hundreds of them must not hold their requests meanwhile.

    Args:
        content: The bytes to send.
    """

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self._size = len(content)

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Return the body as text; only aiohttp's debugging asks."""
        return bytes(self._value).decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Send the body in pieces, waiting while the upstream does not keep up."""
        view = memoryview(self._value)
        self._value = b""
        self._consumed = True
        for start in range(0, len(view), _WRITE_SIZE):
            await writer.write(view[start : start + _WRITE_SIZE])


def open_session(*, secure: bool) -> ClientSession:
    """Return a session that leaves requests and answers as they are.

    Connections are made when they are needed.

    Args:
        secure: Whether any upstream speaks TLS; reading whom to trust takes time.
    """
    context = trust(os.environ) if secure else None
    return ClientSession(
        connector=TCPConnector(
            limit=0, keepalive_timeout=_KEEP_ALIVE_S, ssl=True if context is None else context
        ),
        cookie_jar=DummyCookieJar(),
        auto_decompress=False,
        timeout=ClientTimeout(total=None, sock_connect=_CONNECT_S),
        skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
        max_line_size=_HEAD_LIMIT,
        max_field_size=_HEAD_LIMIT,
        max_headers=_HEADERS_LIMIT,
    )


class Upstream:
    """A server that requests are sent on to.

    Args:
        address: Its URL; a path in it is put in front of every request's.
        option: The option that holds the address, for messages.
        path: Put in front of every request's where the address has no path.

    Raises:
        ConfigError: If the address makes no sense.
    """

    def __init__(self, address: str, option: str = "upstream", path: str = "") -> None:
        url = _checked(address, option)
        self.host = url.host_subcomponent or ""
        """The host name, for messages."""
        self.secure = url.scheme == "https"
        """Whether it speaks TLS."""
        self.local = is_ours(self.host.strip("[]").lower()) or self.host in _ANY
        """Whether it is on this machine."""
        self._option = option
        self._url = url
        self._base = str(url).rstrip("/") + (path if url.raw_path in ("", "/") else "")
        self._session: ClientSession | None = None

    def refuse_itself(self, port: int) -> None:
        """Make sure that it is not the proxy that listens on a port of this machine.

        Raises:
            ConfigError: If it is.
        """
        if self.local and self._url.port == port:
            raise ConfigError(
                f"{self._option} is the address of this proxy itself (port {port}): requests would "
                "go round for ever. Say where they should go"
            )

    @cached_property
    def _proxy(self) -> str | None:
        """The environment's proxy for it, looked for only where a request goes there."""
        return http_proxy_for(self._url.scheme, self._url.host or "")

    def open(self, session: ClientSession) -> None:
        """Get ready to send; the session stays the caller's to close."""
        self._session = session

    async def send(
        self, method: str, target: str, headers: Sequence[tuple[str, str]], body: Body | None
    ) -> ClientResponse:
        """Send a request and return the answer as soon as its head is there.

        Args:
            method: The HTTP method.
            target: Path and query, to stand behind the address.
            headers: End-to-end headers; `Host` is set here.
            body: The body, or None.

        Raises:
            UpstreamError: If no answer came.
        """
        assert self._session is not None, "open() comes first"  # noqa: S101 - a bug of ours
        try:
            return await self._session.request(
                method,
                URL(self._base + target, encoded=True),
                data=body,
                allow_redirects=False,
                proxy=self._proxy,
                middlewares=(partial(_as_told, headers),),
            )
        except ConfigError as error:
            raise UpstreamError(str(error)) from error
        except (ClientError, OSError, TimeoutError) as error:
            cause = _cause(error, self._option)
            raise UpstreamError(f"no answer from {self.host}: {cause}") from error


def _checked(address: str, option: str) -> URL:
    try:
        url = URL(address)
        good = url.scheme in ("http", "https") and bool(url.host)
        bare = not (url.user or url.password or url.raw_query_string or url.raw_fragment)
    except ValueError:
        good = bare = False
    if not good:
        raise ConfigError(
            f"{option} must be a URL such as https://api.example.com, not one without scheme and "
            "host"
        )
    if not bare:
        raise ConfigError(f"{option} must be a plain URL without credentials, query or fragment")
    return url


class _LostError(ClientError):
    """The connection broke; aiohttp sends no request again after an error of this class."""


async def _as_told(
    headers: Sequence[tuple[str, str]], request: ClientRequest, handler: ClientHandlerType
) -> ClientResponse:
    """Send these headers exactly, and send them once.

    aiohttp by itself merges duplicates that differ in case, moves the length to the end, and
    repeats an idempotent request whose connection broke: the client decides what is repeated.
    """
    own = {name: request.headers[name] for name in _AIOHTTPS_OWN if name in request.headers}
    request.headers.clear()
    request.headers.update(own)
    for name, text in headers:
        if name.lower() == "content-length":
            request.headers.pop("Content-Length", None)
        request.headers.add(name, text)
    try:
        return await handler(request)
    except ClientConnectorError:
        raise
    except (ClientOSError, ServerDisconnectedError) as error:
        raise _LostError from error


_CAUSES = (
    (
        ClientConnectorCertificateError,
        "its TLS certificate is not trusted. Name its authority in NODE_EXTRA_CA_CERTS",
    ),
    (
        ClientConnectorSSLError,
        "the TLS handshake failed. Check that `{option}` has the right scheme and port",
    ),
    (
        (ClientProxyConnectionError, ClientHttpProxyError),
        "the HTTP proxy of the environment refused. Check HTTPS_PROXY and NO_PROXY",
    ),
    (
        ClientConnectorDNSError,
        "the name cannot be resolved. Check `{option}`, the network and HTTPS_PROXY",
    ),
    (
        TimeoutError,
        f"no connection within {_CONNECT_S:.0f} s. Check `{{option}}`, the network and HTTPS_PROXY",
    ),
    (ClientConnectorError, "no connection. Check `{option}`, the network and HTTPS_PROXY"),
    ((_LostError, OSError), "it closed the connection before it answered. Try again"),
)
_OTHER = "what it sent is no valid HTTP. Check that `{option}` has the right scheme and port"


def _cause(error: Exception, option: str) -> str:
    """Say what happened and what to check, without anything that the request held."""
    text = next((text for classes, text in _CAUSES if isinstance(error, classes)), _OTHER)
    text = text.format(option=option)
    if type(error) is ClientConnectorError and error.os_error.errno:
        return f"{os.strerror(error.os_error.errno)}: {text}"
    return text
