"""What one message, or what stands before all messages, tells by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from cuesta.testing.simulator.blocks import HERE, SERVER_CALLS, THINKING, Fault, first_fault
from cuesta.testing.simulator.canon import (
    Json,
    block_digest,
    blocks_of,
    digest,
    dump,
    half_surrogate,
    link,
)
from cuesta.testing.simulator.images import Picture, picture_of
from cuesta.testing.simulator.tokens import TOOLS_OVERHEAD, count_block, count_text

if TYPE_CHECKING:
    from collections.abc import Iterable


class Marker(NamedTuple):
    """A `cache_control`: the path of what carries it (with `HERE`), its value, and the block.

    In the head, `block` counts tools and system blocks in one row.
    """

    at: str
    value: object
    block: int


class Named(NamedTuple):
    """An identifier at a block, with the block's type or, for server calls, the tool's name."""

    block: int
    kind: str
    name: str


class Shown(NamedTuple):
    """A picture, or the name in a tool reference, at a path with `HERE`."""

    at: str
    what: Picture | str


@dataclass(frozen=True, slots=True)
class Message:
    """What one message tells, wherever it stands. A message with a fault tells little else."""

    role: str
    kinds: tuple[str, ...]
    digests: tuple[bytes, ...]
    tokens: tuple[int, ...]
    size: int
    """The length of its JSON."""
    fault: Fault | None = None
    options: bytes = b""
    """The digest of what the message sets beside its content, or empty."""
    calls: tuple[Named, ...] = ()
    results: tuple[Named, ...] = ()
    leading: int = 0
    """How many tool results stand in one run at the start."""
    server: tuple[Named, ...] = ()
    """Server tool calls and their results, in order."""
    thinking: tuple[Named, ...] = ()
    """Thinking blocks by signature, hidden ones by their data."""
    markers: tuple[Marker, ...] = ()
    pictures: tuple[Shown, ...] = ()
    references: tuple[Shown, ...] = ()
    added_tools: tuple[str, ...] = ()
    directive: bool = False
    """Whether it is a system message without content that only sets options."""
    trailing_space: bool = False
    surrogate: bool = False


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before the messages: tools, then system."""

    states: tuple[bytes, ...]
    """The chain behind each tool and each system block."""
    tokens: tuple[int, ...]
    markers: tuple[Marker, ...]
    tools: frozenset[str]
    fault: Fault | None
    surrogate: bool


def read_message(entry: object, text: str, extra: frozenset[str]) -> Message:
    """Read one entry of `messages`.

    Args:
        entry: The entry.
        text: Its JSON in ASCII.
        extra: Block types accepted beyond those known today.
    """
    surrogate = half_surrogate(entry, text)
    fault = first_fault(entry, extra)
    if fault is not None or not isinstance(entry, dict):
        role = str(entry.get("role", "")) if isinstance(entry, dict) else ""
        return Message(role, (), (), (count_text(text),), len(text), fault, surrogate=surrogate)
    blocks = blocks_of(entry["content"])
    kinds = tuple(str(block["type"]) for block in blocks)
    options = {key: entry[key] for key in sorted(entry) if key not in {"role", "content"}}
    return Message(
        role=entry["role"],
        kinds=kinds,
        digests=tuple(block_digest(block) for block in blocks),
        tokens=tuple(count_block(block) for block in blocks),
        size=len(text),
        options=digest(dump(options).encode()) if options else b"",
        calls=_named(blocks, "tool_use", "id"),
        results=_named(blocks, "tool_result", "tool_use_id"),
        leading=_leading(kinds),
        server=_server(blocks),
        thinking=_thinking(blocks),
        markers=_markers(blocks),
        pictures=_pictures(blocks),
        references=_references(blocks),
        added_tools=tuple(name for block in blocks for name in _added(block)),
        directive=entry["role"] == "system" and not blocks and "output_config" in entry,
        trailing_space=bool(blocks) and _ends_in_space(blocks[-1]),
        surrogate=surrogate,
    )


