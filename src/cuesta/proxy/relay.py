"""One request sent upstream and its answer relayed.

Rule 1: every piece goes to the client as it came, when it came; usage is read from a copy.
Rule 2: an answer that the upstream broke off is broken off for the client too.
Rule 3: cancelling `run` ends the talk with the upstream at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from aiohttp import ClientError

from cuesta.core.errors import RequestError
from cuesta.dialects.beginnings import Beginning
from cuesta.exchange.events import Accepted, Refused
from cuesta.proxy.answer import Answer, Head, error_answer, own_answer
from cuesta.proxy.decode import UndecodableError, decode, decoder_for, is_plain
from cuesta.proxy.headers import end_to_end, note_header
from cuesta.proxy.upstream import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from aiohttp import ClientResponse, web

    from cuesta.core.usage import Usage
    from cuesta.exchange.events import Refuse
    from cuesta.proxy.engine import TapFactory, UsageTap
    from cuesta.proxy.upstream import Body, Upstream

_logger = logging.getLogger(__name__)

_REFUSALS = frozenset({400, 413, 422})
_REFUSAL_LIMIT = 1 << 20
"""Bytes of a refusal that are read before it is relayed; longer ones are no refusals we know."""
_BEGINNING_LIMIT = 1 << 16
"""Bytes of a stream that are held until it is known whether it begins with an error ..."""
_BEGINNING_S = 5.0
"""... and seconds."""
_OK = 200
_LISTEN_LIMIT = 256 << 20
"""Decoded bytes of one answer after which its cost is no longer looked for."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What goes upstream.

    Attributes:
        method: The HTTP method.
        target: Path and query, to stand behind the upstream's address.
        headers: End-to-end headers, fit for the body.
        body: The body, or None.
        watched: Whether a refusal is read before anything is relayed.
        tap: Makes the reader of usage for the answer, or None.
    """

    method: str
    target: str
    headers: Sequence[tuple[str, str]]
    body: Body | None
    watched: bool = False
    tap: TapFactory | None = None


Decide: TypeAlias = "Callable[[Accepted | Refused], Awaitable[Outgoing | str]]"
"""What follows an answer's head: another request to send, or a note with which to relay it."""


