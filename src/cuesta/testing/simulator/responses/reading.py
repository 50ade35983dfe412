"""A Responses request, read once: what each item tells, and how the model sees it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from cuesta.testing.simulator.canon import Json, dump, half_surrogate
from cuesta.testing.simulator.prompts import MEDIA_TOKENS, SEPARATOR, Entry, Prompt, Seen
from cuesta.testing.simulator.responses.kinds import KINDS
from cuesta.testing.simulator.responses.shapes import first_fault, kind_of
from cuesta.testing.simulator.tokens import CHARACTERS_PER_TOKEN, SEALED_OVERHEAD

if TYPE_CHECKING:
    from cuesta.testing.simulator.conditions import Conditions

_UNSEEN = frozenset(
    {"type", "id", "status", "internal_chat_message_metadata_passthrough", "encrypted_content"}
)
"""Members that do not change what the model reads."""
_TEXTS = ("content", "name", "arguments", "input", "output")
_MEDIA = frozenset({"input_image", "input_file", "input_audio", "computer_screenshot"})


@dataclass(frozen=True, slots=True)
class Item(Entry):
    """What one item tells. One with a fault tells little else.

    Attributes:
        kind: Its kind.
        id: Its own id, or empty.
        made: Whether the model made it.
        call: The id that must be answered, or empty.
        answers: The id of the call that it answers, or empty.
        seal: Its `encrypted_content`, or empty.
    """

    kind: str = ""
    id: str = ""
    made: bool = False
    call: str = ""
    answers: str = ""
    seal: str = ""


ResponsesRequest: TypeAlias = Prompt[Item]


def read_item(item: object, text: str, conditions: Conditions) -> Item:
    """Read one entry of `input`.

    Args:
        item: The entry.
        text: Its JSON in ASCII.
        conditions: What the provider is like today.
    """
    fault = first_fault(item, conditions)
    plain: Json = item if fault is None and isinstance(item, dict) else {}
    seen = see(plain) if plain else Seen("", text)
    kind = kind_of(plain) if plain else ""
    return Item(
        mark=seen.mark,
        tokens=seen.tokens,
        size=len(text),
        fault=fault,
        surrogate=half_surrogate(item, text),
        kind=kind,
        id=_own_id(kind, plain),
        made=_is_made(kind, plain),
        call=_call_of(kind, plain),
        answers=_answered_by(kind, plain),
        seal=plain.get("encrypted_content") or "",
    )


def items_of(given: object) -> list[object]:
    """Return an input as a list of items: a string is one message of the user."""
    if isinstance(given, str):
        return [
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": given}],
            }
        ]
    return list(given) if isinstance(given, list) else []


def see(item: Json) -> Seen:
    """Return a sound item as the model sees it."""
    kind = kind_of(item)
    seal = item.get("encrypted_content")
    if seal:
        return Seen(kind, "", seal, _sealed(seal))
    if kind == "message":
        return _seen(f"message {item['role']}", {"content": item["content"]})
    members = {k: item[k] for k in sorted(item) if k not in _UNSEEN and item[k] is not None}
    return _seen(kind, members)


def _seen(label: str, members: Json) -> Seen:
    """Tell the members that are text from pictures and from everything else."""
    texts: list[str] = []
    media: list[Json] = []
    for key in [key for key in _TEXTS if key in members]:
        for part in parts_of(members.pop(key)):
            if part.get("type") in _MEDIA:
                media.append(part)
            else:
                texts.append(str(part.get("text", part.get("refusal") or dump(part))))
    if not texts and not media:
        return Seen(label, dump(members))
    rest = dump([members, media]) if members or media else ""
    return Seen(label, SEPARATOR.join(texts), rest, MEDIA_TOKENS * len(media))


def text_of(message: Json) -> str:
    """Return all text of a message, its parts joined by a separator."""
    parts = parts_of(message.get("content"))
    return SEPARATOR.join(str(part.get("text", part.get("refusal", ""))) for part in parts)


def parts_of(content: object) -> list[Json]:
    """Return content as a list of parts: a string is one of text, nothing is none."""
    if isinstance(content, str):
        return [{"type": "input_text", "text": content}]
    parts = content if isinstance(content, list) else [content]
    return [part for part in parts if isinstance(part, dict)]


def _sealed(seal: str) -> int:
    """Count what a seal hides: reasoning is billed whether or not its summary is shown."""
    return max(0, math.floor((len(seal) * 3 / 4 - SEALED_OVERHEAD) / CHARACTERS_PER_TOKEN))


def _own_id(kind: str, item: Json) -> str:
    """Return an item's id; the output of a local shell may have its call's instead."""
    borrowed = kind == "local_shell_call_output" and not item.get("call_id")
    return "" if borrowed else str(item.get("id") or "")


def _is_made(kind: str, item: Json) -> bool:
    if kind == "message":
        return bool(item.get("role") == "assistant")
    known = KINDS.get(kind)
    return known.made if known is not None else kind.endswith("_call")


def _call_of(kind: str, item: Json) -> str:
    known = KINDS.get(kind)
    if known is not None and not known.output:
        return ""
    if item.get("execution") == "server" or not kind.endswith("_call"):
        return ""
    return str(item.get("call_id") or "")


def _answered_by(kind: str, item: Json) -> str:
    if kind == "local_shell_call_output":
        return str(item.get("call_id") or item.get("id") or "")
    if not kind.endswith("_output") or item.get("execution") == "server":
        return ""
    return str(item.get("call_id") or "")
