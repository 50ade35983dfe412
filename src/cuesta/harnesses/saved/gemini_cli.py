"""Gemini CLI: one chat a file under `~/.gemini/tmp/*/chats`, JSON or, since 2026, JSON Lines.

Sources: files of 2025, and `chatRecordingService.ts` of Gemini CLI 0.61:
- In JSON Lines a message that changed is written again under its id; `$rewindTo` takes messages
  back; `$set` changes the chat's own data. `$set.messages` is the history as the program goes on
  with it: where messages of before are gone from it, it has compacted them.
- A message of kind `gemini` holds its calls with their results; a history that was set holds the
  results once more, as a user's parts.
- Thoughts are saved as headlines, which nobody sent; what they were billed stands beside.

Messages are written here on the Chat Completions wire.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cuesta.core.usage import Usage
from cuesta.harnesses.saved.base import (
    BEGINNING,
    Json,
    Problems,
    count,
    document,
    first_values,
    guarded,
    kind_of,
    lines,
    moment,
)
from cuesta.harnesses.saved.tree import Step, Tree
from cuesta.trace.session import Call, Session

_SPEAKERS = frozenset({"user", "gemini"})
_KINDS = _SPEAKERS | {"info", "error", "warning"}
_OWN = frozenset({"projectHash", "startTime"})


class GeminiCli:
    """The format; it has no state."""

    harness = "gemini-cli"

    def recognises(self, beginning: bytes) -> bool:
        """See `SavedFormat.recognises`."""
        return any(map(_is_own, first_values(beginning)))

    def read(self, content: bytes, problems: Problems) -> Iterator[Session]:
        """See `SavedFormat.read`."""
        chat = _Chat()
        guarded(chat.take, _records(content, problems), problems, "not as expected")
        yield from chat.tree.sessions()


def _is_own(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    head = "sessionId" in value and bool(_OWN & value.keys())
    entry = kind_of(value) in _KINDS and {"id", "timestamp", "content"} <= value.keys()
    return head or (entry and "uuid" not in value and "message" not in value)


def _records(content: bytes, problems: Problems) -> Iterator[Json]:
    """Yield a chat's records: a document is its own data and then its messages."""
    first = next(iter(first_values(content[:BEGINNING])), None)
    if not isinstance(first, dict) or "messages" not in first:
        yield from lines(content, problems)
        return
    chat = document(content, problems)
    messages = chat.pop("messages", None)
    yield chat
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict):
            yield message
        else:
            problems.note("not an object")


@dataclass(slots=True)
class _Chat:
    """What a chat's records have told.

    Attributes:
        tree: The conversation.
        steps: The steps of its messages as they stand now, by id, in order.
        own: The ids of messages that the program made in place of others.
        answered: The ids of calls whose results are there.
    """

    tree: Tree = field(default_factory=lambda: Tree("gemini-cli", "", "openai_chat"))
    steps: dict[str, Step] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)
    answered: set[str] = field(default_factory=set)

    def take(self, record: Json) -> None:
        """Read one record."""
        if "$rewindTo" in record:
            self._rewind(record["$rewindTo"])
        elif "$set" in record:
            changes = record["$set"]
            if "messages" in changes:
                self._replace(changes["messages"])
        elif "type" in record:
            self._message(record)
        else:
            name = str(record["sessionId"])
            self.tree.name = self.tree.name or name

    def _message(self, record: Json) -> None:
        if record["type"] not in _SPEAKERS:
            return
        name = str(record["id"])
        messages, call = _read(record, self.answered)
        if name in self.own or not messages:
            return
        if name in self.steps:
            self.steps[name].messages[:] = messages
            self.steps[name].call = call
        else:
            self.steps[name] = self.tree.add(*messages, call=call)
        self.answered |= {m["tool_call_id"] for m in messages if m["role"] == "tool"}

    def _rewind(self, name: object) -> None:
        """Go back to before a message; a message that is not there means the beginning."""
        if not isinstance(name, str):
            raise TypeError("a message's id is no text")
        names = [*self.steps]
        back = names.index(name) if name in self.steps else 0
        if back < len(names):
            self.tree.tip = self.steps[names[back]].before
        for gone in names[back:]:
            del self.steps[gone]

    def _replace(self, records: list[Json]) -> None:
        """Take the history as the program goes on with it."""
        kept = {str(record["id"]): record for record in records}
        if self.steps.keys() - kept.keys():
            self.tree.compact()
            self.own |= kept.keys() - self.steps.keys()
            for gone in self.steps.keys() - kept.keys():
                del self.steps[gone]
        for name, record in kept.items():
            if name not in self.steps:
                self._message(record)
            elif _read(record, set())[0] != self.steps[name].messages:
                self.tree.tear()