def read_head(body: Json) -> Head:
    """Read a body's tools and system."""
    given = body.get("tools")
    tools = [tool for tool in given if isinstance(tool, dict)] if isinstance(given, list) else []
    system = blocks_of(body.get("system"))
    parts = [*tools, *system]
    states: list[bytes] = []
    for part in parts:
        states.append(link(states[-1] if states else b"", "", block_digest(part)))
    tokens = [count_text(dump(tool)) for tool in tools] + [count_block(part) for part in system]
    if tools:
        tokens[0] += TOOLS_OVERHEAD
    paths = [f"tools.{n}" for n in range(len(tools))] + [f"system.{n}" for n in range(len(system))]
    return Head(
        states=tuple(states),
        tokens=tuple(tokens),
        markers=tuple(
            Marker(paths[n], part["cache_control"], n)
            for n, part in enumerate(parts)
            if part.get("cache_control") is not None
        ),
        tools=frozenset(str(tool["name"]) for tool in tools if "name" in tool),
        fault=_head_fault(body),
        surrogate=half_surrogate(parts, dump(parts)),
    )


def _head_fault(body: Json) -> Fault | None:
    tools, system = body.get("tools"), body.get("system")
    if tools is not None and not isinstance(tools, list):
        return Fault("fields", "tools: Input should be a valid list")
    if system is not None and not isinstance(system, (str, list)):
        return Fault("fields", "system: Input should be a valid list")
    for index, block in enumerate(system if isinstance(system, list) else ()):
        if not isinstance(block, dict) or block.get("type") != "text":
            return Fault("blocks", f"system.{index}.type: Input should be 'text'")
        if not block.get("text"):
            return Fault("empty", "system: text content blocks must be non-empty")
    return None


def _named(blocks: list[Json], kind: str, field: str) -> tuple[Named, ...]:
    return tuple(
        Named(n, kind, block[field]) for n, block in enumerate(blocks) if block["type"] == kind
    )


def _leading(kinds: tuple[str, ...]) -> int:
    return next((n for n, kind in enumerate(kinds) if kind != "tool_result"), len(kinds))


def _server(blocks: list[Json]) -> tuple[Named, ...]:
    found: list[Named] = []
    for n, block in enumerate(blocks):
        kind = str(block["type"])
        if kind in SERVER_CALLS:
            found.append(Named(n, str(block.get("name")), str(block.get("id"))))
        elif kind.endswith("_tool_result"):
            found.append(Named(n, kind, str(block.get("tool_use_id"))))
    return tuple(found)


def _thinking(blocks: list[Json]) -> tuple[Named, ...]:
    return tuple(
        Named(n, block["type"], str(block.get("signature") or block.get("data") or ""))
        for n, block in enumerate(blocks)
        if block["type"] in THINKING
    )


def _inner(blocks: list[Json]) -> Iterable[tuple[str, int, Json]]:
    """Yield every block with its path and its place, those inside of tool results too."""
    for n, block in enumerate(blocks):
        yield f"{HERE}.content.{n}", n, block
        if block["type"] == "tool_result":
            for k, inner in enumerate(blocks_of(block.get("content"))):
                yield f"{HERE}.content.{n}.tool_result.content.{k}", n, inner


def _markers(blocks: list[Json]) -> tuple[Marker, ...]:
    return tuple(
        Marker(at, block["cache_control"], n)
        for at, n, block in _inner(blocks)
        if block.get("cache_control") is not None
    )


def _pictures(blocks: list[Json]) -> tuple[Shown, ...]:
    images = (
        (at, picture_of(block)) for at, _, block in _inner(blocks) if block["type"] == "image"
    )
    return tuple(Shown(at, picture or Picture(0, None)) for at, picture in images)


def _references(blocks: list[Json]) -> tuple[Shown, ...]:
    return tuple(
        Shown(at, str(block.get("tool_name")))
        for at, _, block in _inner(blocks)
        if block["type"] == "tool_reference"
    )


def _added(block: Json) -> Iterable[str]:
    tool: Any = block.get("tool")
    if block["type"] == "tool_addition" and isinstance(tool, dict):
        definition = tool.get("definition")
        source = definition if isinstance(definition, dict) else tool
        yield str(source.get("name"))


def _ends_in_space(block: Json) -> bool:
    return block["type"] == "text" and str(block["text"])[-1].isspace()
