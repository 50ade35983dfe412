"""A chat request, read once: what each message tells, and how the model sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from cuesta.testing.simulator.canon import Json, dump, half_surrogate
from cuesta.testing.simulator.chat.shapes import first_fault
from cuesta.testing.simulator.prompts import MEDIA_TOKENS, SEPARATOR, Entry, Prompt, Seen

if TYPE_CHECKING:
    from cuesta.testing.simulator.conditions import Conditions

_TEXT = frozenset({"text", "refusal"})


@dataclass(frozen=True, slots=True)
class Message(Entry):
    """What one message tells. One with a fault tells little else.

    Attributes:
        role: Its role.
        calls: The ids of its calls.
        answers: The id of the call that it answers, or empty.
        reasoning: Its `reasoning_content`, or empty.
    """

    role: str = ""
    calls: tuple[str, ...] = ()
    answers: str = ""
    reasoning: str = ""


ChatRequest: TypeAlias = Prompt[Message]


def read_message(message: object, text: str, conditions: Conditions) -> Message:
    """Read one entry of `messages`.

    Args:
        message: The entry.
        text: Its JSON in ASCII.
        conditions: What the provider is like today.
    """
    fault = first_fault(message, conditions)
    plain: Json = message if fault is None and isinstance(message, dict) else {}
    seen = see(plain) if plain else Seen("", text)
    return Message(
        mark=seen.mark,
        tokens=seen.tokens,
        size=len(text),
        fault=fault,
        surrogate=half_surrogate(message, text),
        role=str(plain.get("role", "")),
        calls=tuple(call["id"] for call in plain.get("tool_calls") or ()),
        answers=plain.get("tool_call_id", "") if plain.get("role") == "tool" else "",
        reasoning=str(plain.get("reasoning_content") or ""),
    )


def see(message: Json) -> Seen:
    """Return a sound message as the model sees it."""
    parts = parts_of(message.get("content"))
    media = [part for part in parts if part.get("type") not in _TEXT]
    texts = [text_of(message)]
    if message.get("reasoning_content"):
        texts.insert(0, str(message["reasoning_content"]))
    for call in message.get("tool_calls") or ():
        inner = call[call["type"]]
        texts += [inner["name"], inner.get("arguments", inner.get("input", ""))]
    other = {
        key: message[key]
        for key in sorted(message)
        if key not in {"role", "content", "reasoning_content"} and message[key] is not None
    }
    rest = dump([media, other]) if media or other else ""
    return Seen(message["role"], SEPARATOR.join(texts), rest, MEDIA_TOKENS * len(media))


def text_of(message: Json) -> str:
    """Return all text of a message's content, its parts joined by a separator."""
    return SEPARATOR.join(
        str(part.get(part["type"], ""))
        for part in parts_of(message.get("content"))
        if part.get("type") in _TEXT
    )


def parts_of(content: object) -> list[Json]:
    """Return content as a list of parts: a string is one of text, nothing is none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
