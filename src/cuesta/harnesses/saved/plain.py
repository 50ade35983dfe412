"""Plain lists of messages in any of the three wires: a JSON list, a request, or JSON Lines of them.

The wire is told by the shapes of messages and blocks; where all of them are plain text, they are
taken for Chat Completions. Nothing tells what was billed, unless messages have a `usage` of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cuesta.core.errors import RequestError
from cuesta.core.transcript import Role
from cuesta.core.usage import Usage
from cuesta.dialects import anthropic_usage, openai_usage
from cuesta.dialects.registry import DIALECTS
from cuesta.harnesses.saved.base import (
    BEGINNING,
    Json,
    Problems,
    decode,
    encode,
    first_values,
    kind_of,
    lines,
    moment,
    whole,
)
from cuesta.harnesses.saved.tree import Tree
from cuesta.trace.session import Call, Session

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_SAID = frozenset({"content", "tool_calls", "function_call"})
_LISTS = ("messages", "input")
_MEMBERS = ("system", "instructions", "tools", "functions")
_RESPONSES = frozenset({"input_text", "output_text", "input_image", "input_file", "summary_text"})
_ANTHROPIC = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking", "document"})
_ITEMS = ("_call", "_call_output")


class Plain:
    """The format; it has no state."""

    harness = "plain"

    def recognises(self, beginning: bytes) -> bool:
        """See `SavedFormat.recognises`."""
        return any(
            _is_message(value) or bool(_listed(value)) for value in first_values(beginning)[:8]
        )

    def read(self, content: bytes, problems: Problems) -> Iterator[Session]:
        """See `SavedFormat.read`."""
        loose: list[object] = []
        number = 0
        for value in _values(content, problems):
            if _is_message(value):
                loose.append(value)
            elif _listed(value):
                number += 1
                request = value if isinstance(value, dict) else {}
                yield from _sessions(_listed(value), request, number, problems)
            else:
                problems.note("no messages")
        if loose:
            yield from _sessions(loose, {}, number + 1, problems)


def _values(content: bytes, problems: Problems) -> Sequence[object]:
    """Return a file's values: one where it is a document, else one a line."""
    try:
        return [decode(content)]
    except ValueError:
        pass
    first = content.lstrip().partition(b"\n")[0]
    if len(first_values(content[:BEGINNING])) > 1 or _is_whole(first):
        return list(lines(content, problems))
    return [whole(content, problems)]


def _is_whole(line: bytes) -> bool:
    try:
        decode(line)
    except ValueError:
        return False
    return True


def _is_message(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    if "role" in value:
        return str(value["role"]) in _ROLES and not _SAID.isdisjoint(value)
    kind = kind_of(value)
    return (kind.endswith(_ITEMS) and "call_id" in value) or (
        kind == "reasoning" and "summary" in value
    )


def _listed(value: object) -> Sequence[object]:
    """Return the messages of a list or of a request; nothing where it is neither."""
    if isinstance(value, dict):
        found = [value[key] for key in _LISTS if isinstance(value.get(key), list)]
        value = found[0] if found else None
    return value if isinstance(value, list) and any(map(_is_message, value[:8])) else ()


def _sessions(
    messages: Sequence[object], request: Json, number: int, problems: Problems
) -> Iterator[Session]:
    """Read one list of messages."""
    objects = [message for message in messages if isinstance(message, dict)]
    wire = _wire(objects, request)
    name = request.get("id") or request.get("session_id") or number
    members = {key: encode(request[key]) for key in _MEMBERS if request.get(key)}
    tree = Tree("plain", str(name), wire, members=members, whole="model" in request)
    speaking = False
    for message in messages:
        role = _role(message, wire)
        if role is None or not isinstance(message, dict):
            problems.note("not a message of its wire")
            tree.tear()
            continue
        answers = role is Role.ASSISTANT
        call = _call(message, request, wire) if answers and not speaking else None
        tree.add(message, call=call)
        speaking = answers
    yield from tree.sessions()


def _role(message: object, wire: str) -> Role | None:
    """Return who speaks in a message, or None if it is none."""
    try:
        return DIALECTS[wire].parse(encode(message))[0].role
    except (RequestError, TypeError, ValueError, AttributeError):
        return None


def _call(message: Any, request: Json, wire: str) -> Call:  # noqa: ANN401 - any JSON
    model = message.get("model") or request.get("model") or ""
    time = moment(message.get("timestamp") or message.get("created_at"))
    return Call(0, str(model), _usage(message.get("usage"), wire), time=time)


def _usage(counts: object, wire: str) -> Usage | None:
    if not isinstance(counts, dict):
        return None
    of = anthropic_usage.usage_of if wire == "anthropic" else openai_usage.usage_of
    usage = of(counts)
    return usage if usage.prompt else None


def _wire(messages: Sequence[Json], request: Json) -> str:
    """Tell the wire by the first message whose shape only one of them has."""
    if isinstance(request.get("input"), list):
        return "openai_responses"
    for message in messages:
        wire = _wire_of(message)
        if wire:
            return wire
    return "anthropic" if request.get("system") else "openai_chat"


def _wire_of(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    parts = [p for p in content if isinstance(p, dict)] if isinstance(content, list) else []
    kinds = {str(part.get("type")) for part in parts}
    if "role" not in message or kinds & _RESPONSES:
        return "openai_responses"
    if kinds & _ANTHROPIC or any("source" in part for part in parts):
        return "anthropic"
    if str(message["role"]) in {"tool", "function"} or message.get("tool_calls"):
        return "openai_chat"
    return "openai_chat" if "image_url" in kinds else ""
