"""OpenAI Chat Completions, and the many servers that speak it: `POST /v1/chat/completions`.

Wire quirks that this file knows (OpenAI's API reference unless said otherwise):
- The system prompt is a message; tools stand in the body.
- A call's arguments are JSON in a string; results are messages of role `tool` right behind it.
- Servers add fields of their own to messages, and want them back (`reasoning_content`: DeepSeek's
  thinking mode), so kept messages are never written anew.
- Chat templates of open models refuse a second system message, and two plain user messages side by
  side, so a digest goes into the head's last user message, behind its own text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cuesta.core.errors import RequestError
from cuesta.core.transcript import CLEARED, Block, BlockKind, Message, Role
from cuesta.dialects.asking import answers, joined_texts
from cuesta.dialects.base import Request, UsageTap
from cuesta.dialects.bodies import length, number, read_body
from cuesta.dialects.openai_usage import ChatUsageTap
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
    split_array,
    split_object,
)
from cuesta.protocols.sidecalls import RequestFacts

_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.USER,
    "function": Role.USER,
}
_RESULT_ROLES = frozenset({"tool", "function"})
_REASONING = ("reasoning_content", "reasoning")


class OpenAIChatDialect:
    """The dialect; it has no state."""

    name = "openai_chat"
    where = "messages"

    def read(self, body: bytes) -> Request:
        """See `Dialect.read`."""
        return read_body(body, self.where)

    def facts(self, request: Request) -> RequestFacts:
        """See `Dialect.facts`."""
        members = request.members
        wanted = load(members.get("response_format", b"null"))
        return RequestFacts(
            messages=len(request.messages),
            tools=length(members, "tools"),
            max_tokens=number(members, "max_completion_tokens", "max_tokens"),
            structured=isinstance(wanted, dict) and wanted.get("type") == "json_schema",
        )

    def fixed(self, request: Request) -> Sequence[bytes]:
        """See `Dialect.fixed`."""
        return [request.members[k] for k in ("tools", "functions") if k in request.members]

    def parse(self, message: bytes) -> tuple[Message, bytes]:
        """See `Dialect.parse`."""
        value = load(message)
        if not isinstance(value, dict):
            raise RequestError("a message is no JSON object")
        role = _ROLES.get(str(value.get("role")))
        if role is None:
            raise RequestError("a message has an unknown role")
        parts = parts_of(value.get("content"), "text")
        blocks = _blocks(value, parts)
        clearable = (0,) if _is_clearable(value, parts, blocks) else ()
        read = Message(role, tuple(blocks), clearable=clearable)
        return read, normalised_digest(_normalised(value, parts))

    def without_thinking(self, message: bytes) -> bytes | None:
        """See `Dialect.without_thinking`; no model behind this wire checks prefixes."""
        return message

    def cleared(self, message: bytes) -> bytes:
        """See `Dialect.cleared`."""
        if not self.parse(message)[0].clearable:
            return message
        return join_object({**split_object(message), "content": dump(CLEARED)})

    def with_digest(self, message: bytes, text: str) -> list[bytes]:
        """See `Dialect.with_digest`."""
        members = split_object(message)
        content = members.get("content", b'""')
        if content.startswith(b"["):
            part = dump({"type": "text", "text": text})
            behind = join_array([*split_array(content), part])
        elif content in {b"null", b'""'}:
            behind = dump(text)
        else:
            behind = content[:-1] + dump("\n\n" + text)[1:]
        return [join_object({**members, "content": behind})]

    def splice(self, request: Request, messages: Sequence[bytes]) -> bytes:
        """See `Dialect.splice`."""
        return join_object({**request.members, "messages": join_array(messages)})

    def asking(self, request: Request, prompt: str, limit: int) -> bytes:
        """See `Dialect.asking`; servers differ in what they call the limit."""
        limits = dict.fromkeys(("max_completion_tokens", "max_tokens"), dump(limit))
        kept = {k: request.members[k] for k in ("model", "user") if k in request.members}
        own = {k: limit for k, limit in limits.items() if k in request.members}
        message = {"role": "user", "content": prompt}
        return join_object({**kept, **own, "messages": dump([message])})

    def said(self, content_type: str, answer: bytes) -> str:
        """See `Dialect.said`."""
        for value in answers(content_type, answer):
            choices = value.get("choices")
            first = choices[0] if isinstance(choices, list) and choices else None
            if isinstance(first, dict) and first.get("finish_reason") == "stop":
                message = first.get("message")
                content = message.get("content") if isinstance(message, dict) else None
                return content if isinstance(content, str) else joined_texts(content, "text")
        return ""

    def usage_tap(self, content_type: str) -> UsageTap:
        """See `Dialect.usage_tap`."""
        return ChatUsageTap(content_type)


def _normalised(message: Mapping[str, Any], parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a message without what clients change in it from one request to the next."""
    plain = [{k: v for k, v in part.items() if k != "cache_control"} for part in parts]
    rest = {key: value for key, value in message.items() if key != "cache_control"}
    return {**rest, "content": plain}


def _blocks(message: Mapping[str, Any], parts: list[dict[str, Any]]) -> list[Block]:
    if message.get("role") in _RESULT_ROLES:
        call = message.get("tool_call_id") or message.get("name")
        return [result_block(str(call or ""), parts)]
    thoughts = (message.get(key) for key in _REASONING)
    thinking = [Block(BlockKind.THINKING, (text,)) for text in thoughts if isinstance(text, str)]
    return [*thinking, *content_blocks(parts), *_calls(message)]


def _is_clearable(
    message: Mapping[str, Any], parts: list[dict[str, Any]], blocks: Sequence[Block]
) -> bool:
    return message.get("role") in _RESULT_ROLES and is_clearable(parts, blocks[0])


def _calls(message: Mapping[str, Any]) -> list[Block]:
    """Read calls of every kind; the old `function_call` is paired by its function's name."""
    calls = message.get("tool_calls")
    listed = calls if isinstance(calls, list) else []
    blocks = [_call(call) for call in listed if isinstance(call, dict)]
    old = message.get("function_call")
    if isinstance(old, dict):
        name = str(old.get("name", ""))
        arguments = arguments_of(old.get("arguments"))
        blocks.append(Block(BlockKind.CALL, name=name, call_id=name, arguments=arguments))
    return blocks


def _call(call: Mapping[str, Any]) -> Block:
    kind = str(call.get("type", "function"))
    made = call.get(kind)
    made = made if isinstance(made, dict) else {}
    return Block(
        BlockKind.CALL,
        name=str(made.get("name", kind)),
        call_id=str(call.get("id", "")),
        arguments=arguments_of(made.get("arguments", made.get("input"))),
    )
