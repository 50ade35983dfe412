"""A store that ends with the process: as asked for, or where no disk can be used."""

from __future__ import annotations

from collections import OrderedDict, deque
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING

from cuesta.store.base import LEDGER_LIMIT
from cuesta.store.totals import Totals

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cuesta.core.ledger import Entry
    from cuesta.trace.event import TraceEvent

EVENT_LIMIT = 10_000


class MemoryStore:
    """A bounded store in memory; the entries used longest ago and the oldest events go first.

    Args:
        degraded: Why this stands in for a store on disk, if it does.
        ledger_limit: How many entries are kept.
        event_limit: How many events are kept.
    """

    def __init__(
        self, degraded: str = "", ledger_limit: int = LEDGER_LIMIT, event_limit: int = EVENT_LIMIT
    ) -> None:
        self._degraded = degraded
        self._limit = ledger_limit
        self._ledger: OrderedDict[bytes, Entry] = OrderedDict()
        self._events: deque[TraceEvent] = deque(maxlen=event_limit)
        self._lock = Lock()

    @property
    def degraded(self) -> str:
        """Why this stands in for a store on disk; empty: it was asked for."""
        return self._degraded

    def look_up(self, keys: Sequence[bytes]) -> tuple[bytes, Entry] | tuple[None, None]:
        """Return the first of the keys, in the given order, that the ledger holds."""
        with self._lock:
            for key in keys:
                entry = self._ledger.get(key)
                if entry is not None:
                    self._ledger.move_to_end(key)
                    return key, entry
        return None, None

    def commit(self, key: bytes, entry: Entry) -> None:
        """Keep an entry, as durably as memory can."""
        with self._lock:
            self._ledger[key] = entry
            self._ledger.move_to_end(key)
            while len(self._ledger) > self._limit:
                self._ledger.popitem(last=False)

    def record(self, event: TraceEvent) -> None:
        """Keep a trace event."""
        with self._lock:
            self._events.append(event)

    def events(self, n: int, run: str | None = None) -> list[TraceEvent]:
        """Return the last events, the newest first, of one run or of all."""
        return list(islice(self._newest_first(run), n))

    def totals(self, run: str | None = None) -> Totals:
        """Return the sums over all kept events, or over those of one run."""
        return Totals.over(self._newest_first(run))

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""

    def _newest_first(self, run: str | None) -> Iterator[TraceEvent]:
        with self._lock:
            events = list(self._events)
        return (event for event in reversed(events) if run is None or event.run == run)
