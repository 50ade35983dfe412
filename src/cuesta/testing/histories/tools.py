"""The tools that a coding agent offers, the calls a model makes of them, and what they return."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cuesta.testing.histories.call_kinds import TEXT_ONLY, found_tools
from cuesta.testing.histories.features import Dice, Feature
from cuesta.testing.histories.material import Material
from cuesta.testing.histories.message import Message
from cuesta.testing.histories.style import Block
from cuesta.testing.histories.traits import Traits

LONGEST_RESULT = 30_000
"""Characters of the longest tool result, as agent programs cap them."""

_PROPERTIES = {
    "Bash": ("command", "description"),
    "Read": ("file_path",),
    "Edit": ("file_path", "old_string", "new_string"),
    "Write": ("file_path", "content"),
    "Grep": ("pattern", "path"),
    "Glob": ("pattern",),
    "TodoWrite": ("content",),
    "WebFetch": ("url", "prompt"),
}
_EXPLAINED = frozenset({"Bash", "Edit"})
_DEFERRED = ("mcp__tracker__search", "mcp__db__query", "NotebookEdit")
_RESULT_SIZES = (40, 150, 500, 1_200, 2_200, 3_600)


def declare_tools(material: Material, *, deferred: bool, searching: bool) -> list[Block]:
    """Build the `tools` of a request.

    Args:
        material: Words for the descriptions.
        deferred: Whether some stand back until a tool_addition brings them.
        searching: Whether the provider's own web search is among them.
    """
    tools = [_tool(name, fields, material) for name, fields in _PROPERTIES.items()]
    if deferred:
        tools += [
            {**_tool(name, ("query",), material), "defer_loading": True} for name in _DEFERRED
        ]
    if searching:
        tools.append({"type": "web_search_20250305", "name": "web_search", "max_uses": 8})
    return tools


def _tool(name: str, fields: tuple[str, ...], material: Material) -> Block:
    properties = {field: {"type": "string", "description": material.prose(50)} for field in fields}
    schema = {"type": "object", "properties": properties, "required": list(fields)}
    description = material.prose(700 if name in _EXPLAINED else 220)
    return {"name": name, "description": description, "input_schema": schema}


def callable_tools(tools: Iterable[Block], messages: Iterable[Message]) -> list[str]:
    """Return the names of the tools a model may call at the end of a history.

    Source: Anthropic, "Mid-conversation system messages and tool changes": a deferred tool is
    offered from its tool_addition on, any tool until its tool_removal.
    """
    names = {tool["name"]: not tool.get("defer_loading") for tool in tools if "type" not in tool}
    for message in messages:
        if message.role == "system":
            for block in message.blocks:
                if block["type"] in {"tool_addition", "tool_removal"}:
                    names[block["tool"]["name"]] = block["type"] == "tool_addition"
    return [name for name, offered in names.items() if offered]


def absent_tools(tools: Iterable[Block], messages: Iterable[Message]) -> list[str]:
    """Return the names of the tools that are declared but not offered at the end of a history."""
    offered = set(callable_tools(tools, messages))
    return [tool["name"] for tool in tools if "type" not in tool and tool["name"] not in offered]


def add_tool(name: str) -> Block:
    """Build a block that adds a tool standing back."""
    return {"type": "tool_addition", "tool": {"type": "tool_reference", "name": name}}


def change_of_tools(tools: Iterable[Block], messages: Iterable[Message], dice: Dice) -> Block:
    """Build a block that adds a tool standing back, or removes one that is offered."""
    declared = [tool["name"] for tool in tools if "type" not in tool]
    offered = set(callable_tools(tools, messages))
    absent = [name for name in declared if name not in offered]
    adding = bool(absent) and (dice.chance(0.6) or len(offered) < 4)
    spare = [name for name in declared if name in offered and name not in {"Bash", "Read"}]
    name = dice.rng.choice(absent if adding or not spare else spare)
    kind = "tool_removal" if name in offered else "tool_addition"
    return {"type": kind, "tool": {"type": "tool_reference", "name": name}}


def call_tool(name: str, material: Material, dice: Dice) -> Block:
    """Build a tool_use block with arguments such as models give."""
    size = dice.rng.choice
    texts: dict[str, Callable[[], str]] = {
        "file_path": material.path,
        "path": material.path,
        "url": lambda: f"https://docs.example.com{material.path()}",
        "content": lambda: material.code(size((100, 400, 1_500))),
        "old_string": lambda: material.code(size((40, 200))),
        "new_string": lambda: material.code(size((40, 300))),
        "command": lambda: f"cd /srv && {material.code(size((20, 90)))}",
    }
    fields = _PROPERTIES.get(name, ("query",))
    arguments: Block = {field: texts.get(field, lambda: material.prose(40))() for field in fields}
    if name == "Read" and dice.chance(0.3):
        arguments |= {"offset": dice.rng.randrange(2_000), "limit": 120, "pages": None}
    if name not in _PROPERTIES:
        arguments["options"] = {"deep": {"list": [1, -2.5, True, None], "empty": {}}, "none": []}
    return {"type": "tool_use", "id": material.name("toolu"), "name": name, "input": arguments}


def answer_call(call: Block, traits: Traits, material: Material, dice: Dice) -> Block:
    """Build the tool_result of a call: of any size and shape that the wire allows.

    Source: Anthropic's API refuses an error result that is empty or holds anything but text.
    """
    kind = call.get("kind", "")
    result: Block = {"tool_use_id": call["id"], "type": "tool_result"}
    if kind:
        result["kind"] = kind
    if kind == "tool_search_call":
        return {**result, "content": "", "tools": found_tools(material, dice)}
    if dice.happens(Feature.ERRORS, 0.15):
        text = material.code(dice.rng.choice((30, 200, 2_500, 6_000)))
        return {**result, "content": f"Error: {text}", "is_error": True}
    if dice.happens(Feature.EMPTY_RESULTS, 0.12):
        empty: tuple[Block, ...] = ({"content": ""}, {"content": []}, {})
        return result | (empty[0] if kind in TEXT_ONLY else dice.rng.choice(empty))
    if traits.shows_pictures and kind not in TEXT_ONLY and dice.happens(Feature.IMAGES, 0.06):
        note = [{"type": "text", "text": material.prose(60)}] if dice.chance(0.6) else []
        return {**result, "content": [*note, material.picture()]}
    text = _printed(material, dice)
    if kind not in TEXT_ONLY and _in_parts(traits, dice):
        parts = [text[: len(text) // 2], text[len(text) // 2 :]] if dice.chance(0.2) else [text]
        result["content"] = [{"type": "text", "text": part} for part in parts if part.strip()]
    else:
        result["content"] = text
    return {**result, "is_error": False} if dice.chance(0.3) else result


def _in_parts(traits: Traits, dice: Dice) -> bool:
    return dice.chance(0.3) if traits.lists_parts else dice.happens(Feature.PART_OUTPUTS, 0.4)


def _printed(material: Material, dice: Dice) -> str:
    if not material.tiny and dice.happens(Feature.LONG_RESULTS, 0.06):
        size = min(LONGEST_RESULT, int(dice.rng.randint(6_000, LONGEST_RESULT) * material.scale))
        if dice.chance(0.2):
            return f"data:application/octet-stream;base64,{material.run(size // 4)}"
        return material.code(size)
    return material.code(int(dice.rng.choice(_RESULT_SIZES) * material.scale))
