"""The crew of the own tasks: a simulated provider, and the scripted agent with a real shell."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cuesta.core.errors import CuestaError
from cuesta.experiments.own.crew import Assignment, Played
from cuesta.experiments.record import DONE, REFUSED, SECONDS, STEPS, WINDOW
from cuesta.testing.agent import AgentError, ScriptedAgent, TurnReport
from cuesta.testing.habits import script_of
from cuesta.testing.simulator import Conditions, Simulator
from cuesta.testing.workspace import ToolResult, Workspace

_COMMAND_SECONDS = 20
_KINDS: Mapping[str, str] = {
    "read_file": "r", "search": "s", "list_files": "s", "run_tests": "t", "edit_file": "e",
    "write_file": "e", "bash": "o",
}  # fmt: skip
_RANK = "etrRso"
_TOO_LONG = "prompt is too long"


class Checkout(Workspace):
    """A workspace on a repository that is there already, with a real shell.

    Args:
        folder: The repository.
    """

    def __init__(self, folder: Path) -> None:
        self.root = folder.resolve()
        self._test_seconds = 30.0

    def __exit__(self, *_: object) -> None:
        """Leave the repository as it is."""

    def _bash(self, command: str) -> ToolResult:
        try:
            done = subprocess.run(  # noqa: S603 - what the script says
                ["/bin/bash", "-c", command],
                cwd=self.root,
                env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8",
                     "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull,
                     "GIT_PAGER": "cat"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=_COMMAND_SECONDS,
                check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return ToolResult(f"ended after {_COMMAND_SECONDS} seconds", is_error=True)
        text = done.stdout.decode(errors="replace").replace(str(self.root), "/workspace")
        return ToolResult(text or "(no output)", is_error=done.returncode != 0)


class ScriptedCrew:
    """See `experiments.own.crew.Crew`: who works with which habit, `habits` tells."""

    @contextmanager
    def provider(self, task: str, seed: int, window: int) -> Iterator[str]:
        """Run a simulator that plays the habit of a task and seed."""
        simulator = Simulator(script_of(task, seed), Conditions(window=window))
        with simulator.in_thread():
            yield simulator.url

    def play(self, assignment: Assignment) -> Played:
        """Let the scripted agent work."""
        course = _Course(assignment)
        agent = ScriptedAgent(
            assignment.url, course.workspace, assignment.task.ask, model=assignment.model
        )
        try:
            asyncio.run(agent.run(course.on_turn))
        except _EnoughError as enough:
            return Played(enough.end, enough.reason, course.kinds)
        except AgentError as error:
            if error.status != 400:
                raise CuestaError(f"the agent broke off: {error}") from error
            end = WINDOW if _TOO_LONG in error.message else REFUSED
            return Played(end, error.message, course.kinds)
        return Played(DONE, "", course.kinds)


class _EnoughError(Exception):
    """A limit of the run is reached."""

    def __init__(self, end: str, reason: str) -> None:
        super().__init__(reason)
        self.end = end
        self.reason = reason


class _Course:
    """Follows an agent: what it does at each step, and when it is to stop."""

    def __init__(self, assignment: Assignment) -> None:
        self._assignment = assignment
        self._began = time.monotonic()
        self._letters: list[str] = []
        self.workspace = _Watched(assignment.folder, self._note)

    @property
    def kinds(self) -> str:
        """One letter a step."""
        return "".join(self._letters)

    def on_turn(self, report: TurnReport) -> None:
        """Take the news of an answer; stop where a limit is reached."""
        self._letters.append("o")
        limits = self._assignment
        if report.turn >= limits.steps and report.tools:
            raise _EnoughError(STEPS, f"{limits.steps} steps")
        if time.monotonic() - self._began > limits.minutes * 60:
            raise _EnoughError(SECONDS, f"{limits.minutes:g} minutes")

    def _note(self, letter: str) -> None:
        self._letters[-1] = min(self._letters[-1], letter, key=_RANK.index)


class _Watched(Checkout):
    """A checkout that tells what kind of call it carries out."""

    def __init__(self, folder: Path, note: Callable[[str], None]) -> None:
        super().__init__(folder)
        self._note = note
        self._opened: set[str] = set()

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Carry out a tool call; see `Workspace.call`."""
        letter = _KINDS.get(name, "o")
        path = str(arguments.get("path", ""))
        if letter == "r":
            letter = "R" if path in self._opened else "r"
            self._opened.add(path)
        self._note(letter)
        return super().call(name, arguments)
