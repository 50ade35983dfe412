"""What the simulated model says in the jobs of scaffolds that have tools of their own."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from cuesta.testing.simulator import ListScript, Script, Step, ToolCall

_ROUNDS = 32
_DONE = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
_PLACE = Path(tempfile.gettempdir()) / "cuesta-openhands-job"


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
