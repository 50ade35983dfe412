"""Where OpenCode keeps its sessions: files of JSON, or since 1.2 a database; see `opencode`.

Sources: OpenCode's `storage.ts` and `session.sql.ts`. Of files there is one for each session, each
message and each part, in folders beside one another; of tables too.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from cuesta.harnesses.saved.base import Json, Problems, decode, encode

MAGIC = b"SQLite format 3\0"
"""What a database begins with."""
_TABLES = frozenset({"session", "message", "part"})


def is_storage(folder: Path) -> bool:
    """Tell whether a folder is OpenCode's, in which only `session` holds files of their own."""
    return all((folder / name).is_dir() for name in _TABLES)


def with_messages(path: Path, content: bytes, problems: Problems) -> bytes:
    """Return a session's file with the messages that stand in files of their own."""
    try:
        info = decode(content)
    except ValueError:
        return content
    name = info.get("id") if isinstance(info, dict) else None
    if name != path.stem or len(path.parents) < 3:
        return content
    places = (path.parents[2] / "message" / name, path.parents[1] / "message" / name)
    folder = next((place for place in places if place.is_dir()), None)
    if folder is None:
        return content
    found = [
        {"info": message, "parts": _parts(folder.parents[1] / "part", name, file.stem, problems)}
        for file, message in _objects(folder, problems)
    ]
    return encode({"info": info, "messages": sorted(found, key=_order)})


def _parts(root: Path, session: str, message: str, problems: Problems) -> list[Json]:
    """Read a message's parts, whose names tell their order."""
    places = (root / message, root / session / message)
    folder = next((place for place in places if place.is_dir()), None)
    return [part for _, part in _objects(folder, problems)] if folder else []


def _objects(folder: Path, problems: Problems) -> Iterator[tuple[Path, Json]]:
    for file in sorted(folder.glob("*.json")):
        try:
            value = decode(file.read_bytes())
        except (OSError, ValueError):
            problems.note("not JSON")
            continue
        if isinstance(value, dict):
            yield file, value
        else:
            problems.note("not an object")


def _order(message: Json) -> tuple[float, str]:
    time = message["info"].get("time")
    created = time.get("created") if isinstance(time, dict) else 0
    return (created if isinstance(created, int | float) else 0, str(message["info"].get("id")))


def database_sessions(path: Path) -> Iterator[tuple[str, bytes, Problems]]:
    """Yield each session of a database: its name, as it would be exported, and what is broken.

    Raises:
        ValueError: If it is no database of OpenCode's.
    """
    try:
        with closing(_open(path)) as database:
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
            if not tables >= _TABLES:
                raise ValueError("a database of another program")
            rows = database.execute("SELECT id, parent_id FROM session ORDER BY time_created, id")
            for name, parent in rows.fetchall():
                problems = Problems()
                messages = list(_messages(database, name, problems))
                info = {"id": name, "parentID": parent}
                yield str(name), encode({"info": info, "messages": messages}), problems
    except sqlite3.Error:
        raise ValueError("a database that cannot be read") from None


def _open(path: Path) -> sqlite3.Connection:
    """Open a database for reading, whether or not somebody writes to it."""
    place = f"file:{quote(str(path.absolute()))}"
    try:
        database = sqlite3.connect(f"{place}?mode=ro", uri=True)
        database.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError:
        return sqlite3.connect(f"{place}?immutable=1", uri=True)
    return database


def _messages(database: sqlite3.Connection, session: str, problems: Problems) -> Iterator[Json]:
    parts: dict[str, list[Json]] = {}
    for _, message, data in database.execute(
        "SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id", [session]
    ):
        parts.setdefault(message, []).extend(_row(data, problems))
    for name, data in database.execute(
        "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", [session]
    ):
        for info in _row(data, problems):
            yield {"info": {**info, "id": name}, "parts": parts.get(name, [])}


def _row(data: str | bytes, problems: Problems) -> Iterator[Json]:
    """Yield a row's object, if it is one."""
    try:
        value = decode(data.encode() if isinstance(data, str) else data)
    except (ValueError, AttributeError, TypeError):
        value = None
    if isinstance(value, dict):
        yield value
    else:
        problems.note("not an object")
