"""One request sent upstream and its answer relayed.

Rule 1: every piece goes to the client as it came, when it came; usage is read from a copy.
Rule 2: an answer that the upstream broke off is broken off for the client too.
Rule 3: cancelling `run` ends the talk with the upstream at once.
"""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiohttp import ClientError

from cuesta.proxy.answer import Answer, Head, error_answer
from cuesta.proxy.decode import decoder_for
from cuesta.proxy.headers import end_to_end, note_header
from cuesta.proxy.upstream import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aiohttp import ClientResponse, web

    from cuesta.core.usage import Usage
    from cuesta.proxy.engine import TapFactory, UsageTap
    from cuesta.proxy.upstream import Body, Upstream

_logger = logging.getLogger(__name__)

_LISTEN_LIMIT = 256 << 20
"""Decoded bytes of one answer after which its cost is no longer looked for."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What goes upstream.

    Attributes:
        method: The HTTP method.
        target: Path and query as the client wrote them.
        headers: End-to-end headers, fit for the body.
        body: The body, or None.
        note: For the header `x-cuesta` of the answer; empty: none.
        tap: Makes the reader of usage for the answer, or None.
    """

    method: str
    target: str
    headers: Sequence[tuple[str, str]]
    body: Body | None
    note: str = ""
    tap: TapFactory | None = None


class Relay:
    """One request and its answer; after `run`, also a cancelled one, it tells how far it came."""

    def __init__(self, request: web.BaseRequest, *, persist: bool) -> None:
        self.status = 0
        """The upstream's HTTP status, 0 where none came."""
        self.answer: Answer | None = None
        """What was sent to the client, as far as it was."""
        self.client_left = False
        """Whether the client was found to be gone."""
        self._request = request
        self._persist = persist
        self._listener: _Listener | None = None

    @property
    def usage(self) -> Usage | None:
        """What the answer told about its cost so far."""
        return self._listener.usage if self._listener else None

    async def run(self, upstream: Upstream, outgoing: Outgoing) -> None:
        """Send the request and relay the answer to its last byte, or answer with an error."""
        try:
            response = await upstream.send(
                outgoing.method, outgoing.target, outgoing.headers, outgoing.body
            )
        except UpstreamError as error:
            self.answer = error_answer(self._request, 502, str(error), persist=self._persist)
            with contextlib.suppress(ConnectionError):  # aiohttp finds out by itself
                await self.answer.finish()
            return
        self.status = response.status
        self.answer = self._answer_to(response, outgoing)
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

    def _answer_to(self, response: ClientResponse, outgoing: Outgoing) -> Answer:
        headers = end_to_end(response.raw_headers)
        if outgoing.note:
            headers.append(note_header(outgoing.note))
        if outgoing.tap:
            tap = outgoing.tap(response.headers.get("Content-Type", ""))
            self._listener = _Listener(tap, response.headers.get("Content-Encoding", ""))
        reason = (response.reason or "").encode("utf-8", "surrogateescape")
        head = Head(response.status, reason, headers)
        return Answer(self._request, head, persist=self._persist)

    async def _stream(self, response: ClientResponse, answer: Answer) -> None:
        await answer.begin()
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
        raise _BrokenOffError from error


class _Listener:
    """Feeds a decoded copy of an answer to a tap, and never disturbs the answer."""

    def __init__(self, tap: UsageTap, encoding: str) -> None:
        self._tap = tap
        self._plain = encoding.strip().lower() in ("", "identity")
        self._decoder = None if self._plain else decoder_for(encoding)
        self._left = _LISTEN_LIMIT
        self._on = self._plain or self._decoder is not None

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
            for piece in self._decoder.feed(chunk) if self._decoder else (chunk,):
                self._tap.feed(piece)
                self._left -= len(piece)
                if self._left < 0:
                    self._on = False
                    return
        except Exception as error:  # noqa: BLE001 - see the class
            self._on = False
            _logger.warning("reading usage failed: %s", type(error).__name__)
