"""The trace on disk: written in batches by one thread, so that no request waits for it."""

from __future__ import annotations

import contextlib
import json
import queue
import sqlite3
import threading
from collections import deque
from typing import TYPE_CHECKING

from cuesta.store.database import connect, transaction
from cuesta.trace.event import TraceEvent

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

TRACE_LIMIT = 100_000
"""Events kept on disk; older ones are pruned."""

_WAITING_LIMIT = 10_000
_BATCH_LIMIT = 500
_BATCH_SECONDS = 0.1
_PRUNE_EVERY = 2_000
_FLUSH_SECONDS = 10.0

_INSERT = "INSERT INTO trace (run, record) VALUES (?, ?)"
_PRUNE = "DELETE FROM trace WHERE id <= (SELECT max(id) FROM trace) - ?"
_NEWEST = "SELECT record FROM trace ORDER BY id DESC"
_NEWEST_OF_RUN = "SELECT record FROM trace WHERE run = ? ORDER BY id DESC"


class TraceLog:
    """Trace events in a table. `record` never waits; what cannot be written stays in memory.

    Args:
        path: The prepared database file.
        limit: How many events are kept on disk.
    """

    def __init__(self, path: Path, limit: int = TRACE_LIMIT) -> None:
        self.trouble = ""
        """Why events are not on disk; empty: they are."""
        self._path = path
        self._limit = limit
        self._waiting: queue.Queue[TraceEvent | threading.Event | None] = queue.Queue(
            _WAITING_LIMIT
        )
        self._unwritten: deque[TraceEvent] = deque(maxlen=_WAITING_LIMIT)
        self._lock = threading.Lock()
        self._since_pruning = _PRUNE_EVERY
        self._closing = threading.Event()
        self._connection = connect(path, synchronous="NORMAL", busy_ms=5000)
        self._thread = threading.Thread(target=self._work, name="cuesta-trace", daemon=True)
        self._thread.start()

    def record(self, event: TraceEvent) -> None:
        """Hand an event to the writer; one that is too far behind loses it and says so."""
        try:
            self._waiting.put_nowait(event)
        except queue.Full:
            self.trouble = "trace events were lost: the disk does not keep up"

    def events(self, run: str | None = None) -> Generator[TraceEvent, None, None]:
        """Yield the events of one run, or of all, the newest first; close it when done early."""
        self._flush()
        with self._lock:
            unwritten = list(self._unwritten)
        for event in reversed(unwritten):
            if run is None or event.run == run:
                yield event
        try:
            with contextlib.closing(
                connect(self._path, synchronous="NORMAL", busy_ms=5000)
            ) as connection:
                yield from _read(connection, run)
        except sqlite3.Error as error:
            self.trouble = f"the trace cannot be read: {error}"

    def close(self) -> None:
        """Write what is waiting and end the thread."""
        self._closing.set()
        if self._thread.is_alive():
            self._waiting.put(None)
            self._thread.join()
        self._connection.close()

    def _flush(self) -> None:
        """Wait until all that was recorded before this call is written or known unwritable."""
        written = threading.Event()
        with contextlib.suppress(queue.Full):
            self._waiting.put(written, timeout=_FLUSH_SECONDS)
            written.wait(_FLUSH_SECONDS)

    def _work(self) -> None:
        going_on = True
        while going_on:
            batch: list[TraceEvent] = []
            readers: list[threading.Event] = []
            for item in self._next_items():
                if item is None:
                    going_on = False
                elif isinstance(item, threading.Event):
                    readers.append(item)
                else:
                    batch.append(item)
            if batch:
                self._write(batch)
            for reader in readers:
                reader.set()

    def _next_items(self) -> Iterator[TraceEvent | threading.Event | None]:
        """Wait for an item, then a moment for more, and yield what has come."""
        first = self._waiting.get()
        yield first
        if isinstance(first, TraceEvent):
            self._closing.wait(_BATCH_SECONDS)
        for _ in range(_BATCH_LIMIT):
            try:
                yield self._waiting.get_nowait()
            except queue.Empty:
                return

    def _write(self, batch: list[TraceEvent]) -> None:
        with self._lock:
            self._unwritten.extend(batch)
            events = list(self._unwritten)
        rows = [(e.run, json.dumps(e.to_dict(), separators=(",", ":"))) for e in events]
        try:
            with transaction(self._connection):
                self._connection.executemany(_INSERT, rows)
                self._prune(len(rows))
        except sqlite3.Error as error:
            self.trouble = f"trace events are kept in memory only: {error}"
        else:
            with self._lock:
                self._unwritten.clear()
            self.trouble = ""

    def _prune(self, written: int) -> None:
        self._since_pruning += written
        if self._since_pruning >= _PRUNE_EVERY:
            self._connection.execute(_PRUNE, (self._limit,))
            self._since_pruning = 0


def _read(connection: sqlite3.Connection, run: str | None) -> Iterator[TraceEvent]:
    rows = connection.execute(*((_NEWEST,) if run is None else (_NEWEST_OF_RUN, (run,))))
    for (record,) in rows:
        with contextlib.suppress(ValueError):  # written by a newer version
            yield TraceEvent.from_dict(json.loads(record))
