"""Claude Code: JSON Lines under `~/.claude/projects`, one file a session, one more a sub-agent.

Shapes seen in files of versions 2.0.72 to 2.1.332:
- An answer is saved block by block, with results between; what was billed stands in each line, and
  the output as it ended up only in the last one, if at all.
- A sub-agent's lines are sidechains: in a file of their own under an `agentId`, or among the
  session's in older versions.
- A compaction is a boundary line without parent, and a summary in a user's place behind it. What
  the program had told the model before is told again behind it.
- A line whose parent is not there follows a lost one.
- Who goes back and asks anew makes a prompt whose parent stands before the last answer.
- What the program tells the model beside a prompt is an attachment; newer versions save its text,
  and the system prompt and the tools too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from cuesta.core.usage import Usage
from cuesta.dialects.anthropic_usage import usage_of
from cuesta.harnesses.saved.base import (
    Json,
    Problems,
    content_of,
    encode,
    first_values,
    guarded,
    kind_of,
    lines,
    moment,
)
from cuesta.harnesses.saved.tree import Step, Tree
from cuesta.trace.session import Call, Session

_KINDS = frozenset({
    "user", "assistant", "system", "summary", "progress", "attachment", "file-history-snapshot",
    "queue-operation", "mode", "permission-mode", "atis-latch", "last-prompt",
})  # fmt: skip
_MARKS = ("sessionId", "leafUuid", "snapshot")
_SYNTHETIC = "<synthetic>"
_COMPACTED = "compact_boundary"
_CLEARED = "microcompact_boundary"
_ROLES = frozenset({"user", "system"})


class ClaudeCode:
    """The format; it has no state."""

    harness = "claude-code"

    def recognises(self, beginning: bytes) -> bool:
        """See `SavedFormat.recognises`."""
        return any(
            kind_of(value) in _KINDS and any(mark in value for mark in _MARKS)
            for value in first_values(beginning)
        )

    def read(self, content: bytes, problems: Problems) -> Iterator[Session]:
        """See `SavedFormat.read`."""
        file = _File(problems)
        guarded(file.take, lines(content, problems), problems, "not as expected")
        for talk in file.talks.values():
            yield from talk.tree.sessions()


@dataclass(slots=True)
class _Talk:
    """A session, or a sub-agent's, while it is read.

    Attributes:
        tree: Its steps.
        places: Where it stood after each line, by the line's id.
        answer: The id of the answer whose blocks are being saved, and its step.
        told: What the program told the model beside prompts.
        answered: Whether the model has spoken since the last compaction.
    """

    tree: Tree
    places: dict[object, Step | None] = field(default_factory=lambda: {None: None})
    answer: tuple[str, Step] | None = None
    told: set[bytes] = field(default_factory=set)
    answered: bool = True


@dataclass(slots=True)
class _File:
    """What a file's lines have told.

    Attributes:
        problems: Where to count what cannot be read.
        talks: The session under an empty key, sub-agents under theirs.
        keys: Whose each line is, by its id.
    """

    problems: Problems
    talks: dict[str, _Talk] = field(default_factory=dict)
    keys: dict[object, str] = field(default_factory=lambda: {None: ""})

    def take(self, line: Json) -> None:
        """Read one line."""
        kind, name = str(line["type"]), line.get("uuid")
        if kind == "api-request-shape":
            self._members(line)
        if name is None and kind not in {"user", "assistant"}:
            return
        if not isinstance(name, str):
            raise TypeError("a line's id is no text")
        if name in self.keys:
            self.problems.note("a repeated line")
            return
        read = _READERS.get(kind, _pass)
        key = self._key(line, name)
        talk = self.talks.get(key) or self._talk(key, line)
        if line.get("parentUuid") not in self.keys:
            talk.tree.tear()
        read(talk, line)
        self.talks[key] = talk
        self.keys[name] = key
        talk.places[name] = talk.tree.tip

    def _key(self, line: Json, name: str) -> str:
        """Tell whose a line is: the session's, or that of the sub-agent which it names."""
        if not line.get("isSidechain"):
            return ""
        return str(line.get("agentId") or self.keys.get(line.get("parentUuid")) or name)

    def _talk(self, key: str, line: Json) -> _Talk:
        session = str(line.get("sessionId", ""))
        parent = session if key else ""
        return _Talk(Tree("claude-code", key or session, "anthropic", parent=parent))

    def _members(self, line: Json) -> None:
        """Take the system prompt and the tools, which stand before the first answer."""
        key = str(line.get("agentId") or "")
        if key in self.talks and not self.talks[key].tree.members:
            shape = line["shape"]
            members = {name: encode(shape[name]) for name in ("system", "tools") if name in shape}
            self.talks[key].tree.members |= members


def _user(talk: _Talk, line: Json) -> None:
    if line.get("isCompactSummary"):
        _compact(talk)
        return
    content = content_of(line["message"]["content"])
    results = not isinstance(content, str) and any(b.get("type") == "tool_result" for b in content)
    place = talk.places.get(line.get("parentUuid"), talk.tree.tip)
    if not results and talk.tree.answered_since(place):
        talk.tree.tip = place
    talk.tree.add({"role": "user", "content": content})


def _assistant(talk: _Talk, line: Json) -> None:
    message = line["message"]
    if message["model"] == _SYNTHETIC or line.get("isApiErrorMessage"):
        return
    content = content_of(message["content"])
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    name, usage = str(message["id"]), _usage(message.get("usage"))
    if talk.answer is not None and talk.answer[0] == name:
        _go_on(talk.answer[1], blocks, usage)
        return
    call = Call(0, str(message["model"]), usage, time=moment(line.get("timestamp")))
    answer = {"role": "assistant", "content": [*blocks]}
    talk.answer = (name, talk.tree.add(answer, call=call))
    talk.answered = True


def _go_on(step: Step, blocks: list[Json], usage: Usage | None) -> None:
    """Add an answer's next blocks; its output grows from line to line."""
    step.messages[0]["content"] += blocks
    call = step.call
    if call and usage and (call.usage is None or usage.output > call.usage.output):
        step.call = replace(call, usage=usage)


def _usage(counts: object) -> Usage | None:
    usage = usage_of(counts) if isinstance(counts, dict) else Usage()
    return usage if usage.prompt else None


def _system(talk: _Talk, line: Json) -> None:
    if line.get("subtype") == _COMPACTED:
        _compact(talk)
    elif line.get("subtype") == _CLEARED:
        talk.tree.tear()


def _compact(talk: _Talk) -> None:
    talk.tree.compact()
    talk.answered = False


def _attachment(talk: _Talk, line: Json) -> None:
    """Add what the program told the model; what a compaction made it tell again is there."""
    role, rendered = line.get("renderedRole"), line.get("rendered")
    if role not in _ROLES or not isinstance(rendered, list):
        role, rendered = "user", _queued(line["attachment"])
    for text in rendered:
        content = content_of(text["content"])
        told = encode(content)
        if talk.answered or told not in talk.told:
            talk.tree.add({"role": role, "content": content})
        talk.told.add(told)


def _queued(attachment: Json) -> list[Json]:
    """Return what a person typed while the model worked, where it is saved no other way."""
    prompt = attachment.get("prompt") if attachment.get("type") == "queued_command" else None
    return [] if prompt is None else [{"content": prompt}]


def _pass(talk: _Talk, line: Json) -> None:
    """Leave a line out that adds nothing to the conversation."""


_READERS = {
    "user": _user, "assistant": _assistant, "system": _system, "attachment": _attachment,
}  # fmt: skip
