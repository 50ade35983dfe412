"""OpenAI Responses over HTTP: `POST /v1/responses`, and the ChatGPT login's Codex path.

Wire quirks that this file knows (OpenAI's API reference unless said otherwise):
- `input` is a string or a list of items; a message, a call, an output and a piece of reasoning are
  items of their own. Each is treated as a message here.
- Calls and outputs pair by `call_id`, over all kinds; a kind of call that is not in the table pairs
  the same way. Calls that the provider runs hold their result themselves.
- A reasoning item belongs to what follows it. Both stand in the model's step, so no cut parts them.
- With `previous_response_id` the input is only what is new, and a `compaction_trigger` asks for a
  compaction: such requests pass untouched.
- Items that bring tools stay, with their turn.
- A `compaction` item stands for everything before it; nothing may be put before it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from cuesta.core.errors import RequestError
from cuesta.core.meter import COMMON
from cuesta.core.transcript import CLEARED, Block, BlockKind, Message, Role
from cuesta.dialects.asking import answers, joined_texts
from cuesta.dialects.base import Request, UsageTap
from cuesta.dialects.bodies import length, number, read_body
from cuesta.dialects.openai_usage import ResponsesUsageTap
from cuesta.dialects.parts import (
    arguments_of,
    content_blocks,
    is_clearable,
    parts_of,
    result_block,
)
from cuesta.dialects.raw import (
    dump,
    join_array,
    join_object,
    load,
    normalised_digest,
    split_object,
)
from cuesta.protocols.sidecalls import RequestFacts

_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
}
_ARGUMENTS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
    "shell_call": "action",
    "computer_call": "action",
    "apply_patch_call": "operation",
    "tool_search_call": "arguments",
    "mcp_call": "arguments",
    "mcp_approval_request": "arguments",
    "web_search_call": "action",
    "file_search_call": "queries",
    "code_interpreter_call": "code",
    "image_generation_call": "revised_prompt",
}
"""Where each kind of call holds what was asked of it."""
_SERVED = frozenset({
    "mcp_call", "web_search_call", "file_search_call", "code_interpreter_call",
    "image_generation_call",
})  # fmt: skip
"""Calls that the provider runs: their result is in the item, so nothing answers them."""
_BARRIERS = frozenset({"compaction", "context_compaction", "item_reference"})
_PINNED = frozenset({"additional_tools", "mcp_list_tools", "tool_search_output"})
"""Items that bring tools: folded away, the tools would go with them."""
_OWN = ("model", "instructions", "store", "stream")
"""Members without which a login or a contract would refuse the request."""
_CLEARABLE = frozenset({"function_call_output", "custom_tool_call_output"})
"""Outputs that may be any text; the others have a form of their own."""
_PREAMBLE = 8
"""Items at the beginning among which a client's own tools stand."""


class OpenAIResponsesDialect:
    """The dialect; it has no state."""

    name = "openai_responses"
    where = "input"

    def read(self, body: bytes) -> Request:
        """See `Dialect.read`."""
        return read_body(body, self.where)

    def facts(self, request: Request) -> RequestFacts:
        """See `Dialect.facts`."""
        members = request.members
        text = load(members.get("text", b"null"))
        wanted = text.get("format") if isinstance(text, dict) else None
        return RequestFacts(
            messages=len(request.messages),
            tools=length(members, "tools") + _tools_in(request.messages),
            max_tokens=number(members, "max_output_tokens"),
            structured=isinstance(wanted, dict) and wanted.get("type") == "json_schema",
            partial=members.get("previous_response_id", b"null") != b"null",
            compacts=_asks_for_compaction(request.messages),
        )

    def fixed(self, request: Request) -> Sequence[bytes]:
        """See `Dialect.fixed`."""
        return [request.members[k] for k in ("instructions", "tools") if k in request.members]

    def parse(self, message: bytes) -> tuple[Message, bytes]:
        """See `Dialect.parse`."""
        item = load(message)
        if not isinstance(item, dict):
            raise RequestError("an input item is no JSON object")
        kind = str(item.get("type", "message"))
        digest = normalised_digest(_normalised(item, kind))
        if kind == "message":
            role = _ROLES.get(str(item.get("role")))
            if role is None:
                raise RequestError("a message has an unknown role")
            return Message(role, tuple(content_blocks(_parts(item, "content")))), digest
        return _item(item, kind), digest

    def without_thinking(self, message: bytes) -> bytes | None:
        """See `Dialect.without_thinking`; no model behind this wire checks prefixes."""
        return message

    def cleared(self, message: bytes) -> bytes:
        """See `Dialect.cleared`."""
        if not self.parse(message)[0].clearable:
            return message
        return join_object({**split_object(message), "output": dump(CLEARED)})

    def with_digest(self, message: bytes, text: str) -> list[bytes]:
        """See `Dialect.with_digest`."""
        part = {"type": "input_text", "text": text}
        return [message, dump({"type": "message", "role": "user", "content": [part]})]

    def splice(self, request: Request, messages: Sequence[bytes]) -> bytes:
        """See `Dialect.splice`."""
        return join_object({**request.members, "input": join_array(messages)})

    def asking(self, request: Request, prompt: str, limit: int) -> bytes:
        """See `Dialect.asking`.

        Behind a ChatGPT login a request must be streamed, not stored, and say nothing of a limit.
        """
        own = {k: request.members[k] for k in _OWN if k in request.members}
        if "max_output_tokens" in request.members:
            own["max_output_tokens"] = dump(limit)
        part = {"type": "input_text", "text": prompt}
        item = {"type": "message", "content": [part], "role": "user"}
        return join_object({**own, "input": dump([item])})

    def said(self, content_type: str, answer: bytes) -> str:
        """See `Dialect.said`; of a stream, what its last event tells or the items before it."""
        items: list[Any] = []
        for value in answers(content_type, answer):
            items.append(value.get("item"))
            response = value.get("response", value)
            if isinstance(response, dict) and response.get("status") == "completed":
                output = response.get("output") or items
                written = [i for i in output if isinstance(i, dict) and i.get("type") == "message"]
                return "".join(joined_texts(i.get("content"), "output_text") for i in written)
        return ""

    def usage_tap(self, content_type: str) -> UsageTap:
        """See `Dialect.usage_tap`."""
        return ResponsesUsageTap(content_type)


