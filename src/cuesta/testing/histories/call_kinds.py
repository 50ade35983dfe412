"""The kinds of calls that the Responses wire has beside functions, and what answers each.

Source: OpenAI's API reference, the input items of Responses; what answers a `local_shell_call` is
documented with its `call_id` in the guide to that tool.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from cuesta.testing.histories.features import Dice
from cuesta.testing.histories.material import Material
from cuesta.testing.histories.style import Block

FUNCTION = "function_call"
TEXT_ONLY = frozenset({"local_shell_call", "shell_call", "apply_patch_call"})
"""Kinds whose output holds no parts."""


@dataclass(frozen=True, slots=True)
class CallKind:
    """One kind of call.

    Attributes:
        prefix: What the ids of its items begin with.
        output: The type of what answers it.
        output_prefix: What the ids of those begin with.
        asked: Gives the call's own fields from the tool's name and its input.
        answered: Gives the output's own fields from its content and whether it failed.
    """

    prefix: str
    output: str
    output_prefix: str
    asked: Callable[[str, Block], Block]
    answered: Callable[[str | list[Block], bool], Block]


def call_specially(material: Material, dice: Dice) -> Block:
    """Build a call of one of these kinds, as a `tool_use` block with its `kind`."""
    rng = dice.rng
    kind = rng.choice([kind for kind in KINDS if kind != FUNCTION])
    path, patch = material.path(), material.code(rng.choice((60, 300, 1_200)))
    inputs: dict[str, Block] = {
        "custom_tool_call": {"input": f"*** Begin Patch\n*** Update File: {path}\n{patch}"},
        "local_shell_call": {"command": ["bash", "-lc", f"cat {path}"]},
        "shell_call": {"commands": [f"cat {path}", material.code(40)]},
        "apply_patch_call": {"type": "update_file", "path": path, "diff": patch},
        "tool_search_call": {"query": material.prose(40), "limit": 8},
    }
    name = "apply_patch" if kind == "custom_tool_call" else kind.removesuffix("_call")
    call: Block = {"type": "tool_use", "id": material.name("toolu"), "name": name}
    return {**call, "input": inputs[kind], "kind": kind}


def found_tools(material: Material, dice: Dice) -> list[Block]:
    """Build the tools that a search for tools brings."""
    schema = {"type": "object", "properties": {"query": {"type": "string"}}}
    return [
        {
            "type": "function",
            "name": f"mcp__found__{number}_{dice.rng.randrange(1000)}",
            "description": material.prose(120),
            "defer_loading": True,
            "parameters": schema,
        }
        for number in range(dice.rng.randint(0, 2))
    ]


def declare_kinds(material: Material) -> list[Block]:
    """Build the entries of `tools` that allow calls of these kinds."""
    grammar = {"type": "grammar", "syntax": "lark", "definition": "start: /(.|\\n)+/"}
    schema = {"type": "object", "properties": {"query": {"type": "string"}}}
    search = {"type": "tool_search", "execution": "client", "parameters": schema}
    return [
        {
            "type": "custom",
            "name": "apply_patch",
            "description": material.prose(300),
            "format": grammar,
        },
        {"type": "local_shell"},
        {"type": "shell"},
        {"type": "apply_patch"},
        {**search, "description": material.prose(100)},
    ]


def _exec(_: str, given: Block) -> Block:
    fixed = {"type": "exec", "env": {}, "timeout_ms": 10_000, "working_directory": "/srv"}
    return {"action": {**fixed, "command": given["command"]}}


def _shell(_: str, given: Block) -> Block:
    limits = {"timeout_ms": None, "max_output_length": 12_000}
    return {"action": {"commands": given["commands"], **limits}}


def _printed(content: str | list[Block], failed: bool) -> Block:
    outcome = {"type": "exit", "exit_code": int(failed)}
    shown = {"stdout": "" if failed else content, "stderr": content if failed else ""}
    return {"output": [{**shown, "outcome": outcome}], "max_output_length": 12_000}


def _output(content: str | list[Block], _: bool) -> Block:
    return {"output": content}


KINDS = {
    FUNCTION: CallKind(
        "fc",
        "function_call_output",
        "fco",
        lambda name, given: {"name": name, "arguments": json.dumps(given, ensure_ascii=False)},
        _output,
    ),
    "custom_tool_call": CallKind(
        "ctc",
        "custom_tool_call_output",
        "ctco",
        lambda name, given: {"name": name, "input": given["input"]},
        _output,
    ),
    "local_shell_call": CallKind("lsh", "local_shell_call_output", "lsho", _exec, _output),
    "shell_call": CallKind("sh", "shell_call_output", "sho", _shell, _printed),
    "apply_patch_call": CallKind(
        "apc",
        "apply_patch_call_output",
        "apco",
        lambda _, given: {"operation": given},
        lambda content, failed: {
            "status": "failed" if failed else "completed",
            "output": content,
        },
    ),
    "tool_search_call": CallKind(
        "tsc",
        "tool_search_output",
        "tso",
        lambda _, given: {"execution": "client", "arguments": given},
        lambda _content, _failed: {"execution": "client", "status": "completed"},
    ),
}
"""Every kind by the type of its call."""
