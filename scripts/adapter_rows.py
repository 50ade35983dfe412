"""The rows of the adapters' table: which package does which scripted job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
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
)
"""Every row, in the table's order."""
