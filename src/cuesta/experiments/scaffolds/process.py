"""Starts the programs that run an agent, and ends them with everything that they started."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cuesta.core.errors import CuestaError
from cuesta.harnesses.launch import around_loopback

_TAIL = 600
_GRACE_SECONDS = 20
_SECRET = ("KEY", "TOKEN")


@dataclass(frozen=True, slots=True)
class Command:
    """A program to start.

    Attributes:
        argv: The program and its arguments.
        env: What is added to this process's environment.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)

    def shown(self) -> str:
        """Return the command as a person would type it, without what is secret."""
        named = (f"{name}={_hidden(name, value)}" for name, value in sorted(self.env.items()))
        words = ("python" if word == sys.executable else word for word in self.argv)
        return " ".join([*named, shlex.join(words)])


def execute(command: Command, folder: Path, seconds: float) -> bool:
    """Run a command in a folder; what it says goes into `PROGRAM.log` there.

    Args:
        command: The command.
        folder: Where.
        seconds: How long it may take; then it is asked to stop, and killed.

    Returns:
        Whether it ended by itself.

    Raises:
        CuestaError: If it cannot be started, or ends with a failure; with its last words.
    """
    program = shutil.which(command.argv[0])
    if program is None:
        raise CuestaError(f"there is no program `{command.argv[0]}` on the PATH")
    log = folder / f"{Path(program).name}.log"
    env = around_loopback({**os.environ, **command.env})
    with log.open("ab") as said:
        process = subprocess.Popen(  # noqa: S603 - the scaffold's own command
            [program, *command.argv[1:]],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        finally:
            _end(process)
    if status:
        words = log.read_text(encoding="utf-8", errors="replace")[-_TAIL:].strip()
        raise CuestaError(f"`{command.argv[0]}` ended with status {status}; see {log}\n{words}")
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask a program and all that it started to stop, then make them."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_SECONDS)


def _hidden(name: str, value: str) -> str:
    return "..." if name.endswith(_SECRET) else shlex.quote(value)
