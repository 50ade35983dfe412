"""One client's request from its head to the last entry in the books.

Rule 1: what is done for the client ends when the client leaves; the books are always closed. So a
visit runs in a task of its own, and only the talk with the upstream is cancelled.
Rule 2: whatever fails, the client's own request goes out, byte for byte, and the failure counts.
Rule 3: no body is held while its answer streams.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from cuesta.exchange.events import Answered, Arrived, Refuse, Send
from cuesta.proxy.asking import ask
from cuesta.proxy.course import Course, Means
from cuesta.proxy.decode import UndecodableError, decode, is_plain
from cuesta.proxy.headers import for_exchange, for_question, for_upstream, value
from cuesta.proxy.relay import Outgoing, Relay
from cuesta.proxy.upstream import Body
from cuesta.trace.event import TraceEvent

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from cuesta.exchange.events import Accepted, Ask, Refused, Told
    from cuesta.proxy.course import Workers
    from cuesta.proxy.engine import Engine, TapFactory
    from cuesta.proxy.headers import RawHeaders
    from cuesta.proxy.relay import Decide
    from cuesta.proxy.reports import Reports
    from cuesta.proxy.routing import Routes
    from cuesta.store.base import Store

_logger = logging.getLogger(__name__)

LARGE_BODY = 1_000_000
"""Bytes of a body above which it is read in a thread."""
DECODED_LIMIT = 256 << 20
"""Bytes that a decompressed request body may have."""


@dataclass(frozen=True, slots=True)
class House:
    """What all visits share."""

    engine: Engine
    taps: Mapping[str, TapFactory]
    store: Store
    reports: Reports
    routes: Routes
    workers: Workers
    notes: bool
    """Whether answers tell what was done."""
    hop: str
    """This proxy's name in `x-cuesta-hop`."""


@dataclass(slots=True)
class Call:
    """What came in.

    Attributes:
        method: The HTTP method.
        target: Path and query as the client wrote them, without a run prefix.
        run: The run that the prefix named, or empty.
        headers: As received.
        body: As received; empty once it is on its way.
    """

    method: str
    target: str
    run: str
    headers: RawHeaders
    body: bytes

    @property
    def path(self) -> str:
        """The path without its query."""
        return self.target.partition("?")[0]


