"""Recordings on disk: a folder with one file a process, written by a thread of its own.

Rule 1: whoever records never waits and never fails. Where the disk is full or too slow, recording
ends with one warning, and the file with a whole line.
Rule 2: a line is only ever added, in one piece, so that a crash leaves at most the last one broken.
"""

from __future__ import annotations

import base64
import contextlib
import heapq
import json
import logging
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from cuesta.core.errors import ConfigError
from cuesta.trace.recording import Line, Opened, Recorded, from_dict, joined, to_dict

_logger = logging.getLogger(__name__)

SUFFIX = ".jsonl"
_PLAIN_LIMIT = 4_096
"""Bytes of a body up to which it stands in its line as text."""
_BODY_LIMIT = 256 << 20
"""Bytes that a body may have when it is read back."""
_WAITING_LIMIT = 256 << 20
"""Bytes of bodies that may wait to be written."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)


def recording_folder(name: str) -> Path:
    """Make sure that a folder can be recorded in, and return it.

    A folder that is there already keeps its permissions; one that is made is its owner's alone.

    Raises:
        ConfigError: If it cannot.
    """
    folder = Path(name).expanduser()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"record: {folder}: {error.strerror}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(f"record: {folder}: Permission denied")
    return folder


class Recording:
    """One process's recording; close it at the end.

    Args:
        folder: From `recording_folder`.
        options: How the process compacts: the fields of `CompactionOptions`.
        waiting_limit: Bytes of bodies that may wait to be written.

    Raises:
        ConfigError: If the file cannot be made.
    """

    def __init__(
        self, folder: Path, options: Mapping[str, Any], *, waiting_limit: int = _WAITING_LIMIT
    ) -> None:
        self.trouble = ""
        """Why recording has ended, for a person to read; empty: it goes on."""
        try:
            self.path, self._file = _new_file(folder)
        except OSError as error:
            raise ConfigError(f"record: {folder}: {error.strerror}") from error
        self._size = 0
        self._limit = waiting_limit
        self._waiting = 0
        self._lock = threading.Lock()
        self._lines: queue.SimpleQueue[Line | None] = queue.SimpleQueue()
        self.keep(Opened(time.time(), self.path.stem, options))
        self._thread = threading.Thread(target=self._work, name="cuesta-recording", daemon=True)
        self._thread.start()

    def keep(self, line: Line) -> None:
        """Hand a line to the writer."""
        if self.trouble:
            return
        with self._lock:
            behind = self._waiting and self._waiting + _weight(line) > self._limit
            self._waiting += _weight(line)
        if behind:
            self._end("the disk does not keep up")
        self._lines.put(line)

    def close(self) -> None:
        """Write what is waiting and end the thread."""
        self._lines.put(None)
        self._thread.join()
        os.close(self._file)

    def _work(self) -> None:
        while (line := self._lines.get()) is not None:
            if not self.trouble:
                self._write(line)
            with self._lock:
                self._waiting -= _weight(line)

    def _write(self, line: Line) -> None:
        try:
            data = encode(line)
            _append(self._file, data)
            self._size += len(data)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._size)
            self._end(error.strerror or type(error).__name__)
        except Exception as error:  # noqa: BLE001 - rule 1
            self._end(type(error).__name__)

    def _end(self, reason: str) -> None:
        with self._lock:
            first, self.trouble = not self.trouble, self.trouble or f"recording ended: {reason}"
        if first:
            _logger.warning("%s; see %s for what came before", self.trouble, self.path)


def encode(line: Line) -> bytes:
    """Write a line, its end included. A large body is compressed, one that is no text in base64."""
    record = to_dict(line)
    if isinstance(body := record.get("body"), bytes):
        record["body"] = _packed(body)
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def decode(text: bytes) -> Line:
    """Read a line.

    Raises:
        ValueError: If it is none, saying why in a few words.
    """
    try:
        record = msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ValueError("not JSON") from None
    if isinstance(body := record.get("body"), str | dict):
        record["body"] = _unpacked(body)
    return from_dict(record)


def read_lines(path: Path, broken: Callable[[str], None] = lambda _: None) -> Iterator[Line]:
    """Yield the lines of a recording.

    Args:
        path: The file.
        broken: Told why, for each line that cannot be read and is left out.
    """
    with path.open("rb") as file:
        for text in file:
            try:
                yield decode(text)
            except ValueError as error:
                broken(str(error))


def read_recording(
    path: Path, broken: Callable[[str], None] = lambda _: None
) -> Iterator[Recorded]:
    """Yield the requests of one recording, in the order in which they came.

    Args:
        path: The file.
        broken: Told why, for each line that cannot be read and is left out.

    Raises:
        OSError: If the file cannot be read.
    """
    return joined(read_lines(path, broken))


def read_recordings(folder: Path) -> Iterator[Recorded]:
    """Yield the requests of all recordings in a folder, in the order in which they came.

    Raises:
        OSError: If a file cannot be read.
    """
    files = sorted(folder.glob(f"*{SUFFIX}"))
    recordings: Iterable[Iterator[Recorded]] = map(read_recording, files)
    return heapq.merge(*recordings, key=lambda request: request.came.at)


def _packed(body: bytes) -> str | dict[str, str]:
    if len(body) > _PLAIN_LIMIT:
        return {"zstd": base64.b64encode(zstandard.compress(body, 3)).decode()}
    try:
        return body.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}


def _unpacked(packed: str | dict[str, str]) -> bytes:
    if isinstance(packed, str):
        return packed.encode()
    try:
        if "base64" in packed:
            return base64.b64decode(packed["base64"], validate=True)
        data = base64.b64decode(packed["zstd"], validate=True)
        if not 0 <= zstandard.frame_content_size(data) <= _BODY_LIMIT:
            raise ValueError("a recorded body is too long")
        return zstandard.decompress(data)
    except (KeyError, TypeError, zstandard.ZstdError):
        raise ValueError("a recorded body is broken") from None


def _weight(line: Line) -> int:
    return len(getattr(line, "body", None) or b"")


def _append(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _new_file(folder: Path) -> tuple[Path, int]:
    """Make a file that nobody else has; return its path and descriptor."""
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    for number in count(1):
        path = folder / f"{name}{f'-{number}' if number > 1 else ''}{SUFFIX}"
        with contextlib.suppress(FileExistsError):
            return path, os.open(path, _NEW, 0o600)
    raise AssertionError("counting has no end")
