"""A terminal for programs that have a screen of their own: tmux, with a server for each."""

import os
import re
import secrets
import shutil
import subprocess
import time

import pytest

PATIENCE = 60.0
_PAUSE = 0.1

# tmux 3.3a sometimes never knows how a command ended: the command's shell says it.
_SAYS_ITS_STATUS = '"$@"; printf "\\nended with %d\\n" $?'
_STATUS = re.compile(r"^ended with (\d+)$", re.MULTILINE)


class Screen:
    """A terminal in which one command runs; both are gone at the end, whatever happens.

    Args:
        command: The command line.
        environment: Its environment.
        folder: Where it runs.
        ready: What is on the screen once it takes words.
    """

    def __init__(self, command, environment, folder, *, ready):
        tmux = shutil.which("tmux")
        if tmux is None:
            pytest.skip("tmux is not installed, and without it nobody can look at a screen")
        self._tmux = [tmux, "-L", f"cuesta-{os.getpid()}-{secrets.token_hex(4)}"]
        self._env = {**environment, "TERM": "xterm-256color"}
        self._ready = ready
        self._start = (
            *("-f", os.devnull, "new-session", "-d", "-x", "100", "-y", "50"),
            *("-c", str(folder), "sh", "-c", _SAYS_ITS_STATUS, "sh", *map(str, command)),
            *(";", "set-option", "-g", "remain-on-exit", "on"),
        )

    def __enter__(self):
        self._ask(*self._start)
        try:
            self.wait_for(self._ready)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self._ask("kill-server", check=False)

    @property
    def text(self):
        """What stands on the screen, and above it."""
        return self._ask("capture-pane", "-p", "-S", "-500")

    def wait_for(self, words):
        """Wait until words stand on the screen."""
        self.wait(lambda: words in self.text)

    def wait(self, condition):
        """Wait until something is so, or fail with what the screen shows."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, self.text
            time.sleep(_PAUSE)

    def type(self, words):
        """Type words and press Enter once they stand there."""
        before = self.text.count(words)
        self._ask("send-keys", "-l", words)
        self.wait(lambda: self.text.count(words) > before)
        self._ask("send-keys", "Enter")

    def end(self, words="/exit"):
        """Leave the agent; return the command's status and what is on the screen."""
        self.type(words)
        self.wait(lambda: _STATUS.search(self.text))
        text = self.text
        return int(_STATUS.search(text)[1]), text

    def _ask(self, *words, check=True):
        return subprocess.run(
            [*self._tmux, *words],
            env=self._env, capture_output=True, text=True, timeout=PATIENCE, check=check,
        ).stdout  # fmt: skip
