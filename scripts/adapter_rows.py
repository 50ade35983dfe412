"""The rows of the adapters' table: which package does which scripted job."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from cuesta.testing.simulator import ListScript, Script, Step, ToolCall

_ROUNDS = 32


def calls(tool: str = "look", argument: str = "page") -> Script:
    """Return a model that calls a tool once a round, every fourth time twice at once.

    Args:
        tool: The tool's name.
        argument: Its one argument, the page's number.
    """
    steps = []
    for n in range(_ROUNDS):
        wanted = (n, n + 1000) if n % 4 == 3 else (n,)
        asked = tuple(ToolCall(tool, {argument: page}) for page in wanted)
        steps.append(Step(f"What does page {n} say?", f"I read page {n}, “für später”.", asked))
    return ListScript(steps)


@dataclass(frozen=True, slots=True)
class Row:
    """One adapter, and how it is put to the test.

    The job is a script that is run inside the row's environment as

        python tests/integrations/jobs/JOB NAME URL OUT OPTIONS

    in an empty folder. It drives the real package against the provider at URL (without `/v1`) until
    the model calls no more tools, with the adapter made from the keyword arguments in OPTIONS (a
    JSON object), or without the adapter where OPTIONS is `null`. It writes a JSON object to OUT:
    `cliffs` and `failures` as the adapter counted them (0 without one). Both runs must do the same.

    Attributes:
        name: What the row is called on the command line.
        package: The distribution whose version is shown.
        job: The script's file.
        extra: The extras of Cuesta that bring the package, as pip takes them.
        requires: Further requirements, as pip takes them: a pin for an older version.
        python: The Python that its environment is made with.
        venv: The environment's name, shared by rows with the same packages.
        script: Makes what the simulated model says.
        options: What the adapter is made with.
        simulator: What the simulator is made with; see `SimulatorOptions`.
    """

    name: str
    package: str
    job: str
    extra: str
    requires: tuple[str, ...] = ()
    python: str = "3.11"
    venv: str = ""
    script: Callable[[], Script] = calls
    options: dict[str, Any] = field(default_factory=lambda: {"threshold": 14_000})
    simulator: dict[str, Any] = field(default_factory=dict)


def commands(tool: str = "bash") -> Script:
    """Return a model that reads a page a round by a command, and says at last that it is done."""
    read = [f"cat page-{n}.txt" for n in range(_ROUNDS)]
    return ListScript(
        [
            Step(f"What does page {n} say?", f"I read page {n}.", (ToolCall(tool, {"command": c}),))
            for n, c in enumerate([*read, f"echo {_DONE}"])
        ]
    )


def fences(language: str) -> Script:
    """Return a model that writes one command a round between fences."""
    read = [f"cat page-{n}.txt" for n in range(_ROUNDS)]
    said = [
        f"THOUGHT: I read page {n}, “für später”.\n\n```{language}\n{c}\n```"
        for n, c in enumerate([*read, f"echo {_DONE}"])
    ]
    return ListScript([Step(text=text) for text in said])


_DONE = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
_TEXT = {"toolless_beside": False}


def _mini(name: str, version: str = "2.4", text: str = "") -> Row:
    """Return a row of mini-swe-agent; `text`: what its fences are called, where it writes any."""
    spoken = {"harness": "mini-swe-agent-1"} if text else {}
    return Row(
        name,
        "mini-swe-agent",
        "mini.py",
        "mini-swe-agent",
        requires=(f"mini-swe-agent=={version}.*",),
        venv=f"mini{version[0]}",
        script=partial(fences, text) if text else commands,
        options={"threshold": 8000, **spoken},
        simulator=_TEXT if text else {},
    )


def editing() -> Script:
    """Return a model that uses the tools of OpenHands, and finishes."""
    steps = [Step(text="First a plan.", calls=(ToolCall("task_tracker", {"command": "view"}),))]
    for n in range(_ROUNDS):
        path = f"{_PLACE}/page-{n}.txt"
        view = ToolCall("file_editor", {"command": "view", "path": path})
        run = ToolCall("terminal", {"command": f"cat page-{n}.txt | head -{20 + n}"})
        think = ToolCall("think", {"thought": f"Page {n} is about herons, “für später”."})
        called = (view,) if n % 4 else (run, think)
        steps.append(Step(f"What does page {n} say?", f"I read page {n}.", called))
        if n % 8 == 5:
            write = {"command": "create", "path": f"{_PLACE}/note-{n}.txt", "file_text": "note\n"}
            steps.append(Step(text=f"Note {n}.", calls=(ToolCall("file_editor", write),)))
    steps.append(Step(text="Done.", calls=(ToolCall("finish", {"message": "All read."}),)))
    return ListScript(steps)


def keystrokes() -> Script:
    """Return a model that types a command a round, as an object, and says twice that it is done."""
    steps = []
    for n in range(_ROUNDS + 2):
        done = n >= _ROUNDS
        keys = [] if done else [{"keystrokes": f"cat page-{n}.txt\n", "duration": 0.1}]
        act = {"analysis": f"Page {n} comes next, “für später”.", "plan": f"I read page {n}."}
        said = {**act, "commands": keys, "task_complete": done}
        steps.append(Step(text=json.dumps(said, ensure_ascii=False, indent=2)))
    return ListScript(steps)


_PLACE = Path(tempfile.gettempdir()) / "cuesta-openhands-job"

ROWS = (
    Row("anthropic", "anthropic", "sdks.py", "anthropic,openai", venv="sdks"),
    Row("anthropic-async", "anthropic", "sdks.py", "anthropic,openai", venv="sdks"),
    Row("openai-chat", "openai", "sdks.py", "anthropic,openai", venv="sdks"),
    Row("openai-responses", "openai", "sdks.py", "anthropic,openai", venv="sdks"),
    Row("openai-agents", "openai-agents", "agents_sdk.py", "openai-agents"),
    Row(
        "openai-agents-chat",
        "openai-agents",
        "agents_sdk.py",
        "openai-agents",
        venv="openai-agents",
    ),
    Row("langchain", "langchain", "langchain_agent.py", "langchain", venv="langchain"),
    Row("langchain-anthropic", "langchain", "langchain_agent.py", "langchain", venv="langchain"),
    Row("langchain-responses", "langchain", "langchain_agent.py", "langchain", venv="langchain"),
    Row(
        "openhands",
        "openhands-sdk",
        "openhands_sdk.py",
        "openhands",
        python="3.12",
        script=editing,
        options={"threshold": 20000},
    ),
    Row(
        "terminus-2",
        "harbor",
        "terminus.py",
        "harbor",
        python="3.12",
        venv="harbor",
        script=keystrokes,
        options={"threshold": 8000, "harness": "terminus-2"},
        simulator=_TEXT,
    ),
    _mini("mini"),
    _mini("mini-responses"),
    _mini("mini-swebench"),
    _mini("mini-text", text="mswea_bash_command"),
    _mini("mini-1", "1.17", text="bash"),
    _mini("mini-1-swebench", "1.17", text="bash"),
)
"""Every row, in the table's order."""
