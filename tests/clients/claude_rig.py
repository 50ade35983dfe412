"""Claude Code in tests: its account, its tasks, headless or in a terminal of its own."""

import json
import subprocess

from screen_rig import Screen

from conftest import program
from cuesta.testing.simulator import Step, ToolCall

LINES = 1400
OUTPUT = "".join(f"{n}\n" for n in range(1, LINES + 1))
"""About what each call of a task prints."""


class Tasks:
    """A script that works on whichever task was named last, so many rounds each.

    It counts by itself: a history made shorter by anybody does not start a task again.

    Args:
        rounds: How many rounds each task takes, by its name.
        thoughtful: Whether the model thinks before it says that a task is finished.
        shell: Makes the call of a tool from a command; by default Claude Code's.
    """

    def __init__(self, rounds, *, thoughtful=False, shell=None):
        self._rounds = rounds
        self._done = dict.fromkeys(rounds, 0)
        self._shell = shell or _bash
        self._last_thought = "It is over." if thoughtful else None

    def next(self, conversation_request, step_index):
        """Return the next step of the task that the newest words name."""
        del step_index
        text = json.dumps(conversation_request.get("input") or conversation_request["messages"])
        name = max(self._rounds, key=text.rfind)
        number = self._done[name]
        self._done[name] += 1
        if number >= self._rounds[name]:
            return Step(thinking=self._last_thought, text=f"{name} is finished.")
        thinking = f"Round {number} of {name}." + " Think." * 20
        return Step(thinking=thinking, calls=(self._shell(f"seq {number} {number + LINES}"),))


def _bash(command):
    return ToolCall("Bash", {"command": command, "description": "look around"})


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


def on_a_screen(command, environment, home):
    """Return a terminal in which Claude Code runs, and asks before nothing."""
    return Screen(command, account(environment), home / "work", ready="bypass permissions on")
