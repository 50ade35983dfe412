"""What finished tasks have come to, kept in a folder, so that a run may be killed and go on.

`run.json` says what is run under which settings; `records.jsonl` holds a line a finished task.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from cuesta.jobs.errors import ResumeError

VERSION = 1

_IDENTITY = "run.json"
_RECORDS = "records.jsonl"
_LOCK = "lock"
_APPEND = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)


class Records:
    """The records of one run; a context that holds the folder for this process alone.

    Args:
        folder: Where they are; made if it is not there.
        identity: What is run under which settings, as JSON's plain values. Records made under
            another identity are not mixed with these.

    Raises:
        ResumeError: If the folder holds another run, and which setting differs; or if another
            process is at work in it.
        OSError: If the folder cannot be read or written.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.ExitStack() as stack:
            stack.callback(os.close, _locked(folder))
            _be_the_same(folder / _IDENTITY, {"v": VERSION, **identity})
            self._file = os.open(folder / _RECORDS, _APPEND, 0o600)
            stack.callback(os.close, self._file)
            self._places, self._size = _places(folder / _RECORDS)
            os.ftruncate(self._file, self._size)  # a torn last line would swallow the next one
            self._open = stack.pop_all()

    def done(self) -> frozenset[str]:
        """Return the keys of all tasks that have a record."""
        return frozenset(self._places)

    def add(self, key: str, record: Any) -> None:  # noqa: ANN401 - any JSON
        """Keep a task's record, all of it or nothing; killing this process does not lose it.

        Raises:
            ValueError: If the task has a record already, or the record is no JSON.
            OSError: If it cannot be written; nothing of it is.
        """
        if key in self._places:
            raise ValueError(f"{key} has a record already")
        line = json.dumps({"key": key, "record": record}, separators=(",", ":"), allow_nan=False)
        data = line.encode() + b"\n"
        try:
            _append(self._file, data)
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._size)
            raise
        self._places[key] = self._size
        self._size += len(data)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Yield keys and records, in the order in which they were added."""
        with (self._folder / _RECORDS).open("rb") as file:
            for key, place in list(self._places.items()):
                file.seek(place)
                yield key, json.loads(file.readline())["record"]

    def close(self) -> None:
        """Have the disk keep what was added, and let go of the folder."""
        os.fsync(self._file)
        self._open.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _append(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _places(path: Path) -> tuple[dict[str, int], int]:
    """Return where each key's line begins, and where the last whole line ends.

    A line that cannot be read is none: its task is not done.
    """
    places: dict[str, int] = {}
    size = 0
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            with contextlib.suppress(ValueError, KeyError, TypeError):
                record = json.loads(line)
                if "record" in record:
                    places[str(record["key"])] = size
            size += len(line)
    return places, size


def _be_the_same(path: Path, identity: dict[str, Any]) -> None:
    """Write a run's identity where there is none, else compare it."""
    identity = json.loads(json.dumps(identity))  # as it will be read: tuples are lists there
    try:
        there = json.loads(path.read_bytes())
    except FileNotFoundError:
        _write_whole(path, identity)
        return
    except ValueError:
        raise ResumeError(f"{path} cannot be read; is it another program's?") from None
    absent = object()
    for name in sorted({*there, *identity}):
        before, now = there.get(name, absent), identity.get(name, absent)
        if before != now:
            shown = (_shown(value) if value is not absent else "nothing" for value in (before, now))
            raise ResumeError(
                f"{path.parent} holds a run with another `{name}`: {' there, '.join(shown)} now.\n"
                "Take another folder, or the same settings."
            )


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _write_whole(path: Path, identity: dict[str, Any]) -> None:
    """Write a file so that it is there whole or not at all."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(identity, indent=2) + "\n", encoding="utf-8")
    new.chmod(0o600)
    new.replace(path)


def _locked(folder: Path) -> int:
    """Take the folder for this process; return what holds it until it is closed.

    Raises:
        ResumeError: If another process has it.
    """
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        import fcntl  # noqa: PLC0415 - not on every platform
    except ImportError:  # pragma: no cover - Windows: whoever starts two runs must know
        return lock
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise ResumeError(f"another process is at work in {folder}") from None
    return lock
