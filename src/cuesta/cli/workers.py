"""Several proxy processes behind one listening socket, watched over by their parent.

Rule 1: the socket is the parent's. A worker that dies is replaced behind it, and whoever connects
meanwhile waits in the socket's queue.
Rule 2: each worker holds the read end of a pipe whose write end only the parent has. However the
parent ends, the workers see the pipe's end and stop as they would at a signal.
Rule 3: workers share nothing but the database; any of them may serve any request.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cuesta.cli import tell

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping, Sequence

_SETTLED_S = 5.0
_TRIES = 5
_STOPS = (signal.SIGINT, signal.SIGTERM)


@dataclass(slots=True)
class _Worker:
    """One place for a process, filled again when the process dies."""

    pid: int = 0
    started: float = 0.0
    failures: int = 0
    due: float = 0.0
    """When the place is to be filled, on the monotonic clock."""


class Workers:
    """Runs a command several times behind one socket.

    Args:
        listener: The bound, listening socket.
        argv: The command; `--fd N --parent-fd M` is added, the socket and the pipe.
        env: Its environment.
        count: How many processes.
    """

    def __init__(
        self, listener: socket.socket, argv: Sequence[str], env: Mapping[str, str], count: int
    ) -> None:
        self._listener = listener
        self._life, self._hold = os.pipe()
        for descriptor in (listener.fileno(), self._life):
            os.set_inheritable(descriptor, True)
        self._argv = (*argv, "--fd", str(listener.fileno()), "--parent-fd", str(self._life))
        self._env = env
        self._places = [_Worker() for _ in range(count)]
        self._stops = 0

    def run(self) -> int:
        """Keep the workers alive until a signal, then let them finish their answers.

        Returns:
            0, or 1 where a worker died so often that all were given up.
        """
        woken, wake = os.pipe()
        for descriptor in (woken, wake):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in _STOPS:
            signal.signal(number, lambda *_: self._stop())
        broken = False
        while self._running():
            self._fill()
            select.select([woken], [], [], self._patience())
            with contextlib.suppress(BlockingIOError):
                os.read(woken, 4096)
            broken = self._reap() or broken
        self._listener.close()
        return int(broken)

    def _running(self) -> bool:
        return not self._stops or any(place.pid for place in self._places)

    def _fill(self) -> None:
        """Start what is due."""
        now = time.monotonic()
        for place in self._places:
            if not self._stops and not place.pid and place.due <= now:
                place.pid = os.posix_spawn(
                    self._argv[0],
                    self._argv,
                    self._env,
                    setsigdef=[*_STOPS, signal.SIGCHLD, signal.SIGPIPE],
                    setsigmask=[],
                )
                place.started = now

    def _patience(self) -> float | None:
        """Return the seconds until a place is due; None: only a signal ends the wait."""
        due = [place.due for place in self._places if not place.pid and not self._stops]
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _reap(self) -> bool:
        """Free the places of dead workers; tell whether they die too often to go on."""
        for place in self._places:
            if not place.pid or os.waitpid(place.pid, os.WNOHANG) == (0, 0):
                continue
            place.pid = 0
            if self._stops:
                continue
            now = time.monotonic()
            settled = now - place.started > _SETTLED_S
            place.failures = 1 if settled else place.failures + 1
            place.due = now if place.failures == 1 else now + 0.05 * 2**place.failures
            if place.failures > _TRIES:
                tell("error: a worker dies as soon as it starts; see what it said above")
                self._stop()
                return True
            tell("warning: a worker died and is replaced")
        return False

    def _stop(self) -> None:
        """Let running answers finish; asked a second time, cut them."""
        self._stops += 1
        if self._stops == 1:
            os.close(self._hold)
            return
        for place in self._places:
            if place.pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(place.pid, signal.SIGTERM)
