"""Anthropic Messages: `POST /v1/messages` and its token counter.

Wire quirks that this file knows (Anthropic's API reference unless said otherwise):
- `content` is a string or a list of blocks; clients change between the two for the same message,
  and move `cache_control` from one block to another, so neither enters a message's identity.
- A tool result's content may be missing, a string, or a list of typed blocks.
- The provider's own tools answer in an assistant message, not always the one of the call: a turn
  may be paused, and a call beside a client's call is run only after the client has answered.
- Messages of role `system` may stand between the others; those that add or remove tools, and
  `compaction` blocks made by the provider, must not be folded away.
- Consecutive user messages are allowed, so a digest is a message of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from cuesta.core.errors import RequestError
from cuesta.core.meter import COMMON
from cuesta.core.transcript import CLEARED, Block, BlockKind, Message, Role, is_worth_clearing
from cuesta.dialects.anthropic_usage import AnthropicUsageTap
from cuesta.dialects.asking import answers, joined_texts
from cuesta.dialects.base import Request, UsageTap
from cuesta.dialects.bodies import length, number, read_body
from cuesta.dialects.pictures import UNKNOWN, Size, encoded_size
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
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
}
_THINKING = frozenset({"thinking", "redacted_thinking"})
_MEDIA = frozenset({"image", "document"})
_PLAIN = _MEDIA | {"text"}
_PINNED = frozenset({"tool_addition", "tool_removal"})
_BARRIERS = frozenset({"compaction"})
_DOCUMENT_TOKENS = 3000


class AnthropicDialect:
    """The dialect; it has no state."""

    name = "anthropic"
    where = "messages"

    def read(self, body: bytes) -> Request:
        """See `Dialect.read`."""
        return read_body(body, self.where)

    def facts(self, request: Request) -> RequestFacts:
        """See `Dialect.facts`."""
        members = request.members
        config = load(members.get("output_config", b"null"))
        return RequestFacts(
            messages=len(request.messages),
            tools=length(members, "tools"),
            max_tokens=number(members, "max_tokens"),
            structured=isinstance(config, dict) and "format" in config,
        )

    def fixed(self, request: Request) -> Sequence[bytes]:
        """See `Dialect.fixed`."""
        return [request.members[key] for key in ("system", "tools") if key in request.members]

    def parse(self, message: bytes) -> tuple[Message, bytes]:
        """See `Dialect.parse`."""
        value = load(message)
        if not isinstance(value, dict):
            raise RequestError("a message is no JSON object")
        role = _ROLES.get(str(value.get("role")))
        if role is None:
            raise RequestError("a message has an unknown role")
        content = _blocks(value.get("content"))
        kinds = {str(block.get("type")) for block in content}
        blocks = tuple(map(_block, content))
        pairs = enumerate(zip(content, blocks, strict=True))
        read = Message(
            role,
            blocks,
            pinned=bool(kinds & _PINNED),
            barrier=bool(kinds & _BARRIERS),
            clearable=tuple(i for i, (raw, block) in pairs if _is_clearable(raw, block)),
        )
        return read, normalised_digest(_normalised(value, content))

    def without_thinking(self, message: bytes) -> bytes | None:
        """See `Dialect.without_thinking`."""
        members = split_object(message)
        content = members.get("content", b"")
        if not content.startswith(b"["):
            return message
        blocks = split_array(content)
        kept = [block for block in blocks if not _is_thinking(block)]
        if len(kept) == len(blocks):
            return message
        if not kept:
            return None
        return join_object({**members, "content": join_array(kept)})

    def cleared(self, message: bytes) -> bytes:
        """See `Dialect.cleared`."""
        members = split_object(message)
        content = members.get("content", b"")
        if not content.startswith(b"["):
            return message
        blocks = [_cleared(block) for block in split_array(content)]
        return join_object({**members, "content": join_array(blocks)})

    def with_digest(self, message: bytes, text: str) -> list[bytes]:
        """See `Dialect.with_digest`."""
        block = {"type": "text", "text": text}
        return [message, dump({"role": "user", "content": [block]})]

    def splice(self, request: Request, messages: Sequence[bytes]) -> bytes:
        """See `Dialect.splice`."""
        return join_object({**request.members, "messages": join_array(messages)})

    def asking(self, request: Request, prompt: str, limit: int) -> bytes:
        """See `Dialect.asking`; a subscription's login is refused without its system prompt."""
        own = {
            k: request.members[k] for k in ("model", "system", "metadata") if k in request.members
        }
        message = {"role": "user", "content": [{"type": "text", "text": prompt}]}
        return join_object({**own, "max_tokens": dump(limit), "messages": dump([message])})

    def said(self, content_type: str, answer: bytes) -> str:
        """See `Dialect.said`."""
        for value in answers(content_type, answer):
            if value.get("stop_reason") in {"end_turn", "stop_sequence"}:
                return joined_texts(value.get("content"), "text")
        return ""

    def usage_tap(self, content_type: str) -> UsageTap:
        """See `Dialect.usage_tap`."""
        return AnthropicUsageTap(content_type)


