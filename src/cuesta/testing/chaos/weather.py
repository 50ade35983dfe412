"""What happens to one proxy, when: kills and losses at seeded places of the run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from pathlib import Path
from random import Random

from cuesta.testing.chaos.asks import Ask
from cuesta.testing.chaos.notes import Lost
from cuesta.testing.chaos.proxies import (
    ChaosError,
    ProxyProcess,
    copy,
    remove,
    restore,
    scribble,
    shorten,
    sound,
)
from cuesta.testing.chaos.report import Report

_PATIENCE = 60.0
_CUT_PATIENCE = 5.0
_MOMENT = 0.02
"""Seconds within which a kill falls, once it is due: where in a request is left to chance."""


class Loss(Enum):
    """One thing that happens."""

    WORKER = "a worker killed"
    KILLED = "killed"
    MID_ANSWER = "killed between the bytes of an answer"
    DELETED = "killed, database deleted"
    RESTORED = "killed, older database restored"
    SCRIBBLED = "killed, noise in the database"
    SHORTENED = "killed, database cut short"
    DELETED_LIVE = "database deleted while running, then killed"


_DAMAGED = "still damaged"


class Weather:
    """Breaks one proxy again and again, and starts it anew.

    Args:
        proxy: The proxy.
        dice: Decides what happens when.
        every: About how many requests lie between two losses.
        report: Is added to.
        log: Called with a line for everything that happens.

    Attributes:
        lost: What has been lost of its databases so far.
    """

    def __init__(
        self,
        proxy: ProxyProcess,
        dice: Random,
        every: int,
        report: Report,
        log: Callable[[str], None],
    ) -> None:
        self.lost = Lost()
        self._proxy = proxy
        self._dice = dice
        self._every = every
        self._report = report
        self._log = log
        self._kinds = [kind for kind in Loss if kind is not Loss.WORKER or proxy.count > 1]
        self._bag: list[Loss] = []
        self._copy = proxy.database.with_suffix(".copy")
        self._left = self._interval()
        self._due = asyncio.Event()
        self._up = asyncio.Event()
        self._doing = "it was never started"
        self._cutting: asyncio.Event | None = None
        self._down = asyncio.Event()

    async def clear(self) -> None:
        """Wait until the proxy is to be reached.

        Raises:
            ChaosError: If it is not, for a long time.
        """
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._up.wait()
        except TimeoutError:
            raise ChaosError(f"the proxy did not come back; {self._doing}") from None

    def tick(self) -> None:
        """Count a request that was answered."""
        self._left -= 1
        if self._left <= 0:
            self._left = self._interval()
            self._due.set()

    async def pause(self, ask: Ask) -> None:
        """In the middle of an answer: let it break off here, if that is due."""
        cutting, self._cutting = self._cutting, None
        if cutting is None:
            return
        with suppress(TimeoutError):  # a proxy may hold back what no model has said yet
            async with asyncio.timeout(_CUT_PATIENCE / 2):
                await ask.reading.wait()
        cutting.set()
        await self._down.wait()

    async def run(self) -> None:
        """Start the proxy and go on until cancelled; it is killed at the end."""
        try:
            await self._start()
            while True:
                await self._due.wait()
                self._due.clear()
                await self._strike(self._next())
        finally:
            await self._proxy.kill()

    async def _start(self) -> None:
        await self._proxy.start()
        self._up.set()
        if self._dice.random() < 0.5:
            await asyncio.to_thread(copy, self._proxy.database, self._copy)

    def _interval(self) -> int:
        return self._dice.randint(max(1, self._every // 2), max(1, self._every * 3 // 2))

    def _next(self) -> Loss:
        """Draw from a bag, so that everything happens before anything happens again."""
        if not self._bag:
            self._bag = list(self._kinds)
            self._dice.shuffle(self._bag)
        return self._bag.pop()

    async def _strike(self, loss: Loss) -> None:
        await asyncio.sleep(self._dice.random() * _MOMENT)
        self._report.losses[loss.value] += 1
        self._doing = loss.value
        self._log(f"{self._proxy.database.parents[1].name}: {loss.value}, {self.lost.count} before")
        if loss is Loss.WORKER:
            self._proxy.kill_worker(self._dice)
            return
        if loss is Loss.DELETED_LIVE:
            remove(self._proxy.database)
            self._lose(loss)
            await self._until_due()
        if loss is Loss.MID_ANSWER:
            await self._until_cut()
        self._up.clear()
        await self._proxy.kill()
        self._down.set()
        self._down = asyncio.Event()
        if self._harm(loss):
            self._lose(loss)
        elif not await asyncio.to_thread(sound, self._proxy.database):
            self.lost = Lost(self.lost.count + 1, _DAMAGED)
        await self._start()

    async def _until_due(self) -> None:
        """Let the clients go on for a while."""
        self._left = max(1, self._every // 4)
        await self._due.wait()
        self._due.clear()

    async def _until_cut(self) -> None:
        """Wait until a client has read the first bytes of an answer that waits for the rest."""
        self._cutting = cutting = asyncio.Event()
        try:
            async with asyncio.timeout(_CUT_PATIENCE):
                await cutting.wait()
        except TimeoutError:
            self._cutting = None

    def _harm(self, loss: Loss) -> bool:
        """Do to the database of the dead proxy what is to be done; tell whether anything was."""
        database: Path = self._proxy.database
        if loss is Loss.RESTORED and self._copy.exists():
            restore(database, self._copy)
        elif loss in {Loss.RESTORED, Loss.DELETED}:
            remove(database)
        elif loss is Loss.SCRIBBLED:
            scribble(database, self._dice)
        elif loss is Loss.SHORTENED:
            shorten(database, self._dice)
        else:
            return loss is Loss.DELETED_LIVE
        return True

    def _lose(self, loss: Loss) -> None:
        self.lost = Lost(self.lost.count + 1, loss.value)
