"""What one message may look like, whatever stands around it.

Every rule here reads one message alone, so that its verdict can be kept with the message. A fault
names the message by `HERE`, which is replaced by its place in the request.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cuesta.testing.simulator.canon import Json

HERE = "\0"
"""Stands for `messages.N` in a fault."""

THINKING = frozenset({"thinking", "redacted_thinking"})
SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
SYSTEM_BLOCKS = frozenset({"text", "tool_addition", "tool_removal"})
RESULT_BLOCKS = frozenset({"text", "image", "document", "search_result", "tool_reference"})
_USER_ONLY = frozenset({"tool_result", "image", "document", "search_result"})
_ASSISTANT_ONLY = THINKING | SERVER_CALLS | {"tool_use"}
MESSAGE_BLOCKS = (
    _USER_ONLY
    | _ASSISTANT_ONLY
    | {
        "advisor_tool_result",
        "bash_code_execution_tool_result",
        "code_execution_tool_result",
        "compaction",
        "connector_text",
        "container_upload",
        "fallback",
        "mcp_tool_result",
        "text",
        "text_editor_code_execution_tool_result",
        "tool_search_tool_result",
        "web_fetch_tool_result",
        "web_search_tool_result",
    }
)

_MESSAGE_FIELDS = frozenset({"role", "content", "output_config", "clear_at"})
_FIELDS = {
    "text": frozenset({"type", "text", "cache_control", "citations"}),
    "thinking": frozenset({"type", "thinking", "signature"}),
    "redacted_thinking": frozenset({"type", "data"}),
    "tool_use": frozenset({"type", "id", "name", "input", "cache_control", "caller"}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"}),
}
_STRINGS = {
    "text": ("text",),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
    "tool_use": ("id", "name"),
    "tool_result": ("tool_use_id",),
}
_ID = re.compile(r"[a-zA-Z0-9_-]+")


class Fault(NamedTuple):
    """A broken rule inside one message: the rule's name, and what the provider says."""

    rule: str
    text: str


def first_fault(message: object, extra: frozenset[str]) -> Fault | None:
    """Return the first fault of one message, or None.

    Args:
        message: One entry of `messages`.
        extra: Block types accepted beyond those known today.
    """
    return next(_faults(message, extra), None)


def _faults(message: object, extra: frozenset[str]) -> Iterator[Fault]:
    if not isinstance(message, dict):
        yield Fault("fields", f"{HERE}: Input should be an object")
        return
    role, content = message.get("role"), message.get("content")
    if role not in {"user", "assistant", "system"}:
        yield Fault("roles", f"{HERE}.role: Input should be 'user', 'assistant' or 'system'")
        return
    for field in message.keys() - _MESSAGE_FIELDS:
        yield Fault("extra", f"{HERE}.{field}: Extra inputs are not permitted")
    if isinstance(content, str):
        if content and not content.strip():
            yield Fault(
                "whitespace", "messages: text content blocks must contain non-whitespace text"
            )
    elif isinstance(content, list):
        yield from _content_faults(role, content, extra)
    else:
        yield Fault("fields", f"{HERE}.content: Input should be a valid list")


def _content_faults(role: str, content: list[object], extra: frozenset[str]) -> Iterator[Fault]:
    for index, block in enumerate(content):
        at = f"{HERE}.content.{index}"
        if not isinstance(block, dict):
            yield Fault("fields", f"{at}: Input should be an object")
            return
        yield from _type_faults(role, block, at, extra)
        yield from _field_faults(block, at)
        yield from _text_faults(block)
        if block.get("type") == "tool_result":
            yield from _result_faults(block, at)
    if role == "assistant" and content:
        yield from _ending_faults([block for block in content if isinstance(block, dict)])


def _type_faults(role: str, block: Json, at: str, extra: frozenset[str]) -> Iterator[Fault]:
    kind = block.get("type")
    if kind in extra:
        return
    if role == "system":
        if kind not in SYSTEM_BLOCKS:
            yield Fault(
                "system-place",
                f"{HERE}: role 'system' supports text, tool_addition and tool_removal blocks only",
            )
    elif kind not in MESSAGE_BLOCKS:
        yield _unknown(at, kind, MESSAGE_BLOCKS)
    elif role == "user" and kind in _ASSISTANT_ONLY:
        yield Fault("placement", f"{HERE}: `{kind}` blocks can only be in `assistant` messages")
    elif role == "assistant" and kind in _USER_ONLY:
        yield Fault("placement", f"{HERE}: `{kind}` blocks can only be in `user` messages")


def _unknown(at: str, kind: object, expected: frozenset[str]) -> Fault:
    if kind is None:
        return Fault("blocks", f"{at}.type: Field required")
    tags = ", ".join(f"'{tag}'" for tag in sorted(expected))
    return Fault(
        "blocks",
        f"{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags: "
        f"{tags}",
    )


def _field_faults(block: Json, at: str) -> Iterator[Fault]:
    kind = str(block.get("type"))
    allowed = _FIELDS.get(kind)
    if allowed is None:
        return
    for field in sorted(block.keys() - allowed):
        yield Fault("extra", f"{at}.{kind}.{field}: Extra inputs are not permitted")
    for field in _STRINGS[kind]:
        if field not in block:
            yield Fault("fields", f"{at}.{kind}.{field}: Field required")
        elif not isinstance(block[field], str):
            yield Fault("fields", f"{at}.{kind}.{field}: Input should be a valid string")
    if kind == "tool_use":
        yield from _call_faults(block, at)


def _call_faults(block: Json, at: str) -> Iterator[Fault]:
    if not _ID.fullmatch(str(block.get("id", ""))):
        yield Fault(
            "call-shape", f"{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
        )
    if not isinstance(block.get("input"), dict):
        yield Fault("call-shape", f"{at}.tool_use.input: Input should be a valid dictionary")


def _text_faults(block: Json) -> Iterator[Fault]:
    if block.get("type") != "text" or not isinstance(block.get("text"), str):
        return
    if not block["text"]:
        yield Fault("empty", "messages: text content blocks must be non-empty")
    elif not block["text"].strip():
        yield Fault("whitespace", "messages: text content blocks must contain non-whitespace text")


def _result_faults(block: Json, at: str) -> Iterator[Fault]:
    content = block.get("content")
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list):
        yield Fault("fields", f"{at}.tool_result.content: Input should be a valid list")
        return
    for index, inner in enumerate(content):
        kind = inner.get("type") if isinstance(inner, dict) else None
        if kind not in RESULT_BLOCKS:
            yield _unknown(f"{at}.tool_result.content.{index}", kind, RESULT_BLOCKS)
        elif kind == "text" and not inner.get("text"):
            yield Fault("empty", "messages: text content blocks must be non-empty")


def _ending_faults(content: list[Json]) -> Iterator[Fault]:
    if content[-1].get("type") in THINKING:
        yield Fault(
            "final-thinking",
            f"{HERE}: The final block in an assistant message cannot be `{content[-1]['type']}`.",
        )
