"""What one item may look like, whatever stands around it.

Every rule here reads one item alone, so that its verdict can be kept with the item.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuesta.testing.simulator.blocks import HERE
from cuesta.testing.simulator.openai import (
    Breach,
    missing,
    too_long,
    unknown,
    unsupported,
    wrong_type,
)
from cuesta.testing.simulator.responses.kinds import ANY, COMMON, KINDS, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cuesta.testing.simulator.canon import Json
    from cuesta.testing.simulator.conditions import Conditions

ROLES = ("assistant", "system", "developer", "user")
MAX_ID = 64

_TYPE_NAMES = {str: "a string", list: "an array", dict: "an object", bool: "a boolean"}
_INPUT_PARTS = ("input_text", "input_image", "input_file")
_ANSWER_PARTS = ("output_text", "refusal")
_TEXT_OF = {"input_text": "text", "output_text": "text", "refusal": "refusal"}


def kind_of(item: Json) -> str:
    """Return an item's kind: one with a role is a message, a lone id a reference."""
    if item.get("type") is not None:
        return str(item["type"])
    return "message" if "role" in item or "id" not in item else "item_reference"


def first_fault(item: object, conditions: Conditions) -> Breach | None:
    """Return the first fault of one item, or None."""
    return next(_faults(item, conditions), None)


def _faults(item: object, conditions: Conditions) -> Iterator[Breach]:
    if not isinstance(item, dict):
        yield wrong_type(HERE, "an object", item)
        return
    name = kind_of(item)
    kind = KINDS.get(name)
    if kind is None:
        if name not in conditions.extra_blocks:
            yield unsupported("kinds", HERE, name, sorted(KINDS))
        return
    yield from _member_faults(item, kind)
    yield from _id_faults(item, kind)
    yield from _unknown_members(item, kind, name, conditions)
    if name == "message":
        yield from _message_faults(item, conditions)
    elif name == "reasoning":
        yield from _reasoning_faults(item)
    else:
        yield from _output_faults(item, name, conditions)


def _unknown_members(item: Json, kind: Kind, name: str, conditions: Conditions) -> Iterator[Breach]:
    known = COMMON.union(kind.required, kind.optional)
    if name == "compaction_trigger":
        known = frozenset({"type"})
    elif conditions.compatible:
        return
    for member in sorted(item.keys() - known):
        yield unknown(f"{HERE}.{member}")


def _output_faults(item: Json, name: str, conditions: Conditions) -> Iterator[Breach]:
    if name == "local_shell_call_output" and not (item.get("call_id") or item.get("id")):
        yield missing(f"{HERE}.id")
    output = item.get("output")
    if isinstance(output, list) and name != "shell_call_output":
        yield from _parts_faults(f"{HERE}.output", output, _INPUT_PARTS, conditions)


def _member_faults(item: Json, kind: Kind) -> Iterator[Breach]:
    for member, types in kind.required.items():
        value = item.get(member)
        if value is None and (types is not ANY or member not in item):
            yield missing(f"{HERE}.{member}")
        elif not isinstance(value, types):
            names = [_TYPE_NAMES[each] for each in types]
            yield wrong_type(f"{HERE}.{member}", " or ".join(names), value)


def _id_faults(item: Json, kind: Kind) -> Iterator[Breach]:
    for member in ("id", "call_id"):
        value = item.get(member)
        if value is None:
            continue
        if not isinstance(value, str):
            yield wrong_type(f"{HERE}.{member}", "a string", value)
        elif len(value) > MAX_ID:
            yield too_long("lengths", f"{HERE}.{member}", value, MAX_ID)
        elif member == "id" and not value.startswith(kind.prefix):
            text = (
                f"Invalid '{HERE}.id': '{value}'. Expected an ID that begins with '{kind.prefix}'."
            )
            yield Breach("ids", text, f"{HERE}.id", "invalid_id_prefix")


def _message_faults(item: Json, conditions: Conditions) -> Iterator[Breach]:
    role, content = item.get("role"), item.get("content")
    if role is None:
        yield missing(f"{HERE}.role")
    if role not in ROLES:
        yield unsupported("roles", f"{HERE}.role", role, list(ROLES))
    if content is None:
        yield missing(f"{HERE}.content")
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        yield wrong_type(f"{HERE}.content", "one of a string or array of objects", content)
        return
    allowed = _ANSWER_PARTS if role == "assistant" else _INPUT_PARTS
    yield from _parts_faults(f"{HERE}.content", content, allowed, conditions)


def _parts_faults(
    at: str, parts: list[object], allowed: tuple[str, ...], conditions: Conditions
) -> Iterator[Breach]:
    for index, part in enumerate(parts):
        here = f"{at}[{index}]"
        if not isinstance(part, dict):
            yield wrong_type(here, "an object", part)
            return
        kind = part.get("type")
        if kind in conditions.extra_blocks:
            continue
        if kind is None:
            yield missing(f"{here}.type")
        if kind not in allowed:
            yield unsupported("parts", here, kind, list(allowed))
        member = _TEXT_OF.get(str(kind))
        if member is not None and not isinstance(part.get(member), str):
            yield missing(f"{here}.{member}")


def _reasoning_faults(item: Json) -> Iterator[Breach]:
    content = item.get("content")
    if content is not None and not isinstance(content, list):
        yield wrong_type(f"{HERE}.content", "an array", content)
    elif content:
        yield too_long("reasoning-content", f"{HERE}.content", content, 0)
    sealed = item.get("encrypted_content")
    if sealed is not None and not isinstance(sealed, str):
        yield wrong_type(f"{HERE}.encrypted_content", "a string", sealed)
    elif sealed is None and item.get("id") is None:
        yield missing(f"{HERE}.id")
