"""OpenCode: sessions as `opencode export` writes them, which its store is brought into too.

Source: OpenCode's `message-v2.ts`, `compaction.ts` and `session.ts`, 1.0 to 1.18. A message has
parts; an answer's parts are those of one model call or of several, each between a start and a
finish. A compaction is a part of a user's message; the summary behind it is an answer that says so,
and the program goes on by a message of its own. Messages are written here on the Anthropic wire,
whatever the provider's was, which the file does not tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cuesta.core.usage import Usage
from cuesta.harnesses.saved.base import (
    Json,
    Problems,
    count,
    document,
    first_values,
    guarded,
    moment,
)
from cuesta.harnesses.saved.tree import Tree
from cuesta.trace.session import Call, Session

_PREFIX = "ses_"
_UNDONE = "[Tool execution was interrupted]"
_FOLDED = frozenset({"text/plain", "application/x-directory"})
"""Attachments whose text stands in parts of its own."""


class OpenCode:
    """The format; it has no state."""

    harness = "opencode"

    def recognises(self, beginning: bytes) -> bool:
        """See `SavedFormat.recognises`."""
        value = next(iter(first_values(beginning)), None)
        if not isinstance(value, dict):
            return False
        exported = isinstance(value.get("info"), dict) and _is_info(value["info"])
        return exported or _is_info(value)

    def read(self, content: bytes, problems: Problems) -> Iterator[Session]:
        """See `SavedFormat.read`."""
        value = document(content, problems)
        info = value["info"] if isinstance(value.get("info"), dict) else value
        messages = value.get("messages")
        if not isinstance(messages, list):
            problems.note("messages that are not there")
            return
        name, parent = str(info.get("id") or ""), str(info.get("parentID") or "")
        talk = _Talk(Tree("opencode", name, "anthropic", parent=parent), _cleared(messages))
        guarded(talk.take, messages, problems, "not as expected")
        yield from talk.tree.sessions()


def _is_info(value: Json) -> bool:
    return str(value.get("id", "")).startswith(_PREFIX) and "role" not in value


def _cleared(messages: Sequence[object]) -> list[float]:
    """Return when results were cleared out of the history, in order."""
    found = set()
    for message in messages:
        parts = message.get("parts") if isinstance(message, dict) else None
        for part in parts if isinstance(parts, list) else ():
            state = part.get("state") if isinstance(part, dict) else None
            time = state.get("time") if isinstance(state, dict) else None
            found.add(moment(time.get("compacted")) if isinstance(time, dict) else 0.0)
    return sorted(found - {0.0})


@dataclass(slots=True)
class _Talk:
    """A session while it is read.

    Attributes:
        tree: Its steps.
        cleared: When results were cleared out of the history that was sent, in order.
        compacted: Whether no answer has come since a compaction.
        replays: Whether the program then asks again what the person said last.
        asked: That.
    """

    tree: Tree
    cleared: list[float] = field(default_factory=list)
    compacted: bool = False
    replays: bool = False
    asked: list[Json] = field(default_factory=list)

    def take(self, message: Json) -> None:
        """Read one message with its parts."""
        info, parts = message["info"], message["parts"]
        if info["role"] == "user":
            self._user(parts)
        elif info["role"] == "assistant" and info.get("summary") is not True:
            self._assistant(info, parts)

    def _user(self, parts: list[Json]) -> None:
        blocks = [block for part in parts for block in _said(part)]
        compactions = [part for part in parts if part["type"] == "compaction"]
        if compactions:
            self.tree.compact()
            self.compacted, self.replays = True, bool(compactions[0].get("overflow"))
        elif self.compacted and (
            (self.replays and blocks == self.asked) or all(p.get("synthetic") for p in parts)
        ):
            return
        elif blocks:
            self.tree.add({"role": "user", "content": blocks})
            self.asked = blocks

    def _assistant(self, info: Json, parts: list[Json]) -> None:
        """Add an answer's model calls; one without finish is billed as the whole message is."""
        model, times = str(info.get("modelID") or ""), info.get("time") or {}
        started = moment(times.get("created"))
        ended = moment(times.get("completed")) or started
        steps = _steps(parts)
        for said, told, tokens in steps:
            usage = _usage(tokens or (info.get("tokens") if len(steps) == 1 else None))
            while self.cleared and self.cleared[0] <= started:
                self.cleared.pop(0)
                self.tree.tear()
            results = [{"role": "user", "content": told}] if told else []
            answer = {"role": "assistant", "content": said}
            self.tree.add(answer, *results, call=Call(0, model, usage, time=ended))
            self.compacted = False


def _said(part: Json) -> Iterator[Json]:
    """Write a part of a user's message."""
    kind = part["type"]
    if kind == "text" and not part.get("ignored"):
        yield {"type": "text", "text": str(part["text"])}
    elif kind == "file" and part["mime"] not in _FOLDED:
        yield _file(part)
    elif kind == "subtask":
        yield {"type": "text", "text": "The following tool was executed by the user"}


def _file(part: Json) -> Json:
    """Write an attachment, which is at hand where its address holds it."""
    kind = "image" if str(part["mime"]).startswith("image/") else "document"
    url = str(part["url"])
    data = url.partition(",")[2] if url.startswith("data:") else ""
    if not data:
        return {"type": kind, "source": {"type": "url", "url": url}}
    return {"type": kind, "source": {"type": "base64", "media_type": part["mime"], "data": data}}


_Step = tuple[list[Json], list[Json], Json | None]


def _steps(parts: list[Json]) -> list[_Step]:
    """Divide an answer's parts: for each model call what it said, its results and its bill."""
    steps: list[_Step] = []
    said: list[Json] = []
    told: list[Json] = []
    for part in parts:
        kind = part["type"]
        if kind in {"step-start", "step-finish"} and said:
            steps.append((said, told, part.get("tokens")))
            said, told = [], []
        elif kind == "text" and part["text"]:
            said.append({"type": "text", "text": str(part["text"])})
        elif kind == "reasoning":
            said.append(_thinking(part))
        elif kind == "tool":
            state = part["state"]
            name, call = str(part["tool"]), str(part["callID"])
            said.append({
                "type": "tool_use", "id": call, "name": name, "input": state.get("input") or {},
            })  # fmt: skip
            told.append({"type": "tool_result", "tool_use_id": call, **_outcome(state)})
    return [*steps, (said, told, None)] if said else steps


def _thinking(part: Json) -> Json:
    metadata = part.get("metadata") or {}
    signed = metadata.get("anthropic") or {}
    seal = {"signature": signed["signature"]} if signed.get("signature") else {}
    return {"type": "thinking", "thinking": str(part["text"]), **seal}


def _outcome(state: Json) -> Json:
    if state["status"] == "completed":
        text = {"type": "text", "text": str(state["output"])}
        files = [_file(part) for part in state.get("attachments") or ()]
        return {"content": [text, *files], "is_error": False}
    why = str(state["error"]) if state["status"] == "error" else _UNDONE
    return {"content": why, "is_error": True}


def _usage(tokens: object) -> Usage | None:
    """Read a bill; whether thinking is part of the output depends on the version, by the total."""
    if not isinstance(tokens, dict):
        return None
    cached = tokens.get("cache")
    cache = cached if isinstance(cached, dict) else {}
    read, written = count(cache.get("read")), count(cache.get("write"))
    fresh, output = count(tokens.get("input")), count(tokens.get("output"))
    prompt, most = fresh + read + written, output + count(tokens.get("reasoning"))
    if not prompt:
        return None
    output = min(max(output, count(tokens.get("total")) - prompt), most)
    return Usage(fresh, read, written, 0, output)
