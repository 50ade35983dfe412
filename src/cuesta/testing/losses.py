"""What a provider would take, and yet read otherwise than the client means it.

A judge sees one body and tells whether it is valid. Some rules show only beside the client's own
body: whose words are whose, which tools there are, what stands behind a compaction. Reads JSON by
the standard library alone, and shares no code with what it judges.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]

_OPENINGS = ("<record-of-earlier-work>", "<summary-of-earlier-work>")
_TOOL_CHANGES = (
    "tool_addition", "tool_removal", "additional_tools", "mcp_list_tools", "tool_search_output",
)  # fmt: skip
"""Blocks and items that bring tools or take them away (see docs of both providers)."""
_THINKING = ("thinking", "redacted_thinking")
_COMPACTIONS = ("compaction", "context_compaction")


def loss(before: bytes, after: bytes, *, digests: bool = True) -> str:
    """Say what went wrong between the client's body and the one that was sent, or nothing.

    Args:
        before: The client's body.
        after: What was sent in its place.
        digests: Whether something of ours must stand in place of what is gone.
    """
    if before == after:
        return ""
    raw, put = _messages(before), _messages(after)
    if not raw:
        return ""
    client, sent = list(map(_plain, raw)), list(map(_plain, put))
    last = _unthought(client[-1])
    if last.get("content") != [] and [_unthought(message) for message in sent[-1:]] != [last]:
        return "the last message is not the client's"
    if _with(client, _TOOL_CHANGES) != _with(sent, _TOOL_CHANGES):
        return "a message that changes the tools is gone"
    ours = [i for i, message in enumerate(sent) if _is_ours(message, client)]
    return _false_voice(raw, put, ours) or _read_by_nobody(client, sent, ours, digests=digests)


def _false_voice(client: Sequence[Json], sent: Sequence[Json], ours: Sequence[int]) -> str:
    """Say where text of ours speaks for somebody else, or brings a cache marker."""
    if len(ours) > 1:
        return "there is more than one digest"
    for i in ours:
        if sent[i].get("role") != "user":
            return "the digest does not speak as the user"
        # Where the digest stands behind words of the client's own, their marker stays.
        if _markers(sent[i]) > (_markers(client[i]) if _holds(sent[i], client[i]) else 0):
            return "the digest brings a cache marker"
    return ""


def _read_by_nobody(
    client: Sequence[Json], sent: Sequence[Json], ours: Sequence[int], *, digests: bool
) -> str:
    """Say what the provider does not read because a compaction of its own stands behind it."""
    newest = max((i for i, m in enumerate(client) if _kinds(m, _COMPACTIONS)), default=-1)
    if newest < 0:
        return ""
    if client[newest] not in sent:
        return "a compaction made by the provider is gone"
    there = list(map(_emptied, sent))
    gone = any(_emptied(message) not in there for message in client[newest + 1 :])
    if gone and (ours or digests) and not any(i > sent.index(client[newest]) for i in ours):
        return "the digest stands before a compaction made by the provider"
    return ""


def _emptied(message: Json) -> Json:
    """Return a message without what its results hold, which may be cleared."""
    if message.get("role") in ("tool", "function"):
        return {**message, "content": None}
    if str(message.get("type")).endswith("_output"):
        return {**message, "output": None}
    content = message.get("content")
    if message.get("role") != "user" or not isinstance(content, list):
        return message
    return {**message, "content": list(map(_emptied_block, content))}


def _emptied_block(block: Any) -> Any:  # noqa: ANN401 - any JSON value
    is_result = isinstance(block, dict) and block.get("type") == "tool_result"
    return {**block, "content": None} if is_result else block


def _messages(body: bytes) -> list[Json]:
    value = json.loads(body)
    listed = value.get("messages", value.get("input"))
    return listed if isinstance(listed, list) else []


def _unthought(message: Json) -> Json:
    """Return a message without its thinking, which a cliff may take out."""
    content = message.get("content")
    if message.get("role") != "assistant" or not isinstance(content, list):
        return message
    kept = [block for block in content if block.get("type") not in _THINKING]
    return {**message, "content": kept}


def _plain(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a message without what clients change in it: markers, one text as a string."""
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    plain = {key: _plain(inner) for key, inner in value.items() if key != "cache_control"}
    if isinstance(plain.get("content"), str):
        plain["content"] = [{"type": "text", "text": plain["content"]}]
    return plain


def _with(messages: Sequence[Json], kinds: Sequence[str]) -> list[Json]:
    return [message for message in messages if _kinds(message, kinds)]


def _kinds(message: Json, kinds: Sequence[str]) -> bool:
    """Tell whether an item, or a block of a message, is of one of these types."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    inner = (block.get("type") for block in blocks if isinstance(block, dict))
    return message.get("type") in kinds or any(kind in kinds for kind in inner)


def _is_ours(message: Json, client: Sequence[Json]) -> bool:
    text = json.dumps(message)
    return any(opening in text for opening in _OPENINGS) and message not in client


def _holds(sent: Json, own: Json) -> bool:
    """Tell whether a message is one of the client's with text behind it."""
    said, now = own.get("content"), sent.get("content")
    if isinstance(said, str) and isinstance(now, str):
        return now.startswith(said)
    return isinstance(said, list) and isinstance(now, list) and now[: len(said)] == said


def _markers(message: Json) -> int:
    return json.dumps(message).count('"cache_control"')