def _blocks(content: object) -> list[dict[str, Any]]:
    """Return content as blocks: a string is one text block."""
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, list) and all(isinstance(block, dict) for block in content):
        return content
    raise RequestError("a message's `content` is neither a string nor a list of blocks")


def _normalised(message: Mapping[str, Any], content: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a message without what clients change in it from one request to the next."""
    return {**message, "content": [_normalised_block(block) for block in content]}


def _normalised_block(block: Mapping[str, Any]) -> dict[str, Any]:
    plain = {key: value for key, value in block.items() if key != "cache_control"}
    inner = plain.get("content")
    if plain.get("type") == "tool_result" and (inner is None or isinstance(inner, str | list)):
        parts = [{"type": "text", "text": inner}] if isinstance(inner, str) else inner or []
        plain["content"] = [
            _normalised_block(part) if isinstance(part, dict) else part for part in parts
        ]
    return plain


def _is_thinking(block: bytes) -> bool:
    value = load(block)
    return isinstance(value, dict) and str(value.get("type")) in _THINKING


def _cleared(block: bytes) -> bytes:
    value = load(block)
    if not isinstance(value, dict) or not _is_clearable(value, _block(value)):
        return block
    return join_object({**split_object(block), "content": dump(CLEARED)})


def _is_clearable(raw: Mapping[str, Any], block: Block) -> bool:
    """Tell whether a block is a result of the client's, of text and media alone, worth clearing.

    A reference to a tool in a result brings the tool.
    """
    if raw.get("type") != "tool_result" or not is_worth_clearing(block):
        return False
    content = raw.get("content")
    parts = content if isinstance(content, list) else []
    return all(isinstance(part, dict) and str(part.get("type")) in _PLAIN for part in parts)


def _block(block: Mapping[str, Any]) -> Block:
    kind = str(block.get("type"))
    if kind == "text":
        return Block(BlockKind.TEXT, (str(block.get("text", "")),))
    if kind in _THINKING:
        return _thinking(block)
    if kind in {"tool_use", "server_tool_use", "mcp_tool_use"}:
        return _call(block)
    if kind.endswith("tool_result"):
        return _result(block)
    if kind in _MEDIA:
        return Block(
            BlockKind.MEDIA, name=kind, weight=_file_tokens([block]), pictures=_pictures([block])
        )
    return Block(BlockKind.OPAQUE, name=kind, weight=COMMON.text(json.dumps(block)))


def _thinking(block: Mapping[str, Any]) -> Block:
    """Read thinking; where its text is hidden, its encrypted form tells its size best."""
    text = str(block.get("thinking", ""))
    hidden = str(block.get("data", "") or ("" if text else block.get("signature", "")))
    return Block(BlockKind.THINKING, (text,), weight=len(hidden) // 8)


def _call(block: Mapping[str, Any]) -> Block:
    arguments = block.get("input")
    return Block(
        BlockKind.CALL,
        name=str(block.get("name", "")),
        call_id=str(block.get("id", "")),
        arguments=arguments if isinstance(arguments, dict) else {},
    )


def _result(block: Mapping[str, Any]) -> Block:
    content = block.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [_result_text(part) for part in parts]
    media = [part for part in parts if isinstance(part, dict) and str(part.get("type")) in _MEDIA]
    return Block(
        BlockKind.RESULT,
        tuple(text for text in texts if text),
        call_id=str(block.get("tool_use_id", "")),
        error=bool(block.get("is_error")),
        media=len(media),
        weight=_file_tokens(media) + sum(map(_opaque_tokens, parts)),
        pictures=_pictures(media),
    )


def _result_text(part: object) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and part.get("type") == "text":
        return str(part.get("text", ""))
    return ""


def _opaque_tokens(part: object) -> int:
    """Estimate a part of a result that is neither text nor media."""
    if not isinstance(part, dict) or str(part.get("type")) in _MEDIA | {"text"}:
        return 0
    return COMMON.text(json.dumps(part))


def _file_tokens(media: Sequence[Mapping[str, Any]]) -> int:
    """Estimate the documents among media."""
    return _DOCUMENT_TOKENS * sum(1 for block in media if block.get("type") == "document")


def _pictures(media: Sequence[Mapping[str, Any]]) -> tuple[Size, ...]:
    """Return the sizes of the images among media."""
    return tuple(_picture(block) for block in media if block.get("type") == "image")


def _picture(image: Mapping[str, Any]) -> Size:
    source = image.get("source")
    data = source.get("data") if isinstance(source, dict) else None
    return encoded_size(data) if isinstance(data, str) else UNKNOWN
