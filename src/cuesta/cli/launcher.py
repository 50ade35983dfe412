"""Run a command beside a proxy of its own, as if the proxy were not there.

The command is an ordinary foreground job: same terminal, same process group, same exit. The proxy
is out of the terminal's reach, in a session of its own, and ends with the launcher however that
ends. The listening socket belongs to the launcher, so a proxy that dies is replaced behind the same
address, and whoever connects meanwhile waits in the socket's queue.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
_TO_FORWARD = (signal.SIGTERM, signal.SIGHUP)
# Python ignores these two for itself, whatever it was started with.
_PYTHON_IGNORES = (signal.SIGPIPE, signal.SIGXFSZ)
_SETTLED = 5.0
_TRIES = 5
_GRACE = 1.5


class Proxy:
    """A proxy process behind a listening socket that outlives it.

    Args:
        listener: The socket; from now on it is the proxy's to close.
        argv: The command; `--fd N --parent-fd M` is added, the socket and a pipe. The pipe ends
            when the launcher does, and the proxy with it.
        env: Its environment.
        log: Where its output goes.
    """

    def __init__(
        self, listener: socket.socket, argv: Sequence[str], env: Mapping[str, str], log: Path
    ) -> None:
        self.pid = 0
        self.broken = False
        self._listener = listener
        self._life, self._hold = os.pipe()
        descriptors = ("--fd", str(listener.fileno()), "--parent-fd", str(self._life))
        self._argv = [*argv, *descriptors]
        self._env = env
        self._log = log
        self._started = 0.0
        self._failures = 0

    def start(self) -> None:
        """Start the process, with every signal as if nobody had touched it."""
        output = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        with _inheritable(self._listener.fileno(), self._life):
            self.pid = os.posix_spawn(
                self._argv[0],
                self._argv,
                self._env,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 1, str(self._log), output, 0o600),
                    (os.POSIX_SPAWN_DUP2, 1, 2),
                ],
                setsid=True,
                setsigdef=[*_FROM_TERMINAL, *_TO_FORWARD, *_PYTHON_IGNORES],
                setsigmask=[],
            )
        self._started = time.monotonic()

    def replace(self) -> None:
        """Start the process again after it died: at once, or later if it keeps dying.

        A proxy that dies again and again is given up and the socket closed, so that the command is
        told so by its own network errors instead of waiting for ever.
        """
        settled = time.monotonic() - self._started > _SETTLED
        self._failures = 1 if settled else self._failures + 1
        self.pid = 0
        if self._failures > _TRIES:
            self.broken = True
            self._listener.close()
        elif self._failures == 1:
            self._start_again()
        else:
            signal.signal(signal.SIGALRM, lambda *_: self._start_again())
            signal.setitimer(signal.ITIMER_REAL, 0.05 * 2**self._failures)

    def _start_again(self) -> None:
        try:
            self.start()
        except OSError:
            self._started = time.monotonic()
            self.replace()

    def stop(self) -> None:
        """End the process: by the pipe, else by a signal that cuts answers short, else at once."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        os.close(self._hold)
        os.close(self._life)
        self._listener.close()
        with contextlib.suppress(ChildProcessError, ProcessLookupError):
            for number in (signal.SIGTERM, signal.SIGKILL):
                if self._ended_within(_GRACE):
                    return
                os.kill(self.pid, number)
            os.waitpid(self.pid, 0)

    def _ended_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.pid and time.monotonic() < deadline:
            if os.waitpid(self.pid, os.WNOHANG) != (0, 0):
                self.pid = 0
            else:
                time.sleep(0.005)
        return not self.pid


def listen() -> tuple[socket.socket, str]:
    """Return a socket that listens on a free port of this machine, and its address as a URL."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    return listener, f"http://127.0.0.1:{listener.getsockname()[1]}"


def run_beside(proxy: Proxy, argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run a command in the foreground and keep its proxy alive meanwhile.

    Args:
        proxy: The proxy, not started yet; it still runs when this returns.
        argv: The command and its arguments.
        env: The command's environment.

    Returns:
        The command's wait status, for `leave`.

    Raises:
        OSError: If the command cannot be started.
    """
    signals = (*_FROM_TERMINAL, *_TO_FORWARD)
    heeded = {number for number in signals if signal.getsignal(number) is not signal.SIG_IGN}
    # Inherited as ignored, it would make the kernel throw the status away.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _TO_FORWARD)
    for number in _FROM_TERMINAL:
        signal.signal(number, signal.SIG_IGN)
    try:
        proxy.start()
        child = os.posix_spawnp(
            argv[0],
            list(argv),
            env,
            setsigdef=[*heeded.intersection(_FROM_TERMINAL), *_PYTHON_IGNORES],
            setsigmask=mask,
        )
        for number in heeded.intersection(_TO_FORWARD):
            signal.signal(number, lambda received, _: _forward(child, received))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    status = _wait(child, proxy)
    for number in heeded.intersection(_TO_FORWARD):
        signal.signal(number, signal.SIG_DFL)
    return status


def _wait(child: int, proxy: Proxy) -> int:
    """Wait for the command's end, stop when it is stopped, and replace a dead proxy."""
    while True:
        pid, status = os.waitpid(-1, os.WUNTRACED | os.WCONTINUED)
        if pid == child and os.WIFSTOPPED(status):
            # By now it may have been continued, or be dead.
            pid, status = os.waitpid(child, os.WNOHANG | os.WCONTINUED)
            if not pid:
                _stop()
                continue
        if not os.WIFEXITED(status) and not os.WIFSIGNALED(status):
            continue
        if pid == child:
            return status
        if pid == proxy.pid:
            proxy.replace()


def _stop() -> None:
    """Stop, so that the shell takes its terminal back; its `fg` continues the whole group.

    SIGTSTP, not SIGSTOP: where no shell watches over the group the kernel drops it, and nobody
    could continue us.
    """
    signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTSTP)
    signal.signal(signal.SIGTSTP, signal.SIG_IGN)


def _forward(child: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, number)


def leave(status: int) -> int:
    """Return the exit code of a wait status; a death by signal is died again."""
    if not os.WIFSIGNALED(status):
        return os.WEXITSTATUS(status)
    number = os.WTERMSIG(status)
    sys.stderr.flush()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the core that matters is the command's
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 128 + number


@contextlib.contextmanager
def _inheritable(*descriptors: int) -> Iterator[None]:
    """Let descriptors pass to the next process only: the command must not hold the socket."""
    for descriptor in descriptors:
        os.set_inheritable(descriptor, True)
    try:
        yield
    finally:
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
