"""What a request shows a model, as hashes: enough to tell whether one is another plus a suffix.

Normalised as providers' caches see it: cache markers, one text block in place of a string, spacing,
key order, and on Responses fields with null make no difference. It shares no code with the proxy.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import msgspec

_START = b"\0" * 16


@dataclass(frozen=True, slots=True)
class Shown:
    """One message or item.

    Attributes:
        shell: The hash over everything but its content's parts.
        parts: The hash of each part, in order.
        made: Whether a turn of the model's begins with it, or goes on.
    """

    shell: bytes
    parts: tuple[bytes, ...]
    made: bool

    def extends(self, other: Shown) -> bool:
        """Tell whether this is another message with perhaps more parts at its end."""
        return self.shell == other.shell and self.parts[: len(other.parts)] == other.parts


@dataclass(frozen=True, slots=True)
class Mark:
    """What is kept of a print: enough to recognise what extends it.

    Attributes:
        count: How many messages.
        state: The chain behind all but the last.
        last: The last message.
    """

    count: int
    state: bytes
    last: Shown


class Print:
    """A request's print.

    Args:
        wire: The dialect's name.
        body: The body's JSON value.

    Attributes:
        fixed: The hash over everything but the messages.
        messages: The messages or items.
        states: The chain before the first message, and behind each.
    """

    def __init__(self, wire: str, body: dict[str, Any]) -> None:
        where, plain = _WIRES[wire]
        given = body.get(where)
        listed = given if isinstance(given, list) else [{"role": "user", "content": given}]
        self.fixed = _hash({key: value for key, value in body.items() if key != where})
        self.messages = [plain(message) for message in listed]
        self.states = [_START]
        for message in self.messages:
            link = b"".join((self.states[-1], message.shell, *message.parts))
            self.states.append(_digest(link))

    @property
    def whole(self) -> bytes:
        """The hash over all messages."""
        return self.states[-1]

    @property
    def mark(self) -> Mark:
        """What is to be kept of it."""
        return Mark(len(self.messages), self.states[-2], self.messages[-1])

    def extends(self, mark: Mark) -> bool:
        """Tell whether this is the marked print with perhaps more behind it.

        Its last message may have grown.
        """
        place = mark.count - 1
        return (
            len(self.messages) > place
            and self.states[place] == mark.state
            and self.messages[place].extends(mark.last)
        )

    def news(self, mark: Mark) -> tuple[tuple[bytes, ...], list[Shown]]:
        """Return what stands behind a mark that it extends: parts of that message, and messages."""
        grown = self.messages[mark.count - 1].parts[len(mark.last.parts) :]
        return grown, self.messages[mark.count :]


def read(body: bytes) -> dict[str, Any]:
    """Parse a body.

    Raises:
        ValueError: If it is no JSON object.
    """
    try:
        value = msgspec.json.decode(body)
    except ValueError:  # half a surrogate pair, which the standard library takes
        value = json.loads(body)
    if not isinstance(value, dict):
        raise ValueError("a body must be an object")  # noqa: TRY004 - as the parser's errors
    return value


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


def _hash(value: object) -> bytes:
    try:
        text = msgspec.json.encode(value, order="sorted")
    except (ValueError, TypeError):
        text = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    return _digest(text)


def _texts(content: object, kind: str) -> list[Any]:
    if isinstance(content, str):
        return [{"type": kind, "text": content}]
    return content if isinstance(content, list) else [content]


def _unmarked(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if not isinstance(value, dict):
        return value
    plain = {key: inner for key, inner in value.items() if key != "cache_control"}
    if plain.get("type") == "tool_result":
        plain["content"] = [_unmarked(part) for part in _texts(plain.get("content"), "text")]
    return plain


def _message(message: dict[str, Any]) -> Shown:
    """Read a message of Anthropic's or of Chat Completions."""
    parts = _texts(message.get("content"), "text")
    shell = {k: v for k, v in message.items() if k not in {"content", "cache_control"}}
    made = message.get("role") == "assistant"
    return Shown(_hash(shell), tuple(_hash(_unmarked(part)) for part in parts), made)


def _item(item: dict[str, Any]) -> Shown:
    """Read an item of Responses."""
    plain = {key: value for key, value in item.items() if value is not None}
    plain.setdefault("type", "message")
    if isinstance(plain.get("output"), str):
        plain["output"] = _texts(plain["output"], "input_text")
    # A compaction stands for what is before it: it belongs to the turn there, and opens none.
    theirs = plain["type"] == "compaction" or plain["type"].endswith("_output")
    made = plain.get("role", "assistant") == "assistant" and not theirs
    if plain["type"] != "message":
        return Shown(_hash(plain), (), made)
    parts = _texts(plain.pop("content", None), "input_text")
    return Shown(_hash(plain), tuple(map(_hash, parts)), made)


_WIRES: dict[str, tuple[str, Callable[[dict[str, Any]], Shown]]] = {
    "anthropic": ("messages", _message),
    "openai_chat": ("messages", _message),
    "openai_responses": ("input", _item),
}