class Visit:
    """One request, driven to its end.

    Args:
        house: What all visits share.
        call: What came in.
        relay: Carries request and answer.
    """

    def __init__(self, house: House, call: Call, relay: Relay) -> None:
        self._house = house
        self._call = call
        self._relay = relay
        self._upstream, self._target = house.routes.find(call.target, call.headers)
        self._at = time.time()
        self._left = False
        self._talk: asyncio.Task[None] | None = None

    def leave(self) -> None:
        """End the talk with the upstream: the client is gone. Too late, it changes nothing."""
        if self._talk is None or self._talk.cancel():
            self._left = True

    async def run(self) -> None:
        """Plan, send, relay, and close the books.

        Raises:
            RequestError: If the request is refused; nothing was sent.
        """
        plan = await self._plan()
        decide, settle = plan.decide, plan.settle
        if isinstance(plan.send, Refuse):
            await self._relay.refuse(plan.send, noted=self._house.notes)
            await settle()
            return
        outgoing = self._outgoing(plan.send)
        del plan
        await self._relay_answer(outgoing, decide)
        await settle()

    async def _plan(self) -> _Plan:
        try:
            body = await self._decoded()
        except UndecodableError:
            return self._without_exchange("pass", "the body cannot be decoded")
        try:
            course = self._course(body)
            send = await course.plan()
        except Exception as error:  # noqa: BLE001 - rule 2
            self._count_failure(error)
            return self._without_exchange("failed", type(error).__name__)
        return _Plan(send, partial(self._decide, course), partial(self._settle, course))

    async def _decoded(self) -> bytes:
        encoding = value(self._call.headers, b"content-encoding").decode("latin-1")
        if not self._call.body or is_plain(encoding):
            return self._call.body
        work = partial(decode, self._call.body, encoding, DECODED_LIMIT)
        return await self._house.workers.on_body(work)

    def _course(self, body: bytes) -> Course:
        house, call = self._house, self._call
        headers = for_exchange(call.headers)
        arrived = Arrived(
            self._at, call.method, call.path, headers, body, call.run, self._upstream.host
        )
        means = Means(house.store, house.reports.record, self._ask, house.workers)
        return Course(house.engine.exchange(arrived), means, large=len(body) > LARGE_BODY)

    async def _ask(self, question: Ask) -> Told:
        """Ask the model with the client's own credentials, where its request goes."""
        headers = for_question(
            self._call.headers, len(question.body), self._house.hop if self._upstream.local else ""
        )
        return await ask(self._upstream, self._target, headers, question)

    def _outgoing(self, send: Send) -> Outgoing:
        call = self._call
        content = call.body if send.body is None else send.body
        headers = for_upstream(
            call.headers,
            len(content),
            replaced=send.body is not None,
            hop=self._house.hop if self._upstream.local else "",
        )
        return Outgoing(
            method=call.method,
            target=self._target,
            headers=headers,
            body=Body(content) if content else None,
            watched=bool(send.dialect),
            tap=self._house.taps.get(send.dialect),
        )

    async def _decide(self, course: Course, head: Accepted | Refused) -> Outgoing | str:
        """Ask the exchange what follows an answer's head: another form, or relay it (a note)."""
        try:
            wanted = await course.headed(head)
        except Exception as error:  # noqa: BLE001 - the upstream's answer is as good as any
            self._count_failure(error)
            return ""
        if isinstance(wanted, Send):
            return self._outgoing(wanted)
        self._call.body = b""
        return wanted.note if self._house.notes else ""

    async def _relay_as_it_is(self, head: Accepted | Refused) -> Outgoing | str:
        del head
        self._call.body = b""
        return ""

    async def _relay_answer(self, outgoing: Outgoing, decide: Decide) -> None:
        """Have the request relayed, until that is done or the client leaves."""
        if self._left:
            return
        self._talk = asyncio.create_task(self._relay.run(self._upstream, outgoing, decide))
        await asyncio.wait((self._talk,))
        if self._relay.trouble:
            self._house.reports.note_trouble(self._relay.trouble)
        if not self._talk.cancelled() and (bug := self._talk.exception()) is not None:
            self._count_failure(bug)

    async def _settle(self, course: Course) -> None:
        relay = self._relay
        answered = Answered(time.time(), relay.status, relay.usage, self._aborted)
        try:
            await course.settle(answered)
        except Exception as error:  # noqa: BLE001 - the answer is out; only the books suffer
            self._count_failure(error)

    def _without_exchange(self, action: str, reason: str) -> _Plan:
        """Send the client's own request, and record it ourselves."""
        send = Send(body=None, dialect="")
        return _Plan(send, self._relay_as_it_is, partial(self._note, action, reason))

    async def _note(self, action: str, reason: str) -> None:
        event = TraceEvent(
            at=self._at,
            conversation="",
            dialect="",
            path=self._call.path,
            model="",
            action=action,
            reason=reason,
            status=self._relay.status,
            seconds=time.time() - self._at,
            aborted=self._aborted,
            run=self._call.run,
        )
        self._house.reports.record(event)

    @property
    def _aborted(self) -> bool:
        return self._left or self._relay.client_left

    def _count_failure(self, error: BaseException) -> None:
        _logger.error("an exchange failed (%s); its request goes as it came", type(error).__name__)
        self._house.reports.count_failure()


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to send, what to do with the answer's head, and how to close the books at the end."""

    send: Send | Refuse
    decide: Decide
    settle: Callable[[], Awaitable[None]]
