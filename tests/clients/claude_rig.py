"""Claude Code in tests: its account, its tasks, headless or in a terminal of its own."""

import json
import os
import secrets
import shutil
import subprocess
import time

import pytest

from conftest import program
from cuesta.testing.simulator import Step, ToolCall

LINES = 1400
OUTPUT = "".join(f"{n}\n" for n in range(1, LINES + 1))
"""About what each call of a task prints."""
PATIENCE = 60.0
PROMPT = "\u276f"
"""The mark before what a person types."""


class Tasks:
    """A script that works on whichever task was named last, so many rounds each.

    It counts by itself: a history made shorter by anybody does not start a task again.

    Args:
        rounds: How many rounds each task takes, by its name.
        thoughtful: Whether the model thinks before it says that a task is finished.
    """

    def __init__(self, rounds, *, thoughtful=False):
        self._rounds = rounds
        self._done = dict.fromkeys(rounds, 0)
        self._last_thought = "It is over." if thoughtful else None

    def next(self, conversation_request, step_index):
        """Return the next step of the task that the newest words name."""
        del step_index
        text = json.dumps(conversation_request["messages"])
        name = max(self._rounds, key=text.rfind)
        number = self._done[name]
        self._done[name] += 1
        if number >= self._rounds[name]:
            return Step(thinking=self._last_thought, text=f"{name} is finished.")
        command = {"command": f"seq {number} {number + LINES}", "description": "look around"}
        thinking = f"Round {number} of {name}." + " Think." * 20
        return Step(thinking=thinking, calls=(ToolCall("Bash", command),))


def claude(*words):
    """Return the command line of Claude Code, or skip."""
    path = program("Claude Code", "@anthropic-ai/claude-code/bin/claude.exe")
    return [str(path), "--dangerously-skip-permissions", *words]


def account(environment):
    """Return the environment of a person with a key."""
    return {
        **environment,
        "ANTHROPIC_API_KEY": "sk-dummy",
        "IS_SANDBOX": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }


def be_known(home):
    """Answer beforehand what Claude Code asks on its first screens."""
    folder = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    state = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": ["sk-dummy"], "rejected": []},
        "bypassPermissionsModeAccepted": True,
        "projects": {str(home / "work"): folder},
    }
    (home / ".claude.json").write_text(json.dumps(state))
    (home / ".claude").mkdir()
    settings = {"skipDangerousModePermissionPrompt": True}
    (home / ".claude" / "settings.json").write_text(json.dumps(settings))


def headless(command, environment, home):
    """Run a command line without a terminal to its good end."""
    done = subprocess.run(
        command,
        cwd=home / "work",
        env=account(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done


class Screen:
    """A terminal in which one command runs; both are gone at the end, whatever happens.

    Args:
        command: The command line.
        environment: Its environment.
        home: Where it runs: in the folder `work`.
    """

    def __init__(self, command, environment, home):
        tmux = shutil.which("tmux")
        if tmux is None:
            pytest.skip("tmux is not installed")
        self._tmux = [tmux, "-L", f"cuesta-{os.getpid()}-{secrets.token_hex(4)}"]
        self._env = {**account(environment), "TERM": "xterm-256color"}
        self._start = (
            *("-f", os.devnull, "new-session", "-d", "-x", "100", "-y", "50"),
            *("-c", str(home / "work"), *map(str, command)),
            *(";", "set-option", "-g", "remain-on-exit", "on"),
        )

    def __enter__(self):
        self._ask(*self._start)
        self.wait(lambda: "bypass permissions on" in self.text)
        return self

    def __exit__(self, *_):
        self._ask("kill-server", check=False)

    @property
    def text(self):
        """What stands on the screen, and above it."""
        return self._ask("capture-pane", "-p", "-S", "-500")

    def wait(self, condition):
        """Wait until something is so, or fail with what the screen shows."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, self.text
            time.sleep(0.1)

    def type(self, words):
        """Type words into the prompt and press Enter once they stand there."""
        self._ask("send-keys", "-l", words)
        self.wait(lambda: self._prompt().endswith(words))
        self._ask("send-keys", "Enter")

    def end(self):
        """Leave the agent; return the command's status and what is on the screen."""
        self.type("/exit")
        self.wait(self._status)
        return int(self._status()), self.text

    def _status(self):
        """Return the ended command's status, or nothing while it is not known."""
        return self._ask("display-message", "-p", "#{pane_dead_status}").strip()

    def _prompt(self):
        lines = [line.strip() for line in self.text.splitlines()]
        return next((line for line in reversed(lines) if line.startswith(PROMPT)), "")

    def _ask(self, *words, check=True):
        return subprocess.run(
            [*self._tmux, *words],
            env=self._env, capture_output=True, text=True, timeout=PATIENCE, check=check,
        ).stdout  # fmt: skip