def _read(record: Json, answered: set[str]) -> tuple[list[Json], Call | None]:
    """Read a message: what it adds, and the model call that it answers."""
    if record["type"] == "user":
        return _said(record["content"], answered), None
    usage = _usage(record.get("tokens"))
    thoughts = count((record.get("tokens") or {}).get("thoughts"))
    time = moment(record.get("timestamp"))
    return _answer(record), Call(0, str(record.get("model") or ""), usage, thoughts, time)


def _said(content: object, answered: set[str]) -> list[Json]:
    """Write a user's message; parts that are results are messages of their own."""
    parts = _parts(content)
    told = [part["functionResponse"] for part in parts if "functionResponse" in part]
    results = [_result(str(r.get("id")), [{"functionResponse": r}]) for r in told]
    fresh = [r for r in results if r["tool_call_id"] not in answered]
    rest = [part for part in parts if "functionResponse" not in part]
    if not rest:
        return fresh
    pictures = [_picture(part["inlineData"]) for part in rest if "inlineData" in part]
    text = _text([part for part in rest if "inlineData" not in part])
    words: Any = [{"type": "text", "text": text}, *pictures] if pictures else text
    return [*fresh, {"role": "user", "content": words}]


def _parts(content: object) -> list[Json]:
    """Return content as parts: a string is one text part."""
    given = content if isinstance(content, list) else [content]
    parts: list[Any] = [{"text": part} if isinstance(part, str) else part for part in given]
    if not all(isinstance(part, dict) for part in parts):
        raise TypeError("a part is no object")
    return parts


def _text(parts: list[Json]) -> str:
    texts = (part.get("text") for part in parts if not part.get("thought"))
    return "\n".join(text if isinstance(text, str) else "" for text in texts)


def _picture(data: Json) -> Json:
    url = f"data:{data.get('mimeType')};base64,{data.get('data')}"
    return {"type": "image_url", "image_url": {"url": url}}


def _answer(record: Json) -> list[Json]:
    parts = _parts(record["content"])
    calls = record.get("toolCalls") or []
    held = {str(call["id"]) for call in calls}
    bare = [part["functionCall"] for part in parts if "functionCall" in part]
    asked = [_call(call) for call in [*calls, *bare] if call in calls or call.get("id") not in held]
    text = _text([part for part in parts if "functionCall" not in part])
    answer = {"role": "assistant", "content": text, **({"tool_calls": asked} if asked else {})}
    return [answer, *(_result(str(call["id"]), call.get("result")) for call in calls)]


def _call(call: Json) -> Json:
    arguments = json.dumps(call.get("args") or {}, ensure_ascii=False)
    function = {"name": str(call["name"]), "arguments": arguments}
    return {"id": str(call.get("id")), "type": "function", "function": function}


def _result(name: str, parts: object) -> Json:
    texts = map(_told, _parts(parts)) if parts else ()
    return {"role": "tool", "tool_call_id": name, "content": "".join(texts)}


def _told(part: Json) -> str:
    response = part.get("functionResponse")
    told = response.get("response", part) if isinstance(response, dict) else part
    return json.dumps(told, ensure_ascii=False)


def _usage(tokens: object) -> Usage | None:
    """Read what was billed: thinking is output that stands beside the rest."""
    if not isinstance(tokens, dict):
        return None
    prompt = count(tokens.get("input"))
    cached = min(count(tokens.get("cached")), prompt)
    output = count(tokens.get("output")) + count(tokens.get("thoughts"))
    return Usage(input=prompt - cached, cache_read=cached, output=output) if prompt else None
