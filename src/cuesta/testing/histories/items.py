"""A message as the items of OpenAI's Responses wire, as the provider or a full client writes them.

Source: OpenAI's API reference, the input and output items of Responses; `additional_tools` and the
habits of clients from the field notes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from cuesta.testing.histories.call_kinds import FUNCTION, KINDS
from cuesta.testing.histories.message import Message, is_thinking
from cuesta.testing.histories.openai_parts import data_url, function
from cuesta.testing.histories.style import Block

GiveName = Callable[[str], str]
"""Gives an id that begins with a prefix."""


def answer_items(message: Message, give: GiveName) -> Iterator[Block]:
    """Write an assistant's message as output items.

    Args:
        message: It keeps the ids that its items are given.
        give: Called once for each item.
    """
    blocks = message.blocks
    for place, block in enumerate(blocks):
        kind = block["type"]
        if is_thinking(block):
            yield _reasoning(block, message.name(place, lambda: give("rs")))
        elif kind == "text":
            yield _said(block, message.name(place, lambda: give("msg")))
        elif kind == "tool_use":
            yield _call(block, message, place, give)
        elif kind == "server_tool_use":
            yield _served(block, blocks[place + 1 :], message, place, give)
        elif kind == "compaction":
            yield {"id": message.name(place, lambda: give("cmp")), **block}
        elif kind != "web_search_tool_result":
            yield block


def client_items(
    message: Message, give: GiveName, tools: Sequence[Block], apart: str
) -> Iterator[Block]:
    """Write a user's or a system message as input items.

    Args:
        message: It keeps the ids that its items are given.
        give: Called once for each item.
        tools: The tools that the client declares, those that stand back included.
        apart: Texts that begin with it are items of their own; empty: none are.
    """
    role = "developer" if message.role == "system" else "user"
    parts: list[Block] = []
    start = 0
    for place, block in enumerate(message.blocks):
        kind = block["type"]
        if kind in {"text", "image"}:
            own = bool(apart) and block.get("text", "").startswith(apart)
            if own and parts:
                yield _message(role, parts, message, start, give)
                parts = []
            start = start if parts else place
            parts = [*parts, _part(block)]
            if not own:
                continue
        if parts:
            yield _message(role, parts, message, start, give)
            parts = []
        if kind == "tool_result":
            yield _output(block, message, place, give)
        elif kind == "tool_addition":
            named = [tool for tool in tools if tool["name"] == block["tool"]["name"]]
            added = [{"type": "function", **function(tool)} for tool in named]
            name = message.name(place, lambda: give("at"))
            yield {"type": "additional_tools", "id": name, "role": role, "tools": added}
        elif kind == "future_block":
            yield block
    if parts:
        yield _message(role, parts, message, start, give)


def _message(role: str, parts: list[Block], message: Message, place: int, give: GiveName) -> Block:
    name = message.name(place, lambda: give("msg"))
    return {"type": "message", "id": name, "role": role, "content": parts}


def _part(block: Block) -> Block:
    if block["type"] == "image":
        return {"type": "input_image", "image_url": data_url(block), "detail": "auto"}
    return {"type": "input_text", "text": block["text"]}


def _output(block: Block, message: Message, place: int, give: GiveName) -> Block:
    kind = KINDS[block.get("kind", FUNCTION)]
    content = block.get("content", "")
    shown = content if isinstance(content, str) else list(map(_part, content))
    item: Block = {
        "type": kind.output,
        "id": message.name(place, lambda: give(kind.output_prefix)),
        "call_id": call_id(block["tool_use_id"]),
        **kind.answered(shown, bool(block.get("is_error"))),
    }
    return item | ({"tools": block["tools"]} if "tools" in block else {})


def _reasoning(block: Block, name: str) -> Block:
    text = block.get("thinking", "")
    item: Block = {
        "type": "reasoning",
        "id": name,
        "summary": [{"type": "summary_text", "text": text}] if text else [],
        "encrypted_content": block.get("signature") or block.get("data"),
    }
    return item | ({"content": None} if block.get("loaded") else {})


def _said(block: Block, name: str) -> Block:
    text = block["text"]
    cited = [
        {
            "type": "url_citation",
            "url": source["url"],
            "title": source["title"],
            "start_index": 0,
            "end_index": len(text),
        }
        for source in block.get("citations", [])
    ]
    part = {"type": "output_text", "text": text, "annotations": cited, "logprobs": []}
    fixed = {"type": "message", "id": name, "status": "completed", "role": "assistant"}
    return {**fixed, "content": [part]}


def _call(block: Block, message: Message, place: int, give: GiveName) -> Block:
    name = block.get("kind", FUNCTION)
    kind = KINDS[name]
    tool = block["name"].lower()
    return {
        "type": name,
        "id": message.name(place, lambda: give(kind.prefix)),
        "status": "completed",
        "call_id": call_id(block["id"]),
        **kind.asked(tool, block["input"]),
    }


def call_id(name: str) -> str:
    """Return the id by which a call and its output pair."""
    return f"call_{name.removeprefix('toolu_')}"


def _served(
    block: Block, after: Sequence[Block], message: Message, place: int, give: GiveName
) -> Block:
    """Write a call that the provider ran, with its result: a search, or some other kind."""
    found = after[0]["content"] if after else []
    pages = found if isinstance(found, list) else []
    query = block["input"]["query"]
    sources = [{"type": "url", "url": page["url"]} for page in pages]
    kinds: tuple[tuple[str, str, Block], ...] = (
        ("ws", "web_search_call", {
            "action": {"type": "search", "query": query, "sources": sources},
        }),
        ("ci", "code_interpreter_call", {
            "code": f"print({query!r})",
            "container_id": "cntr_1",
            "outputs": [{"type": "logs", "logs": page["title"]} for page in pages],
        }),
        ("fs", "file_search_call", {"queries": [query], "results": None}),
        ("mcp", "mcp_call", {
            "server_label": "tracker",
            "name": "search",
            "arguments": json.dumps({"query": query}, ensure_ascii=False),
            "output": "\n".join(page["title"] for page in pages),
            "error": None,
            "approval_request_id": None,
        }),
    )  # fmt: skip
    prefix, kind, own = kinds[int(block["id"][-1], 16) % len(kinds)]
    name = message.name(place, lambda: give(prefix))
    return {"type": kind, "id": name, "status": "completed", **own}
