"""An exchange on its course: its commands are carried out, its events sent back.

Rule 1: an error in carrying out a command is thrown into the exchange, which fails open.
Rule 2: an error that leaves the exchange is a bug in it; whoever drives relays the original.
Rule 3: what reads much or waits for a disk runs in a thread, one at a time.
Rule 4: a step once begun is taken to its end, whoever stops waiting for it; the next one waits.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from cuesta.exchange.events import (
    Ask,
    Commit,
    Done,
    Found,
    LookUp,
    Record,
    Refuse,
    Relay,
    Send,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from cuesta.exchange.events import (
        Accepted,
        Answered,
        Command,
        Event,
        Exchange,
        Refused,
        Told,
    )
    from cuesta.store.base import Store
    from cuesta.trace.event import TraceEvent

T = TypeVar("T")


class Workers:
    """The threads of a proxy: one for work on large bodies, one for durable writes."""

    def __init__(self) -> None:
        self._bodies = ThreadPoolExecutor(1, thread_name_prefix="cuesta-bodies")
        self._writes = ThreadPoolExecutor(1, thread_name_prefix="cuesta-ledger")

    async def on_body(self, work: Callable[[], T]) -> T:
        """Run work on a large body without holding up the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._bodies, work)

    async def on_disk(self, work: Callable[[], T]) -> T:
        """Run work that waits for a disk."""
        return await asyncio.get_running_loop().run_in_executor(self._writes, work)

    def close(self) -> None:
        """End the threads when their work is done."""
        self._bodies.shutdown()
        self._writes.shutdown()


@dataclass(frozen=True, slots=True)
class Means:
    """What commands are carried out with.

    Attributes:
        store: Looks entries up and writes them.
        record: Where trace events go.
        ask: Asks the model.
        workers: Threads.
    """

    store: Store
    record: Callable[[TraceEvent], None]
    ask: Callable[[Ask], Awaitable[Told]]
    workers: Workers


class Course:
    """One exchange, driven.

    Args:
        exchange: Not yet started.
        means: What its commands are carried out with.
        large: Whether its steps up to `Send` run in a thread.
    """

    def __init__(self, exchange: Exchange, means: Means, *, large: bool) -> None:
        self._exchange = exchange
        self._means = means
        self._large = large
        self._step: asyncio.Task[Send | Refuse | Relay | None] | None = None

    async def plan(self) -> Send | Refuse:
        """Drive the exchange to what becomes of its request.

        Raises:
            Exception: Whatever left the exchange, or `RuntimeError` if it ended without one.
        """
        match await self._drive(None):
            case Send() | Refuse() as wanted:
                return wanted
        raise RuntimeError("the exchange ended before it sent anything")

    async def headed(self, head: Accepted | Refused) -> Send | Relay:
        """Tell the exchange how the upstream's answer begins, and return what it wants then.

        The caller may be cancelled.

        Raises:
            Exception: Whatever left the exchange, or `RuntimeError` if it ended.
        """
        self._step = asyncio.create_task(self._drive(head))
        wanted = await asyncio.shield(self._step)
        self._step = None  # it holds a body
        if wanted is None or isinstance(wanted, Refuse):
            raise RuntimeError("the exchange ended before the answer was relayed")
        return wanted

    async def settle(self, answered: Answered) -> None:
        """Tell the exchange how it went and drive it to its end.

        Raises:
            Exception: Whatever left the exchange.
        """
        if self._step is not None:
            await asyncio.wait((self._step,))
        self._large = False
        if await self._drive(answered) is not None:
            self._exchange.close()
            raise RuntimeError("the exchange goes on after its answer")

    async def _drive(self, event: Event | None) -> Send | Refuse | Relay | None:
        error: Exception | None = None
        while True:
            step = partial(_step, self._exchange, event, error)
            command = await self._means.workers.on_body(step) if self._large else step()
            if command is None or isinstance(command, Send | Refuse | Relay):
                return command
            event = error = None
            try:
                event = await self._carry_out(command)
            except Exception as failure:  # noqa: BLE001 - rule 1
                error = failure

    async def _carry_out(self, command: LookUp | Commit | Ask | Record) -> Event:
        match command:
            case Ask():
                return await self._means.ask(command)
            case LookUp(keys):
                return Found(*self._means.store.look_up(keys))
            case Commit(key, entry):
                await self._means.workers.on_disk(partial(self._means.store.commit, key, entry))
            case Record(event):
                self._means.record(event)
        return Done()


def _step(exchange: Exchange, event: Event | None, error: Exception | None) -> Command | None:
    """Take an exchange one command further; None: it has ended."""
    try:
        if error is not None:
            return exchange.throw(error)
        return next(exchange) if event is None else exchange.send(event)
    except StopIteration:
        return None
