"""The rows of the adapters' table: which package does which scripted job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from scaffold_scripts import commands, editing, fences, keystrokes

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
    `cliffs` and `failures` as the adapter counted them (0 without one, `cliffs` left out where the
    adapter runs in another process). Both runs must do the same.

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


_AGENTS = ("openai-agents", "agents_sdk.py", "openai-agents")
_LITELLM = ("litellm", "litellm_calls.py", "litellm")
_LANGCHAIN = ("langchain", "langchain_agent.py", "langchain")
_MODELS = ("langchain-openai", "langchain-anthropic")
_PYDANTIC = ("pydantic-ai-slim", "pydantic_agent.py", "pydantic-ai")
_PROVIDERS = ("pydantic-ai-slim[openai,anthropic]",)

_TEXT = {"toolless_beside": False}


def _mini(name: str, version: str = "2.4", text: str = "") -> Row:
    """Return a row of mini-swe-agent; `text`: what its fences are called, where it writes any."""
    spoken = {"harness": "mini-swe-agent-1"} if text else {}
    return Row(
        name,
        "mini-swe-agent",
        "mini.py",
        "mini-swe-agent",
        requires=(f"mini-swe-agent=={version}.*", "datasets"),
        venv=f"mini{version[0]}",
        script=partial(fences, text) if text else commands,
        options={"threshold": 8000, **spoken},
        simulator=_TEXT if text else {},
    )


ROWS = (
    Row("anthropic", "anthropic", "sdks.py", "anthropic,openai", venv="sdks"),
    Row("anthropic-async", "anthropic", "sdks.py", "anthropic,openai", venv="sdks"),
    Row("openai-chat", "openai", "sdks.py", "anthropic,openai", venv="sdks"),
    Row("openai-responses", "openai", "sdks.py", "anthropic,openai", venv="sdks"),
    Row("litellm", *_LITELLM),
    Row("litellm-proxy", *_LITELLM, venv="litellm"),
    Row("langchain", *_LANGCHAIN, _MODELS),
    Row("langchain-anthropic", *_LANGCHAIN, _MODELS, venv="langchain"),
    Row("openai-agents", *_AGENTS),
    Row("openai-agents-chat", *_AGENTS, venv="openai-agents"),
    Row("pydantic-ai", *_PYDANTIC, _PROVIDERS),
    Row("pydantic-ai-anthropic", *_PYDANTIC, _PROVIDERS, venv="pydantic-ai"),
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
