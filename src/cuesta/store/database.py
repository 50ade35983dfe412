"""The SQLite file: private, in WAL mode, with a schema version, moved aside where it is damaged."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA_VERSION = 1

_SCHEMA = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS ledger (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key BLOB NOT NULL UNIQUE,
    entry BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS trace (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run TEXT NOT NULL,
    record TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS trace_by_run ON trace (run, id);
PRAGMA user_version = 1;
COMMIT;
"""
"""`AUTOINCREMENT` never uses an id twice: newer rows are those above the last id known."""

_SIDE_FILES = ("", "-wal", "-shm")
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class NewerSchemaError(Exception):
    """The file was written by a newer version, which knows better what is in it."""


def connect(path: Path, *, synchronous: str, busy_ms: int) -> sqlite3.Connection:
    """Open one more connection, usable from any thread but by one at a time.

    Args:
        path: The database file, prepared by `prepare`.
        synchronous: `FULL`: a transaction survives a power cut when its commit returns. `NORMAL`:
            it survives a crash of the process.
        busy_ms: How long to wait for another writer, in milliseconds.

    Raises:
        sqlite3.Error: If the file cannot be opened or is no database.
    """
    connection = sqlite3.connect(
        path, timeout=busy_ms / 1000, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute(f"PRAGMA synchronous = {synchronous}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def prepare(path: Path, *, mend: bool = True) -> str:
    """Create the folder, the file and the schema as far as they are missing.

    A damaged file is moved aside. What is created is for its owner alone; a folder that is there
    already keeps its permissions.

    Args:
        path: The database file.
        mend: Whether a damaged file is moved aside; if not, its error is raised.

    Returns:
        What was moved aside and why, for a person to read; empty: nothing.

    Raises:
        OSError: If the folder or the file cannot be written.
        sqlite3.Error: If the database cannot be used for another reason than damage.
        NewerSchemaError: If a newer version wrote the file.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _one_at_a_time(path):
        try:
            _create(path)
        except sqlite3.DatabaseError as error:
            if not (mend and is_damage(error)):
                raise
            moved = _move_aside(path)
            _create(path)
            return f"the database was damaged; it now lies at {moved}, and a new one was begun"
    return ""


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write all or nothing, taking the writer's place at once.

    Raises:
        sqlite3.Error: If nothing was written.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def in_words(error: Exception) -> str:
    """Return what an error of the disk or the database says, without numbers and addresses."""
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return reason or type(error).__name__


def is_damage(error: sqlite3.Error) -> bool:
    """Tell whether an error means that the file's content is broken."""
    return (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _DAMAGE


def _create(path: Path) -> None:
    """Make a private file with the schema in it, and look at every page of it.

    Damage that a commit finds later would leave each process with a ledger of its own.
    """
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    for suffix in _SIDE_FILES:  # SQLite gives new side files the permissions of the first
        with contextlib.suppress(FileNotFoundError):
            Path(f"{path}{suffix}").chmod(0o600)
    with contextlib.closing(connect(path, synchronous="FULL", busy_ms=5000)) as connection:
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise NewerSchemaError(
                f"{path} was written by a newer version (schema {version}, this one knows "
                f"{SCHEMA_VERSION})"
            )
        connection.execute("PRAGMA journal_mode = WAL")
        if version < SCHEMA_VERSION:
            connection.executescript(_SCHEMA)
        found: str = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            error = sqlite3.DatabaseError("database disk image is malformed")
            error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise error


def _move_aside(path: Path) -> Path:
    aside = path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}")
    for suffix in _SIDE_FILES:
        with contextlib.suppress(FileNotFoundError):
            Path(f"{path}{suffix}").rename(f"{aside}{suffix}")
    return aside


@contextlib.contextmanager
def _one_at_a_time(path: Path) -> Iterator[None]:
    """Keep two processes from both finding a file damaged, and the second moving the new one."""
    try:
        import fcntl  # noqa: PLC0415 - not on every platform
    except ImportError:  # pragma: no cover - Windows refuses to move a file that is in use
        yield
        return
    lock = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
