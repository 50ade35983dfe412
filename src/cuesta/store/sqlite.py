"""The store on disk: one SQLite database in the state folder, shared by several processes.

Rule 1: a commit is on disk before it returns, with one fsync. Everything else is written behind.
Rule 2: `look_up` reads memory. It knows all keys in the file; rows that another process added are
fetched when SQLite says that the file has changed.
Rule 3: no error of the disk reaches a request. What cannot be written is kept in memory, written
with the next commit that succeeds, and `degraded` says so meanwhile.
"""

from __future__ import annotations

import contextlib
import sqlite3
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING

from cuesta.core.errors import CuestaError
from cuesta.core.ledger import Entry
from cuesta.store.base import LEDGER_LIMIT, Store
from cuesta.store.database import (
    NewerSchemaError,
    connect,
    in_words,
    is_damage,
    prepare,
    transaction,
)
from cuesta.store.memory import MemoryStore
from cuesta.store.totals import Totals
from cuesta.store.trace_log import TraceLog

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cuesta.trace.event import TraceEvent

FILE_NAME = "cuesta.db"


def open_store(folder: Path) -> Store:
    """Open the store of a state folder, whatever state the folder is in.

    Args:
        folder: Where the database is or will be; see `paths.state_folder`.

    Returns:
        The store; where no database can be used, one in memory whose `degraded` says why.
    """
    path = folder / FILE_NAME
    try:
        return SqliteStore(path, notice=prepare(path))
    except (OSError, sqlite3.Error, NewerSchemaError) as error:
        return MemoryStore(f"nothing is kept on disk: {path}: {in_words(error)}")


def read_store(folder: Path) -> Store:
    """Open the store of a state folder for somebody who only looks: what is damaged stays there.

    Raises:
        CuestaError: If the database cannot be read.
    """
    path = folder / FILE_NAME
    try:
        prepare(path, mend=False)
        return SqliteStore(path)
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise CuestaError(f"{path}\ncannot be read: {in_words(error)}") from error
        raise CuestaError(
            f"the database is damaged ({in_words(error)}):\n  {path}\n"
            "It was left as it is; the next proxy that starts moves it aside and begins a new one."
        ) from error
    except (OSError, sqlite3.Error, NewerSchemaError) as error:
        raise CuestaError(f"{path}\ncannot be read: {in_words(error)}") from error


class SqliteStore:
    """Ledger and trace in a database file.

    Args:
        path: The file, prepared by `database.prepare`.
        notice: What had to be done to the file, for a person to read.

    Raises:
        sqlite3.Error: If the file cannot be read.
    """

    def __init__(self, path: Path, notice: str = "") -> None:
        self._notice = notice
        self._trouble = ""
        self._known: dict[bytes, Entry | None] = {}
        self._unwritten: dict[bytes, bytes] = {}
        self._seen_version = -1
        self._seen_id = 0
        self._lock = Lock()
        self._commit_lock = Lock()
        with contextlib.ExitStack() as opened:
            self._reader = connect(path, synchronous="NORMAL", busy_ms=50)
            opened.callback(self._reader.close)
            self._writer = connect(path, synchronous="FULL", busy_ms=5000)
            opened.callback(self._writer.close)
            # A checkpoint costs fsyncs of its own: the trace's thread does it.
            self._writer.execute("PRAGMA wal_autocheckpoint = 0")
            self._read_new_keys()
            self._trace = TraceLog(path)
            opened.callback(self._trace.close)
            self._connections = opened.pop_all()

    @property
    def degraded(self) -> str:
        """Why less is kept than promised; empty: all is well."""
        return "; ".join(filter(None, (self._notice, self._trouble, self._trace.trouble)))

    def look_up(self, keys: Sequence[bytes]) -> tuple[bytes, Entry] | tuple[None, None]:
        """Return the first of the keys, in the given order, that the ledger holds."""
        with self._lock:
            try:
                self._read_new_keys()
            except sqlite3.Error as error:
                self._trouble = f"the ledger cannot be read: {error}"
            for key in keys:
                if key in self._known:
                    entry = self._entry(key)
                    if entry is not None:
                        return key, entry
        return None, None

    def commit(self, key: bytes, entry: Entry) -> None:
        """Write an entry, over an older one; durable on return unless `degraded` says no."""
        with self._commit_lock:
            self._unwritten[key] = entry.to_json()
            try:
                with transaction(self._writer):
                    self._writer.executemany(
                        "INSERT OR REPLACE INTO ledger (key, entry) VALUES (?, ?)",
                        list(self._unwritten.items()),
                    )
            except sqlite3.Error as error:
                self._trouble = f"ledger entries are kept in memory only: {error}"
            else:
                self._unwritten.clear()
                self._trouble = ""
            with self._lock:
                self._known[key] = entry

    def record(self, event: TraceEvent) -> None:
        """Hand a trace event to the thread that writes it."""
        self._trace.record(event)

    def events(self, n: int, run: str | None = None) -> list[TraceEvent]:
        """Return the last events of all processes, the newest first, of one run or of all."""
        with contextlib.closing(self._trace.events(run)) as events:
            return list(islice(events, n))

    def totals(self, run: str | None = None) -> Totals:
        """Return the sums over all kept events, or over those of one run."""
        with contextlib.closing(self._trace.events(run)) as events:
            return Totals.over(events)

    def close(self) -> None:
        """Write what is still waiting and close the file."""
        with contextlib.suppress(sqlite3.Error):
            self._writer.execute(
                "DELETE FROM ledger WHERE id <= (SELECT max(id) FROM ledger) - ?", (LEDGER_LIMIT,)
            )
        self._connections.close()

    def _read_new_keys(self) -> None:
        """Learn the keys that other processes have added since the last time."""
        version: int = self._reader.execute("PRAGMA data_version").fetchone()[0]
        if version == self._seen_version:
            return
        rows = self._reader.execute(
            "SELECT id, key FROM ledger WHERE id > ? ORDER BY id", (self._seen_id,)
        )
        for self._seen_id, key in rows:
            self._known[key] = None
        self._seen_version = version

    def _entry(self, key: bytes) -> Entry | None:
        """Return the entry of a known key, reading it at its first use."""
        entry = self._known[key]
        if entry is not None:
            return entry
        try:
            row = self._reader.execute("SELECT entry FROM ledger WHERE key = ?", (key,)).fetchone()
            entry = Entry.from_json(row[0]) if row else None
        except sqlite3.Error as error:
            self._trouble = f"the ledger cannot be read: {error}"
            return None
        except ValueError:  # of another version: the conversation is derived again
            entry = None
        if entry is None:
            del self._known[key]
        else:
            self._known[key] = entry
        return entry