class Relay:
    """One request and its answer; after `run`, also a cancelled one, it tells how far it came."""

    def __init__(self, request: web.BaseRequest, *, persist: bool) -> None:
        self.status = 0
        """The upstream's HTTP status, 0 where none came."""
        self.answer: Answer | None = None
        """What was sent to the client, as far as it was."""
        self.trouble = ""
        """Why no answer came, in the words that the client is told; empty: one came."""
        self.client_left = False
        """Whether the client was found to be gone."""
        self._request = request
        self._persist = persist
        self._listener: _Listener | None = None
        self._held: list[bytes] = []

    @property
    def usage(self) -> Usage | None:
        """What the answer told about its cost so far."""
        return self._listener.usage if self._listener else None

    async def refuse(self, refuse: Refuse, *, noted: bool) -> None:
        """Answer in the upstream's place.

        Args:
            refuse: With what.
            noted: Whether the header `x-cuesta` tells why.
        """
        self.status = refuse.status
        headers = [note_header(refuse.note)] if noted else []
        self.answer = own_answer(
            self._request, refuse.body, refuse.status, headers, persist=self._persist
        )
        with contextlib.suppress(ConnectionError):  # aiohttp finds out by itself
            await self.answer.finish()

    async def run(self, upstream: Upstream, outgoing: Outgoing, decide: Decide) -> None:
        """Send the request and relay the answer to its last byte, or answer with an error.

        Args:
            upstream: Where it goes.
            outgoing: The request.
            decide: Told how each answer begins; returns another request to send in its place, or
                the note for the header `x-cuesta` of the answer, which is then relayed.
        """
        wanted: Outgoing | str = outgoing
        while isinstance(wanted, Outgoing):
            outgoing = wanted
            try:
                response = await upstream.send(
                    outgoing.method, outgoing.target, outgoing.headers, outgoing.body
                )
            except UpstreamError as error:
                self.status = 0
                self.trouble = str(error)
                self.answer = error_answer(self._request, 502, self.trouble, persist=self._persist)
                with contextlib.suppress(ConnectionError):  # aiohttp finds out by itself
                    await self.answer.finish()
                return
            self.status = response.status
            try:
                self._held = []
                wanted = await decide(await self._head(response, outgoing))
            except BaseException:
                response.close()
                raise
            if isinstance(wanted, Outgoing):
                response.close()
        self.answer = self._answer_to(response, outgoing, wanted)
        try:
            await self._stream(response, self.answer)
        except _BrokenOffError:
            _logger.warning("%s broke off its answer", upstream.host)
        except ConnectionError:  # from the client's side: the upstream's are _BrokenOffError
            self.client_left = True
        finally:
            response.close()
            if not self.answer.ended:
                self.answer.break_off()

    async def _head(self, response: ClientResponse, outgoing: Outgoing) -> Accepted | Refused:
        """Tell whether the upstream refuses; what was read for that is held for the client."""
        if outgoing.watched and response.status in _REFUSALS:
            return await self._refusal(response)
        if outgoing.watched and response.status == _OK:
            return await self._beginning(response)
        return Accepted()

    async def _beginning(self, response: ClientResponse) -> Accepted | Refused:
        """Tell whether a stream begins with an error; one that is slow to tell is let through."""
        beginning = Beginning(response.headers.get("Content-Type", ""))
        reader = _Reader(response.headers.get("Content-Encoding", ""))
        held = 0
        with contextlib.suppress(_BrokenOffError, TimeoutError, UndecodableError, RequestError):
            async with asyncio.timeout(_BEGINNING_S):
                while reader.able and not beginning.settled and held < _BEGINNING_LIMIT:
                    chunk = await _next_chunk(response)
                    if not chunk:
                        break
                    self._held.append(chunk)
                    held += len(chunk)
                    for piece in reader.read(chunk):
                        beginning.feed(piece)
        return Refused(0, beginning.error) if beginning.error else Accepted()

    async def _refusal(self, response: ClientResponse) -> Accepted | Refused:
        with contextlib.suppress(_BrokenOffError):  # the rest of it fails again when it is relayed
            while chunk := await _next_chunk(response):
                self._held.append(chunk)
                if sum(map(len, self._held)) > _REFUSAL_LIMIT:
                    return Accepted()
        body = b"".join(self._held)
        encoding = response.headers.get("Content-Encoding", "")
        try:
            return Refused(response.status, decode(body, encoding, _REFUSAL_LIMIT))
        except (UndecodableError, RequestError):
            return Accepted()

    def _answer_to(self, response: ClientResponse, outgoing: Outgoing, note: str) -> Answer:
        headers = end_to_end(response.raw_headers)
        if note:
            headers.append(note_header(note))
        if outgoing.tap:
            tap = outgoing.tap(response.headers.get("Content-Type", ""))
            self._listener = _Listener(tap, response.headers.get("Content-Encoding", ""))
        reason = (response.reason or "").encode("utf-8", "surrogateescape")
        head = Head(response.status, reason, headers)
        return Answer(self._request, head, persist=self._persist)

    async def _stream(self, response: ClientResponse, answer: Answer) -> None:
        await answer.begin()
        for chunk in self._held:
            await answer.write(chunk)
            if self._listener:
                self._listener.hear(chunk)
        while chunk := await _next_chunk(response):
            await answer.write(chunk)
            if self._listener:
                self._listener.hear(chunk)
        await answer.write_eof()


class _BrokenOffError(Exception):
    """The upstream's answer has no proper end."""


async def _next_chunk(response: ClientResponse) -> bytes:
    """Return what has come of the body, or nothing at its end."""
    try:
        return await response.content.readany()
    except (ClientError, OSError) as error:
        # Once a connection has broken, aiohttp's reader hides even what came before.
        if left := response.content._read_nowait(-1):  # noqa: SLF001 - no public way to it
            return left
        raise _BrokenOffError from error


class _Reader:
    """Decodes a copy of an answer's pieces.

    Args:
        encoding: The answer's content coding.
    """

    def __init__(self, encoding: str) -> None:
        plain = is_plain(encoding)
        self._decoder = None if plain else decoder_for(encoding)
        self.able = plain or self._decoder is not None
        """Whether the coding is known; if not, nothing comes out."""

    def read(self, chunk: bytes) -> Iterable[bytes]:
        """Return what a piece holds."""
        if self._decoder is not None:
            return self._decoder.feed(chunk)
        return (chunk,) if self.able else ()


class _Listener:
    """Feeds a decoded copy of an answer to a tap, and never disturbs the answer."""

    def __init__(self, tap: UsageTap, encoding: str) -> None:
        self._tap = tap
        self._reader = _Reader(encoding)
        self._left = _LISTEN_LIMIT
        self._on = self._reader.able

    @property
    def usage(self) -> Usage | None:
        try:
            return self._tap.usage
        except Exception as error:  # noqa: BLE001 - see the class
            _logger.warning("reading usage failed: %s", type(error).__name__)
            return None

    def hear(self, chunk: bytes) -> None:
        if not self._on:
            return
        try:
            for piece in self._reader.read(chunk):
                self._tap.feed(piece)
                self._left -= len(piece)
                if self._left < 0:
                    self._on = False
                    return
        except Exception as error:  # noqa: BLE001 - see the class
            self._on = False
            _logger.warning("reading usage failed: %s", type(error).__name__)
