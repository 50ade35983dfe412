"""A history in Chat Completions' form as Anthropic Messages carries it, and what stays of it.

Scaffolds with messages of their own are read in one form. Where Claude answers behind Anthropic's
wire, sizes and cuts go by that wire: results stand in user messages, the system prompt beside them,
and thinking in signed blocks (`thinking_blocks`, as LiteLLM calls them).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cuesta.core.digest import OPENING
from cuesta.exchange.planner import Plan
from cuesta.integrations.cuts import Cut

_SYSTEM = frozenset({"system", "developer"})


@dataclass(frozen=True, slots=True)
class Written:
    """A request as Anthropic's wire carries it.

    Attributes:
        request: The request.
        groups: The places of the given messages that each of its messages holds.
        system: The places of the given messages that are its system prompt.
    """

    request: dict[str, Any]
    groups: list[list[int]]
    system: list[int]


def write(request: Mapping[str, Any]) -> Written:
    """Write a request in Chat Completions' form as Anthropic's wire carries it."""
    given = request["messages"]
    system = [i for i, message in enumerate(given) if message["role"] in _SYSTEM]
    messages: list[dict[str, Any]] = []
    groups: list[list[int]] = []
    for i, message in enumerate(given):
        if message["role"] in _SYSTEM:
            continue
        role = "assistant" if message["role"] == "assistant" else "user"
        blocks = _assistant(message) if role == "assistant" else _user(message)
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
            groups[-1].append(i)
        else:
            messages.append({"role": role, "content": blocks})
            groups.append([i])
    written: dict[str, Any] = {"model": request["model"], "messages": messages}
    if system:
        written["system"] = [block for i in system for block in _parts(given[i].get("content"))]
    written["tools"] = [_tool(tool["function"]) for tool in request.get("tools", ())]
    return Written(written, groups, system)


def _tool(function: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": function["name"],
        "input_schema": function.get("parameters", {}),
        "description": function.get("description", ""),
    }


def _parts(content: Any) -> list[Any]:  # noqa: ANN401 - a string, parts or nothing
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content or ())


def _user(message: Mapping[str, Any]) -> list[Any]:
    if message["role"] != "tool":
        return _parts(message.get("content"))
    result = {"type": "tool_result", "tool_use_id": message["tool_call_id"]}
    return [{**result, "content": message.get("content")}]


def _assistant(message: Mapping[str, Any]) -> list[Any]:
    blocks = [*message.get("thinking_blocks", ()), *_parts(message.get("content"))]
    for call in message.get("tool_calls", ()):
        made = call["function"]
        asked = json.loads(made["arguments"] or "{}")
        use = {"type": "tool_use", "id": call["id"], "name": made["name"], "input": asked}
        blocks.append(use)
    return blocks


def cut(written: Written, sent: Sequence[Any], plan: Plan, given: Sequence[Any]) -> Cut:
    """Say what stays of the given messages.

    Args:
        written: What they were written as.
        sent: The messages that are sent in place of those.
        plan: The plan that says so.
        given: The messages, in Chat Completions' form.
    """
    places = {id(message): k for k, message in enumerate(written.request["messages"])}
    uses = {name: k for k, m in enumerate(written.request["messages"]) for name in _names(m)}
    stay: list[int] = []
    results: dict[str, Any] = {}
    anchor, digest = -1, ""
    for place, message in enumerate(sent):
        k = places.get(id(message))
        if k is None and _is_digest(message):
            digest = message["content"][0]["text"]
            users = (i for i in written.groups[stay[-1]] if given[i]["role"] == "user")
            anchor = max(users)
            continue
        if k is None:
            k = next((uses[name] for name in _names(message) if name in uses), None)
            results |= _results(message)
        if k is None:
            k = places[id(sent[place + 1])] - 1
        stay.append(k)
    kept = sorted([*written.system, *(i for k in stay for i in written.groups[k])])
    told = ((i, given[i].get("tool_call_id"), given[i].get("content")) for i in kept)
    cleared = {i: results[name] for i, name, own in told if results.get(name, own) != own}
    cliff = plan.cliffs[-1]
    bare = written.groups[cliff.messages - 1][-1] + 1 if cliff.strip else 0
    return Cut(tuple(kept), anchor, digest, cleared, bare)


def _is_digest(message: Mapping[str, Any]) -> bool:
    block = message["content"][0] if message["role"] == "user" else {}
    return str(block.get("text", "")).startswith(OPENING)


def _names(message: Mapping[str, Any]) -> list[str]:
    """Return the ids of a message's calls, or of those that it answers, told apart."""
    blocks = [block for block in message["content"] if isinstance(block, dict)]
    calls = [f"call {block['id']}" for block in blocks if block.get("type") == "tool_use"]
    return calls or [f"result {b['tool_use_id']}" for b in blocks if "tool_use_id" in b]


def _results(message: Mapping[str, Any]) -> dict[str, Any]:
    return {b["tool_use_id"]: b["content"] for b in message["content"] if "tool_use_id" in b}
