"""Reading files of saved sessions, wherever they are and however they are packed.

One file gives one `SavedFile`; an archive or a database gives one a member, one after the other, so
that no more than one member is in memory.
"""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from gzip import GzipFile
from pathlib import Path
from typing import Any

import zstandard

from cuesta.harnesses.saved import codex_store, opencode_store
from cuesta.harnesses.saved.base import BEGINNING, Problems
from cuesta.harnesses.saved.registry import recognise
from cuesta.trace.session import Session

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_TAR = slice(257, 262)
_BROKEN = (OSError, EOFError, ValueError, tarfile.TarError, zstandard.ZstdError)
_WITH_OTHERS: Mapping[str, Callable[[Path, bytes, Problems], bytes]] = {
    "codex": codex_store.with_base,
    "opencode": opencode_store.with_messages,
}
"""Formats whose sessions lie in several files: what brings them together."""


@dataclass(frozen=True, slots=True)
class SavedFile:
    """What one file, or one member of an archive or a database, holds.

    Attributes:
        path: The file.
        member: The member's name, or empty.
        harness: The agent program that saved it; empty: nothing that is read.
        sessions: Its sessions.
        problems: What could not be read, counted by reason.
        reason: Why there are no sessions; empty: there are.
    """

    path: Path
    member: str = ""
    harness: str = ""
    sessions: tuple[Session, ...] = ()
    problems: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""


def find(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files at paths and in folders below them, in sorted order, each once.

    A path at which there is nothing is yielded too: reading it tells so. Links to folders are not
    followed, but those that were given.
    """
    seen = set()
    for path in paths:
        for file in _below(path):
            if file not in seen:
                seen.add(file)
                yield file


def _below(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    inner = [path / "session"] if opencode_store.is_storage(path) else _entries(path)
    for entry in inner:
        if entry.is_dir() and not entry.is_symlink():
            yield from _below(entry)
        elif entry.is_file():
            yield entry


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def read_file(path: Path, part: int = 0, parts: int = 1) -> Iterator[SavedFile]:
    """Yield what a file holds: one value, or one a member of an archive or a database.

    Never raises for what a file holds: whatever cannot be read has a reason.

    Args:
        path: The file.
        part: Which part of an archive's members to read; what is no archive is in the first.
        parts: How many parts there are.
    """
    try:
        yield from _members(path, part, parts)
    except FileNotFoundError:
        yield SavedFile(path, reason="there is no such file")
    except PermissionError:
        yield SavedFile(path, reason="it may not be read")
    except _BROKEN as error:
        words = str(error).partition("\n")[0] if isinstance(error, ValueError) else ""
        yield SavedFile(path, reason=words or "it is broken")


def _members(path: Path, part: int, parts: int) -> Iterator[SavedFile]:
    with ExitStack() as stack:
        file = stack.enter_context(path.open("rb"))
        if file.peek(len(opencode_store.MAGIC)).startswith(opencode_store.MAGIC):
            for name, content, problems in () if part else opencode_store.database_sessions(path):
                yield _saved(path, name, io.BytesIO(content), problems)
            return
        plain = _plain(file, stack)
        if plain.peek(_TAR.stop)[_TAR] != b"ustar":
            if not part:
                yield _saved(path, "", plain, Problems())
            return
        archive = stack.enter_context(tarfile.open(fileobj=plain, mode="r|"))
        files = (member for member in archive if member.isfile())
        for number, member in enumerate(files):
            inner: Any = archive.extractfile(member) if number % parts == part else None
            if inner is not None:
                yield _saved(path, member.name, inner, Problems())


def _plain(file: io.BufferedReader, stack: ExitStack) -> io.BufferedReader:
    """Return a file's content as it was before it was compressed."""
    start = file.peek(len(_ZSTD))
    packed: Any = None
    if start.startswith(_GZIP):
        packed = GzipFile(fileobj=file)
    elif start.startswith(_ZSTD):
        packed = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
    if packed is None:
        return file
    return io.BufferedReader(stack.enter_context(packed), BEGINNING)


def _saved(path: Path, member: str, file: io.BufferedIOBase, problems: Problems) -> SavedFile:
    """Read one file; of a foreign one only the beginning."""
    pieces = _pieces(file, problems)
    beginning = b""
    for piece in pieces:
        beginning += piece
        if len(beginning) >= BEGINNING:
            break
    if not beginning.strip():
        return SavedFile(path, member, reason="it is broken" if problems.counts else "it is empty")
    saved = recognise(beginning)
    if saved is None:
        return SavedFile(path, member, reason="no format that is known")
    content = beginning + b"".join(pieces)
    gather = None if member else _WITH_OTHERS.get(saved.harness)
    if gather is not None:
        content = gather(path, content, problems)
    sessions = tuple(saved.read(content, problems))
    reason = "" if sessions else "no messages in it"
    return SavedFile(path, member, saved.harness, sessions, problems.counts, reason)


def _pieces(file: io.BufferedIOBase, problems: Problems) -> Iterator[bytes]:
    """Yield a file's content up to where it breaks off."""
    try:
        while piece := file.read1(BEGINNING):
            yield piece
    except _BROKEN:
        problems.note("broken off")


def homes(environ: Mapping[str, str]) -> Mapping[str, Path]:
    """Return where installed harnesses keep their sessions, by harness, as far as it is there.

    Args:
        environ: The environment, which may say where.
    """
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or os.sep)
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "opencode"
    agent = Path(environ.get("PI_CODING_AGENT_DIR") or home / ".pi" / "agent")
    places = {
        "claude-code": Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects",
        "codex": Path(environ.get("CODEX_HOME") or home / ".codex") / "sessions",
        "gemini-cli": Path(environ.get("GEMINI_CLI_HOME") or home) / ".gemini" / "tmp",
        "pi": Path(environ.get("PI_CODING_AGENT_SESSION_DIR") or agent / "sessions"),
        "opencode": data / "opencode.db" if (data / "opencode.db").is_file() else data / "storage",
    }
    return {name: place for name, place in places.items() if place.exists()}
