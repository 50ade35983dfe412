"""pydantic-ai's message histories: a JSON list of requests and responses.

Read from the sources of 2.68 and the files of 1.x. A history is written in Anthropic's wire where
Anthropic answered it, because its thinking is signed, and in the chat wire elsewhere.
`instructions` are the system prompt, sent anew with each request: the latest ones. Tools are not
saved. What the provider ran itself and parts of other kinds are left out and counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from cuesta.core.usage import Usage
from cuesta.harnesses.saved.base import (
    Json,
    Problems,
    count,
    decode,
    encode,
    first_values,
    moment,
    whole,
)
from cuesta.harnesses.saved.chat import Chat, function_call, split
from cuesta.trace.session import Call, Session

_KINDS = frozenset({"request", "response"})


class PydanticAi:
    """The format; it has no state."""

    harness = "pydantic-ai"

    def recognises(self, beginning: bytes) -> bool:
        """See `SavedFormat.recognises`."""
        values = first_values(beginning)
        value = values[0] if len(values) == 1 else None
        first = value[0] if isinstance(value, list) and value else None
        parts = first.get("parts") if isinstance(first, dict) else None
        if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
            return False
        kinds = first.get("kind") in _KINDS if isinstance(first, dict) else False
        return kinds or any("part_kind" in part for part in parts)

    def read(self, content: bytes, problems: Problems) -> Iterator[Session]:
        """See `SavedFormat.read`."""
        value = whole(content, problems)
        if not isinstance(value, list):
            problems.note("not a list")
            return
        known = [message for message in value if isinstance(message, dict)]
        signed = any(message.get("provider_name") == "anthropic" for message in known)
        system = _system(known)
        wire: _Wire = _Anthropic(problems, system) if signed else _OpenAI(problems, system)
        reading = _Reading(wire, _instructions(known))
        wire.chat.each(reading.message, value, "not a message")
        if wire.chat.calls:
            yield wire.session(_name(known))
        else:
            problems.note("no response")


def _instructions(messages: Sequence[Json]) -> str:
    return next((str(m["instructions"]) for m in messages if m.get("instructions")), "")


def _system(messages: Sequence[Json]) -> list[str]:
    """Return the system prompts: all that stand in requests, and the first instructions."""
    lists = [m["parts"] for m in messages if isinstance(m.get("parts"), list)]
    parts = [part for told in lists for part in told if isinstance(part, dict)]
    said = [str(p.get("content")) for p in parts if p.get("part_kind") == "system-prompt"]
    return [text for text in (*said, _instructions(messages)) if text]


def _name(messages: Sequence[Json]) -> str:
    names = (m.get("conversation_id") or m.get("run_id") for m in messages)
    return str(next(filter(None, names), ""))


@dataclass(slots=True)
class _Reading:
    """Reads requests and responses into blocks as Anthropic's wire names them.

    Attributes:
        wire: What they are written to.
        instructions: The instructions that the system prompt holds.
    """

    wire: _Wire
    instructions: str

    def message(self, message: Json) -> None:
        """Take the next request or response."""
        parts = message["parts"]
        kinds = [part["part_kind"] for part in parts]
        blocks = [block for part in parts for block in _blocks(part)]
        if message["kind"] == "request":
            if (message.get("instructions") or self.instructions) != self.instructions:
                self.wire.chat.lost = True
            if blocks:
                self.wire.user(blocks)
        else:
            self.wire.assistant(blocks, _call(message, blocks))
        for kind in kinds:
            if kind not in _READERS and kind not in _QUIET:
                self.wire.chat.lose("a part of another kind")
        if "compaction" in kinds:
            self.wire.chat.compacted()


def _call(message: Json, blocks: Sequence[Json]) -> Call:
    counts = message["usage"] if isinstance(message.get("usage"), dict) else {}
    details = counts["details"] if isinstance(counts.get("details"), dict) else {}
    thinks = any(block["type"] == "thinking" for block in blocks)
    return Call(
        at=0,
        model=str(message.get("model_name") or ""),
        usage=_usage(counts, details),
        thoughts=0 if thinks else count(details.get("reasoning_tokens")),
        time=moment(message.get("timestamp")),
    )


def _usage(counts: Json, details: Json) -> Usage | None:
    """Read a bill; its input holds the cached tokens, and so it was before 1.0 by other names."""
    prompt = count(counts.get("input_tokens")) or count(counts.get("request_tokens"))
    output = count(counts.get("output_tokens")) or count(counts.get("response_tokens"))
    if not prompt:
        return None
    read = count(counts.get("cache_read_tokens")) or count(details.get("cached_tokens"))
    written = count(counts.get("cache_write_tokens"))
    return split(
        prompt,
        output,
        read or count(details.get("cache_read_input_tokens")),
        written or count(details.get("cache_creation_input_tokens")),
    )


def _blocks(part: Json) -> Sequence[Json]:
    read = _READERS.get(part["part_kind"])
    return read(part) if read else ()


def _prompt(part: Json) -> Sequence[Json]:
    return _contents(part["content"])


def _tool_return(part: Json) -> Sequence[Json]:
    content = part.get("content")
    media = isinstance(content, list) and any(isinstance(c, dict) and "kind" in c for c in content)
    told = _contents(content) if isinstance(content, str) or media else _contents([content])
    failed = part.get("outcome") in {"failed", "denied"}
    return (_result(part, told, error=failed),)


def _retry(part: Json) -> Sequence[Json]:
    content = part["content"]
    if not isinstance(content, str):
        content = f"{len(content)} validation errors:\n{json.dumps(content, indent=2)}"
    again = "\n\nFix the errors and try again." if part["part_kind"] == "retry-prompt" else ""
    told = _contents(content + again)
    return (_result(part, told, error=True),) if part.get("tool_name") else told


def _result(part: Json, content: Sequence[Json], *, error: bool) -> Json:
    call_id = str(part["tool_call_id"])
    block: Json = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return {**block, "is_error": True} if error else block


def _said(part: Json) -> Sequence[Json]:
    return _contents(part.get("content") or [])


def _thought(part: Json) -> Sequence[Json]:
    block = {"type": "thinking", "thinking": str(part.get("content") or "")}
    return ({**block, "signature": part["signature"]} if part.get("signature") else block,)


def _tool_call(part: Json) -> Sequence[Json]:
    call_id, name = str(part["tool_call_id"]), str(part["tool_name"])
    return ({"type": "tool_use", "id": call_id, "name": name, "input": part.get("args") or {}},)


_READERS = {
    "user-prompt": _prompt,
    "tool-return": _tool_return,
    "retry-prompt": _retry,
    "retry-feedback": _retry,
    "text": _said,
    "thinking": _thought,
    "tool-call": _tool_call,
}
_QUIET = frozenset(
    {
        "system-prompt",
        "compaction",
        "instruction-delta",
        "instruction-baseline",
        "tool-availability-delta",
        "capability-load-delta",
        "model-settings-delta",
    }
)


def _contents(content: object) -> list[Json]:
    """Return what a person or a tool sends as blocks; anything that is no text is JSON."""
    items = content if isinstance(content, list) else [content]
    return [block for item in items for block in _content(item)]


def _content(item: object) -> Sequence[Json]:
    kind = item.get("kind") if isinstance(item, dict) else None
    if isinstance(item, str) or not isinstance(item, dict) or not isinstance(kind, str):
        text = item if isinstance(item, str) else encode(item).decode()
        return ({"type": "text", "text": text},) if text else ()
    if kind == "cache-point":
        return ()
    if kind in {"text-content", "structured-content"}:
        return ({"type": "text", "text": str(item.get("content") or "")},)
    media = str(item.get("media_type") or kind)
    shape = "image" if media.startswith("image") else "document"
    if kind == "binary":
        source = {"type": "base64", "media_type": media, "data": str(item["data"])}
    else:
        source = {"type": "url", "url": str(item.get("url") or item.get("file_id"))}
    return ({"type": shape, "source": source},)


class _Wire(Protocol):
    """Writes blocks in one wire.

    Attributes:
        chat: Its messages and calls.
    """

    chat: Chat

    def user(self, blocks: Sequence[Json]) -> None:
        """Write a request."""

    def assistant(self, blocks: Sequence[Json], call: Call) -> None:
        """Write a response."""

    def session(self, name: str) -> Session:
        """Return the session."""


class _OpenAI:
    """The chat wire."""

    def __init__(self, problems: Problems, system: Sequence[str]) -> None:
        self.chat = Chat(problems)
        for text in system:
            self.chat.say({"role": "system", "content": text})

    def user(self, blocks: Sequence[Json]) -> None:
        """See `_Wire.user`."""
        results = [
            (b["tool_use_id"], _parts(b["content"])) for b in blocks if _is(b, "tool_result")
        ]
        rest = _parts([block for block in blocks if not _is(block, "tool_result")])
        for call_id, content in results:
            self.chat.result(call_id, content)
        if rest:
            self.chat.say({"role": "user", "content": rest})

    def assistant(self, blocks: Sequence[Json], call: Call) -> None:
        """See `_Wire.assistant`."""
        thoughts = [block["thinking"] for block in blocks if _is(block, "thinking")]
        calls = [
            function_call(b["id"], b["name"], b["input"]) for b in blocks if _is(b, "tool_use")
        ]
        content = _parts([block for block in blocks if _is(block, "text")])
        message: Json = {"role": "assistant", "content": content or None}
        if calls:
            message["tool_calls"] = calls
        if any(thoughts):
            message["reasoning_content"] = "\n".join(thoughts)
        self.chat.say(message, call)

    def session(self, name: str) -> Session:
        """See `_Wire.session`."""
        return self.chat.session(PydanticAi.harness, name)


class _Anthropic:
    """Anthropic's wire: results are blocks of the next user message."""

    def __init__(self, problems: Problems, system: Sequence[str]) -> None:
        self.chat = Chat(problems)
        self._members = {"system": encode("\n\n".join(system))} if system else {}
        self._open: list[str] = []

    def user(self, blocks: Sequence[Json]) -> None:
        """See `_Wire.user`."""
        results = [block for block in blocks if _is(block, "tool_result")]
        known = [block for block in results if block["tool_use_id"] in self._open]
        answered = {block["tool_use_id"] for block in known}
        silent = [call_id for call_id in self._open if call_id not in answered]
        missing = [{"type": "tool_result", "tool_use_id": call_id} for call_id in silent]
        content = [*known, *missing, *(block for block in blocks if block not in results)]
        if len(known) < len(results):
            self.chat.lose("a result without its call")
        self.chat.lost |= bool(missing)
        if content:
            self.chat.messages.append(encode({"role": "user", "content": content}))
        self._open = []

    def assistant(self, blocks: Sequence[Json], call: Call) -> None:
        """See `_Wire.assistant`."""
        if self._open:
            self.user(())
        content = [{**b, "input": _object(b["input"])} if _is(b, "tool_use") else b for b in blocks]
        raw = encode({"role": "assistant", "content": content})
        self.chat.calls.append(replace(call, at=len(self.chat.messages), hole=self.chat.lost))
        self.chat.lost = False
        self.chat.messages.append(raw)
        self._open = [block["id"] for block in blocks if _is(block, "tool_use")]

    def session(self, name: str) -> Session:
        """See `_Wire.session`."""
        session = self.chat.session(PydanticAi.harness, name, members=self._members)
        return replace(session, wire="anthropic")


def _is(block: Json, kind: str) -> bool:
    return bool(block["type"] == kind)


def _object(arguments: object) -> object:
    """Return a call's arguments as an object, as Anthropic's wire wants them."""
    if not isinstance(arguments, str):
        return arguments
    try:
        value = decode(arguments.encode())
    except ValueError:
        return {"input": arguments}
    return value if isinstance(value, dict) else {"input": arguments}


def _parts(blocks: Sequence[Json]) -> str | list[Json]:
    """Write blocks as the chat wire's content: a lone text is a string."""
    if len(blocks) == 1 and _is(blocks[0], "text"):
        return str(blocks[0]["text"])
    return [_part(block) for block in blocks]


def _part(block: Json) -> Json:
    if _is(block, "text"):
        return block
    source = block["source"]
    url = source.get("url") or f"data:{source['media_type']};base64,{source['data']}"
    if _is(block, "image"):
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "file", "file": {"file_data": url}}
