"""Pi: JSON Lines under `~/.pi/agent/sessions`, one file a session, a tree by `id` and `parentId`.

Source: Pi 1.6.0, docs/session-format.md and docs/message-types.md; version 1 has no ids, its lines
follow one another. Messages are written here on the Anthropic wire, whatever the provider's was:
Pi's own form is closest to it. The first system message holds the prompt and the tools; later ones
change parts of it and are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from cuesta.core.usage import Usage
from cuesta.harnesses.saved.base import (
    Json,
    Problems,
    content_of,
    count,
    encode,
    first_values,
    guarded,
    lines,
    moment,
)
from cuesta.harnesses.saved.tree import Step, Tree
from cuesta.trace.session import Call, Session

_PREFIX = (
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n"
)
_SUFFIX = "</summary>"


class Pi:
    """The format; it has no state."""

    harness = "pi"

    def recognises(self, beginning: bytes) -> bool:
        """See `SavedFormat.recognises`."""
        return any(map(_is_header, first_values(beginning)[:3])) or any(
            map(_is_entry, first_values(beginning))
        )

    def read(self, content: bytes, problems: Problems) -> Iterator[Session]:
        """See `SavedFormat.read`."""
        file = _File()
        guarded(file.take, lines(content, problems), problems, "not as expected")
        yield from file.tree.sessions()


def _is_header(value: object) -> bool:
    return isinstance(value, dict) and value.get("type") == "session" and "cwd" in value


def _is_entry(value: object) -> bool:
    """Tell an entry of a file whose header is lost."""
    message = value.get("message") if isinstance(value, dict) else None
    return isinstance(message, dict) and (
        message.get("role") == "toolResult"
        or (message.get("role") == "assistant" and "stopReason" in message and "api" in message)
    )


@dataclass(slots=True)
class _File:
    """What a file's lines have told.

    Attributes:
        tree: The conversation.
        places: Where it stood after each entry, by the entry's id.
    """

    tree: Tree = field(default_factory=lambda: Tree("pi", "", "anthropic"))
    places: dict[object, Step | None] = field(default_factory=lambda: {None: None})

    def take(self, entry: Json) -> None:
        """Read one line."""
        kind = entry["type"]
        if kind == "session":
            self.tree.name = self.tree.name or str(entry.get("id", ""))
            return
        name = entry.get("id")
        if not isinstance(name, str | None):
            raise TypeError("an entry's id is no text")
        read = _ENTRIES.get(kind, _nothing)(entry)
        if name is not None:
            self._go_to(entry.get("parentId"))
        read(self.tree)
        if name is not None:
            self.places[name] = self.tree.tip

    def _go_to(self, parent: object) -> None:
        """Go on from an entry's parent; where that is lost, from the last entry."""
        if isinstance(parent, str | None) and parent in self.places:
            if self.places[parent] is not self.tree.tip:
                self.tree.tip = self.places[parent]
        else:
            self.tree.tear()


_Read = Callable[[Tree], None]


def _nothing(entry: Json) -> _Read:
    """Leave an entry out that adds nothing to the conversation."""
    del entry
    return lambda _: None


def _message(entry: Json) -> _Read:
    message = entry["message"]
    return _ROLES.get(message["role"], _nothing)(message)


def _said(content: object) -> _Read:
    """Add a user message."""
    blocks = _blocks(content)
    return lambda tree: _add(tree, {"role": "user", "content": blocks})


def _add(tree: Tree, message: Json, call: Call | None = None) -> None:
    tree.add(message, call=call)


def _user(message: Json) -> _Read:
    return _said(message["content"])


def _result(message: Json) -> _Read:
    told = {
        "type": "tool_result",
        "tool_use_id": str(message["toolCallId"]),
        "content": _blocks(message["content"]),
        "is_error": bool(message.get("isError")),
    }
    return lambda tree: _add(tree, {"role": "user", "content": [told]})


def _assistant(message: Json) -> _Read:
    """Add an answer; one that nothing was billed for was given up, and is no call."""
    answer = {"role": "assistant", "content": _blocks(message["content"])}
    usage = _usage(message.get("usage"))
    if usage.prompt:
        call = Call(0, str(message["model"]), usage, time=moment(message.get("timestamp")))
        return lambda tree: _add(tree, answer, call)
    return (lambda tree: _add(tree, answer)) if answer["content"] else lambda _: None


def _bash(message: Json) -> _Read:
    """Add a command that the person ran, in the words in which the model is told of it."""
    if message.get("excludeFromContext"):
        return lambda _: None
    output, status = message.get("output"), message.get("exitCode")
    text = f"Ran `{message['command']}`\n" + (f"```\n{output}\n```" if output else "(no output)")
    if message.get("cancelled"):
        text += "\n\n(command cancelled)"
    elif status:
        text += f"\n\nCommand exited with code {status}"
    return _said(text)


def _system(message: Json) -> _Read:
    """Take the prompt and the tools of a session's first message."""
    sections = message.get("sections") or {}
    texts = [message.get("content"), *sections.values()]
    system = "\n\n".join(text for text in texts if isinstance(text, str) and text)
    tools = [_tool(tool) for tool in message.get("toolsAdded") or ()]

    def take(tree: Tree) -> None:
        if not tree.members and not tree.steps:
            tree.members |= {"system": encode(system), "tools": encode(tools)}
            tree.whole = True

    return take


def _tool(tool: Json) -> Json:
    return {
        "name": tool["name"],
        "description": tool.get("description", ""),
        "input_schema": tool.get("parameters", {}),
    }


_ROLES: dict[str, Callable[[Json], _Read]] = {
    "user": _user,
    "assistant": _assistant,
    "toolResult": _result,
    "bashExecution": _bash,
    "custom": _user,
    "system": _system,
}
_ENTRIES: dict[str, Callable[[Json], _Read]] = {
    "message": _message,
    "custom_message": _user,
    "branch_summary": lambda entry: _said(f"{_PREFIX}{entry['summary']}{_SUFFIX}"),
    "compaction": lambda _: Tree.compact,
    "context_edit": lambda _: Tree.tear,
}


def _blocks(content: object) -> list[Json]:
    """Write content as the Anthropic wire does."""
    given = content_of(content)
    if isinstance(given, str):
        return [{"type": "text", "text": given}]
    return [_block(block) for block in given]


def _block(block: Json) -> Json:
    kind = block["type"]
    if kind == "toolCall":
        return {
            "type": "tool_use", "id": block["id"], "name": block["name"],
            "input": block["arguments"],
        }  # fmt: skip
    if kind == "thinking":
        return _thinking(block)
    if kind == "image":
        source = {"type": "base64", "media_type": block["mimeType"], "data": block["data"]}
        return {"type": "image", "source": source}
    return {key: value for key, value in block.items() if key != "textSignature"}


def _thinking(block: Json) -> Json:
    signature = block.get("thinkingSignature")
    if block.get("redacted"):
        return {"type": "redacted_thinking", "data": signature}
    signed = {"signature": signature} if signature else {}
    return {"type": "thinking", "thinking": block["thinking"], **signed}


def _usage(counts: Any) -> Usage:  # noqa: ANN401 - any JSON
    if not isinstance(counts, dict):
        return Usage()
    written = count(counts.get("cacheWrite"))
    hour = min(count(counts.get("cacheWrite1h")), written)
    return Usage(
        input=count(counts.get("input")),
        cache_read=count(counts.get("cacheRead")),
        cache_write_5m=written - hour,
        cache_write_1h=hour,
        output=count(counts.get("output")),
    )
