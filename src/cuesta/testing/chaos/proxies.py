"""A real proxy in processes of its own, to be killed, and what may happen to its database."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import sqlite3
import sys
import tempfile
from pathlib import Path
from random import Random

from cuesta.store.sqlite import FILE_NAME

_SIDE_FILES = ("", "-wal", "-shm")
_START_SECONDS = 60
_AGAIN_SECONDS = 0.1
_COMMAND = (sys.executable, "-P", "-m", "cuesta.cli.main", "serve")


class ChaosError(Exception):
    """The run itself cannot go on; it says nothing about bytes."""


class ProxyProcess:
    """`cuesta serve` on a port that stays the same.

    Args:
        folder: Holds the state and the log.
        upstream: Where it sends requests of all wires.
        threshold: In tokens; 0: automatic.
        workers: How many processes serve; 1: the option is left out.

    Attributes:
        port: Where it listens.
        count: How many processes serve.
        database: Its file.
    """

    def __init__(self, folder: Path, upstream: str, threshold: int, workers: int) -> None:
        self.port = _free_port()
        self.count = workers
        self.database = folder / "state" / FILE_NAME
        self._folder = folder
        self._arguments = [
            *("--port", str(self.port), "--state-dir", str(folder / "state")),
            *("--upstream", upstream, "--openai-upstream", upstream),
            *(("--threshold", str(threshold)) if threshold else ()),
            *(("--workers", str(workers)) if workers > 1 else ()),
        ]
        self._process: asyncio.subprocess.Process | None = None

    @property
    def log(self) -> Path:
        """What it says on standard error."""
        return self._folder / "proxy.log"

    @property
    def workers(self) -> list[int]:
        """The ids of its children; needs /proc."""
        return _children(self._process.pid) if self._process else []

    async def start(self) -> None:
        """Start it and wait until it listens; the port may be taken a moment longer.

        Raises:
            ChaosError: If it does not.
        """
        try:
            async with asyncio.timeout(_START_SECONDS):
                while not await self._started():  # noqa: ASYNC110 - nothing tells of a free port
                    await asyncio.sleep(_AGAIN_SECONDS)
        except TimeoutError:
            raise ChaosError(f"the proxy does not start; see {self.log}") from None

    async def _started(self) -> bool:
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *_COMMAND, *self._arguments, env=self._environment(),
                stdout=asyncio.subprocess.PIPE, stderr=log, start_new_session=True,
            )  # fmt: skip
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        while line := await self._process.stdout.readline():
            if b"listens on" in line:
                return True
        await self._process.wait()
        return False

    async def kill(self) -> None:
        """Kill all of its processes at once, with SIGKILL."""
        process = self._process
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):  # a worker may be left of a dead parent
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()

    def kill_worker(self, dice: Random) -> None:
        """Kill one of its workers with SIGKILL.

        Raises:
            ChaosError: If there is none to be found.
        """
        workers = self.workers
        if not workers:
            raise ChaosError("the proxy has no workers, or there is no /proc to find them in")
        with contextlib.suppress(ProcessLookupError):
            os.kill(dice.choice(workers), signal.SIGKILL)

    def _environment(self) -> dict[str, str]:
        """Return this process's environment, but none of a person's own settings of Cuesta."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("CUESTA_")}
        return {**kept, "XDG_CONFIG_HOME": str(self._folder / "config")}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            found += map(int, path.read_text().split())
    return found


def copy(database: Path, target: Path) -> None:
    """Copy a database that may be in use, as of one moment; one that is damaged leaves none."""
    remove(target)
    try:
        with (
            contextlib.closing(sqlite3.connect(database)) as source,
            contextlib.closing(sqlite3.connect(target)) as copied,
        ):
            source.backup(copied)
    except sqlite3.DatabaseError:
        remove(target)


def remove(database: Path) -> None:
    """Delete a database with its side files."""
    for suffix in _SIDE_FILES:
        Path(f"{database}{suffix}").unlink(missing_ok=True)


def restore(database: Path, copied: Path) -> None:
    """Put an older copy in the place of a database."""
    remove(database)
    database.write_bytes(copied.read_bytes())


def scribble(database: Path, dice: Random) -> None:
    """Write noise into the middle of the file, which its side files are folded into before."""
    _fold(database)
    size = database.stat().st_size
    with database.open("r+b") as file:
        for _ in range(4):
            file.seek(dice.randrange(4096, max(size, 8192)))
            file.write(dice.randbytes(600))


def shorten(database: Path, dice: Random) -> None:
    """Cut off the end of the file."""
    _fold(database)
    os.truncate(database, int(database.stat().st_size * dice.uniform(0.2, 0.9)))


def sound(database: Path) -> bool:
    """Tell whether a database that nobody uses is whole, without touching it."""
    if not database.exists():
        return True
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder, "copy.db")
        for suffix in _SIDE_FILES:
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(f"{database}{suffix}", f"{copied}{suffix}")
        try:
            with contextlib.closing(sqlite3.connect(copied)) as connection:
                return bool(connection.execute("PRAGMA integrity_check").fetchone() == ("ok",))
        except sqlite3.DatabaseError:
            return False


def _fold(database: Path) -> None:
    """Write the side files into the database, so that damage to it is damage to all."""
    with (
        contextlib.closing(sqlite3.connect(database)) as connection,
        contextlib.suppress(sqlite3.DatabaseError),
    ):
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
