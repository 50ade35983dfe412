"""Scripts of agents with different habits, on the own tasks of `cuesta.experiments`.

A script looks at the prompt that it is sent, as a model would: the forgetful one reads a file again
when it no longer stands there. Otherwise it depends on the task and the seed alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cuesta.experiments.own.repository import TABLES
from cuesta.experiments.own.tasks import OWN_TASKS, OwnTask
from cuesta.testing.job.calls import edit, read, run, search, step
from cuesta.testing.simulator.script import Step, ToolCall

if TYPE_CHECKING:
    from cuesta.testing.simulator.canon import Json

_PATIENCE = 8
"""How often the forgetful agent reads again before it gives up."""


class Desk:
    """What an agent works on, and what it has before its eyes.

    Args:
        task: The task.
        seed: The number of the repetition.
    """

    def __init__(self, task: OwnTask, seed: int) -> None:
        self.task = task
        rng = random.Random(f"{task.name} {seed}")  # noqa: S311 - the order of a toy's reading
        self.tables = [f"{task.package}/{name}.py" for name in rng.sample(TABLES, len(TABLES))]
        self.prompt: Json = {}

    def sees(self, text: str) -> bool:
        """Tell whether a tool's answer that holds a text still stands in the prompt."""
        return any(text in answer for answer in _answers(self.prompt))


class HabitScript:
    """Plays a habit; see `simulator.Script`. One request that comes twice gets one answer."""

    def __init__(self, habit: Callable[[Desk], Iterator[Step]], desk: Desk) -> None:
        self._desk = desk
        self._coming = habit(desk)
        self._said: list[Step] = []

    def next(self, conversation_request: Json, step_index: int) -> Step:
        """Return the step at an index."""
        while len(self._said) <= step_index:
            self._desk.prompt = conversation_request
            self._said.append(next(self._coming, Step(text="Nothing is left to do.")))
        return self._said[step_index]


def steady(desk: Desk) -> Iterator[Step]:
    """Read what is needed, repair, test, report."""
    yield from _orient(desk)
    yield from _browse(desk, 3)
    yield from _repair(desk)


def forgetful(desk: Desk) -> Iterator[Step]:
    """Read everything, and read the code again whenever it is out of sight."""
    yield from _orient(desk)
    again = 0
    for table in (*desk.tables, *desk.tables, *desk.tables[:2]):
        yield step(f"Does {table} play a part?", None, read(table))
        if not desk.sees(_line(desk.task)):
            again += 1
            if again > _PATIENCE:
                yield Step(text="I lose sight of the code again and again. I stop here.")
                return
            yield step("The code is out of sight.", None, read(desk.task.module))
    yield from _repair(desk)


def sloppy(desk: Desk) -> Iterator[Step]:
    """Look at two files, and call it done."""
    yield step("A glance will do.", None, read("README.md"), read(desk.task.module))
    yield from _browse(desk, 2)
    yield Step(text="The code looks right to me. I would leave it as it is.")


def spoiler(desk: Desk) -> Iterator[Step]:
    """Make the test agree with the code."""
    yield from _orient(desk)
    yield from _browse(desk, 3)
    spoilt = desk.task.spoilt
    yield step("The test asks for too much.", "I'll correct the test.", _edit(spoilt))
    yield step("Now it passes.", None, run())
    yield Step(text="The tests pass now.")


def verbose(desk: Desk) -> Iterator[Step]:
    """Have everything printed, at length, before the repair."""
    yield from _orient(desk)
    for table in desk.tables:
        yield step(f"All of {table}, to be sure.", _at_length(table), _bash(f"cat -n {table}"))
        yield step("And its head and tail.", None, _bash(f"sort -r {table} | head -40"))
    yield step("What was done before?", None, _bash("git log --stat --patch | head -400"))
    yield from _repair(desk)


def looping(desk: Desk) -> Iterator[Step]:
    """Run the same test and read the same files, for ever."""
    yield from _orient(desk)
    while True:
        for table in desk.tables:
            yield step("Perhaps now it passes?", None, run("tests.test_core"))
            yield step(f"It must be {table}.", None, read(table), search("core", "README.md"))


HABITS: Mapping[str, Callable[[Desk], Iterator[Step]]] = MappingProxyType(
    {habit.__name__: habit for habit in (steady, forgetful, sloppy, spoiler, verbose, looping)}
)
"""The habits by name."""


def habit_of(task: str, seed: int) -> str:
    """Return who works on a task: each habit once a seed, another one with each seed."""
    return list(HABITS)[(list(OWN_TASKS).index(task) + seed) % len(HABITS)]


def script_of(task: str, seed: int) -> HabitScript:
    """Return the script of a task and seed."""
    return HabitScript(HABITS[habit_of(task, seed)], Desk(OWN_TASKS[task], seed))


def _orient(desk: Desk) -> Iterator[Step]:
    yield step(
        "First see what there is.", "I'll look at the project and run its tests.",
        ToolCall("list_files", {}), read("README.md"),
    )  # fmt: skip
    yield step("Which test fails, and how?", None, run())
    yield step(
        "Read the test, and the code that it tests.", None,
        read(desk.task.test_path), read(desk.task.module),
    )  # fmt: skip


def _browse(desk: Desk, count: int) -> Iterator[Step]:
    for table in desk.tables[:count]:
        yield step(f"Is {table} used there?", None, read(table))
        yield step("Where else does it stand?", None, _bash(f"grep -c . {table}"))


def _repair(desk: Desk) -> Iterator[Step]:
    if not desk.sees(_line(desk.task)):
        yield step("I need the exact line for the edit.", None, read(desk.task.module))
    yield step("This is the cause.", "I have found it.", _edit(desk.task.repair))
    yield step("Do all tests pass?", None, run())
    yield step("And nothing else has changed?", None, _bash("git diff --stat"))
    yield Step(text=f"Repaired in {desk.task.module}; all tests pass.")


def _edit(change: Any) -> ToolCall:  # noqa: ANN401 - a task's edit
    return edit(change.path, change.old, change.new)


def _bash(command: str) -> ToolCall:
    return ToolCall("bash", {"command": command})


def _line(task: OwnTask) -> str:
    """Return the line that is wrong, as a reader sees it."""
    return task.repair.old.strip()


def _at_length(table: str) -> str:
    return f"I would like to see {table} with my own eyes, row by row, before I say a word. " * 8


def _answers(prompt: Json) -> Iterator[str]:
    """Yield the texts of all tool results in a request."""
    for message in prompt.get("messages", ()):
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "tool_result":
                yield from _texts(block.get("content"))


def _texts(content: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    if isinstance(content, str):
        yield content
        return
    yield from (part["text"] for part in content or () if part.get("type") == "text")