def _tools_in(items: Sequence[bytes]) -> int:
    """Count the items at the beginning that bring tools: Codex may send its own that way."""
    return sum(b'"additional_tools"' in item for item in items[:_PREAMBLE])


def _asks_for_compaction(items: Sequence[bytes]) -> bool:
    if not items or b"compaction_trigger" not in items[-1]:
        return False
    last = load(items[-1])
    return isinstance(last, dict) and last.get("type") == "compaction_trigger"


def _parts(item: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    return parts_of(item.get(key), "input_text")


def _normalised(item: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return an item without what clients change in it from one request to the next.

    On a resume Codex adds `"content": null` to reasoning items; content and outputs may be strings
    or lists; a message may leave its type out.
    """
    plain = {key: value for key, value in item.items() if value is not None}
    plain["type"] = kind
    for key in ("content", "output"):
        if isinstance(plain.get(key), str):
            plain[key] = parts_of(plain[key], "input_text")
    return plain


def _item(item: Mapping[str, Any], kind: str) -> Message:
    """Read an item that is no message."""
    if kind == "reasoning":
        return Message(Role.ASSISTANT, (_reasoning(item),))
    if kind.endswith(("_call_output", "_approval_response")) or kind == "tool_search_output":
        output = _output(item)
        clearable = kind in _CLEARABLE and is_clearable(_parts(item, "output"), output)
        return Message(
            Role.USER, (output,), pinned=kind in _PINNED, clearable=(0,) if clearable else ()
        )
    if kind.endswith("_call") or kind in _ARGUMENTS or kind in _SERVED:
        return Message(Role.ASSISTANT, (_call(item, kind),))
    opaque = Block(BlockKind.OPAQUE, name=kind, weight=COMMON.text(json.dumps(item)))
    barrier, pinned = kind in _BARRIERS, kind in _PINNED
    role = Role.SYSTEM if barrier or pinned else Role.ASSISTANT
    return Message(role, (opaque,), pinned=pinned, barrier=barrier)


def _reasoning(item: Mapping[str, Any]) -> Block:
    """Read reasoning: what it shows, and its sealed form, which tells its size best."""
    shown = item.get("summary"), item.get("content")
    parts = [part for listed in shown if isinstance(listed, list) for part in listed]
    texts = [str(part.get("text", "")) for part in parts if isinstance(part, dict)]
    sealed = str(item.get("encrypted_content") or "")
    return Block(BlockKind.THINKING, tuple(filter(None, texts)), weight=len(sealed) // 8)


def _call(item: Mapping[str, Any], kind: str) -> Block:
    asked = item.get(_ARGUMENTS.get(kind, "arguments"))
    served = kind in _SERVED
    return Block(
        BlockKind.CALL,
        name=str(item.get("name") or kind.removesuffix("_call")),
        call_id="" if served else _pair(item),
        arguments=arguments_of(asked if isinstance(asked, str | dict) else json.dumps(asked)),
        weight=COMMON.text(json.dumps(item)) if served else 0,
    )


def _output(item: Mapping[str, Any]) -> Block:
    output = item.get("output")
    printed = _printed(output)
    if printed:
        texts = [str(part.get(key, "")) for part in printed for key in ("stdout", "stderr")]
        parts = [{"type": "input_text", "text": text} for text in texts if text]
    elif output is None or isinstance(output, str | list):
        parts = parts_of(output, "input_text")
    else:
        parts = [{"type": "input_text", "text": json.dumps(output, ensure_ascii=False)}]
    failed = str(item.get("status")) in {"failed", "incomplete"}
    return result_block(_pair(item), parts, error=failed)


def _printed(output: object) -> list[dict[str, Any]]:
    """Return what a shell printed, or nothing where an output is no shell's."""
    parts = output if isinstance(output, list) else []
    return [part for part in parts if isinstance(part, dict) and "stdout" in part]


def _pair(item: Mapping[str, Any]) -> str:
    """Return what pairs a call with its output."""
    for key in ("call_id", "approval_request_id", "id"):
        if item.get(key):
            return str(item[key])
    return ""
