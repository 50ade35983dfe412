"""The proxy's own pages, under `/-/cuesta/`: is it well, what has it done, and why."""

from __future__ import annotations

import asyncio
import os
import re
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from cuesta.core.errors import RequestError
from cuesta.store.bounds import bounded
from cuesta.store.totals import Totals

if TYPE_CHECKING:
    from collections.abc import Callable

    from cuesta.store.base import Store
    from cuesta.trace.event import TraceEvent

PREFIX = "/-/cuesta/"
_EXPLAIN_DEFAULT = 20
_EXPLAIN_LIMIT = 1_000
_NUMBER = re.compile(r"[1-9][0-9]{0,3}")


class Reports:
    """What has happened since the proxy's start, and the pages that show it.

    Args:
        store: Keeps the trace events.
        upstream: The upstream's address.
        workers: How many processes share the port; each tells of itself only.
    """

    def __init__(self, store: Store, upstream: str, workers: int = 1) -> None:
        self._store = store
        self._upstream = upstream
        self._workers = workers
        self._started_at = time.time()
        self._totals = Totals()
        self._failures = 0
        self._trouble = ""
        self._elsewhere: Callable[[], str] = str

    def record(self, event: TraceEvent) -> None:
        """Keep a trace event, without what is too long in it, and count it."""
        event = bounded(event)
        self._totals.add(event)
        self._store.record(event)

    def watch(self, elsewhere: Callable[[], str]) -> None:
        """Show what is amiss elsewhere; `elsewhere` says it in words, or returns nothing."""
        self._elsewhere = elsewhere

    def count_failure(self) -> None:
        """Count an exchange that failed."""
        self._failures += 1

    def note_trouble(self, message: str) -> None:
        """Remember why an upstream gave no answer, in the words that the client was told."""
        self._trouble = message

    async def page(self, method: str, target: str) -> Any:  # noqa: ANN401 - JSON
        """Return the page at a target under `PREFIX`, as JSON's plain values.

        Raises:
            RequestError: With status 400, 404 or 405.
        """
        parts = urlsplit(target)
        if method not in ("GET", "HEAD"):
            raise RequestError(f"{parts.path} can only be read: use GET", 405)
        match parts.path.removeprefix(PREFIX):
            case "health":
                return {"ok": True}
            case "status":
                return self._status()
            case "explain":
                events = await asyncio.to_thread(self._store.events, _count(parts.query))
                return [event.to_dict() for event in events]
        raise RequestError(
            f"no such page: there are {PREFIX}status, {PREFIX}explain and {PREFIX}health", 404
        )

    def _status(self) -> dict[str, Any]:
        return {
            "started_at": self._started_at,
            "process": os.getpid(),
            "workers": self._workers,
            "upstream": self._upstream,
            "failures": self._failures,
            "trouble": self._trouble,
            "degraded": self._store.degraded or self._elsewhere(),
            **self._totals.to_dict(),
        }


def _count(query: str) -> int:
    text = parse_qs(query).get("n", [str(_EXPLAIN_DEFAULT)])[0]
    if not _NUMBER.fullmatch(text) or int(text) > _EXPLAIN_LIMIT:
        raise RequestError(f"n must be a number from 1 to {_EXPLAIN_LIMIT}")
    return int(text)
