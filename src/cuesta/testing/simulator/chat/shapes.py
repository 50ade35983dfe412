"""What one chat message may look like, whatever stands around it.

Every rule here reads one message alone, so that its verdict can be kept with the message.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from cuesta.testing.simulator.blocks import HERE
from cuesta.testing.simulator.openai import (
    Breach,
    missing,
    too_long,
    too_short,
    unknown,
    unsupported,
    wrong_type,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cuesta.testing.simulator.canon import Json
    from cuesta.testing.simulator.conditions import Conditions

ROLES = ("system", "assistant", "user", "tool", "developer")
MAX_ID = 40

_MEMBERS: dict[str, tuple[type, str]] = {
    "text": (str, "a string"),
    "image_url": (dict, "an object"),
    "input_audio": (dict, "an object"),
    "file": (dict, "an object"),
    "refusal": (str, "a string"),
}
"""Types of parts: each holds a member of its own name."""
_PARTS = {
    "system": ("text",),
    "developer": ("text",),
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text",),
}
_COMPATIBLE_PARTS = {**_PARTS, "tool": ("text", "image_url", "input_audio", "file")}
_FIELDS = {
    "system": frozenset({"role", "content", "name"}),
    "developer": frozenset({"role", "content", "name"}),
    "user": frozenset({"role", "content", "name"}),
    "assistant": frozenset(
        {"role", "content", "name", "tool_calls", "refusal", "audio", "function_call"}
    ),
    "tool": frozenset({"role", "content", "tool_call_id"}),
}
_NAME = re.compile(r"[a-zA-Z0-9_-]+")


def first_fault(message: object, conditions: Conditions) -> Breach | None:
    """Return the first fault of one message, or None."""
    return next(_faults(message, conditions), None)


def _faults(message: object, conditions: Conditions) -> Iterator[Breach]:
    if not isinstance(message, dict):
        yield wrong_type(HERE, "an object", message)
        return
    role = message.get("role")
    if role is None:
        yield missing(f"{HERE}.role")
    if role not in ROLES:
        yield unsupported("roles", f"{HERE}.role", role, list(ROLES))
        return
    if not conditions.compatible:
        for field in sorted(message.keys() - _FIELDS[role]):
            yield unknown(f"{HERE}.{field}")
    if role == "tool":
        yield from _result_faults(message)
    if role == "assistant":
        yield from _answer_faults(message, conditions)
    elif message.get("content") is None:
        yield missing(f"{HERE}.content")
    yield from _content_faults(role, message.get("content"), conditions)


def _result_faults(message: Json) -> Iterator[Breach]:
    name = message.get("tool_call_id")
    if name is None:
        yield missing(f"{HERE}.tool_call_id")
    elif not isinstance(name, str):
        yield wrong_type(f"{HERE}.tool_call_id", "a string", name)


def _answer_faults(message: Json, conditions: Conditions) -> Iterator[Breach]:
    calls = message.get("tool_calls")
    if calls is not None:
        yield from _calls_faults(calls, conditions)
        return
    content = message.get("content")
    if content is None and message.get("refusal") is None and message.get("audio") is None:
        text = "Invalid value for 'content': expected a string, got null."
        yield Breach("assistant", text, f"{HERE}.content")
    if conditions.compatible and not content and not message.get("refusal"):
        text = "Invalid assistant message: content or tool_calls must be set"
        yield Breach("assistant", text, None, "invalid_request_error")


def _calls_faults(calls: object, conditions: Conditions) -> Iterator[Breach]:
    if not isinstance(calls, list):
        yield wrong_type(f"{HERE}.tool_calls", "an array of objects", calls)
        return
    if not calls:
        yield too_short(f"{HERE}.tool_calls")
    for index, call in enumerate(calls):
        at = f"{HERE}.tool_calls[{index}]"
        if not isinstance(call, dict):
            yield wrong_type(at, "an object", call)
            return
        yield from _call_faults(call, at, conditions)
    names = [call["id"] for call in calls]
    if len(set(names)) < len(names):
        text = "Duplicate tool call id in assistant message"
        yield Breach("unique-ids", text, f"{HERE}.tool_calls")


def _call_faults(call: Json, at: str, conditions: Conditions) -> Iterator[Breach]:
    yield from _string_faults(call, "id", at)
    kind = call.get("type")
    if kind not in {"function", "custom"}:
        yield unsupported("call-shape", f"{at}.type", kind, ["function", "custom"])
        return
    inner = call.get(kind)
    if not isinstance(inner, dict):
        yield missing(f"{at}.{kind}")
        return
    yield from _string_faults(inner, "name", f"{at}.{kind}")
    member = "arguments" if kind == "function" else "input"
    yield from _string_faults(inner, member, f"{at}.{kind}")
    if conditions.compatible:
        if kind == "function" and not _is_json(inner["arguments"]):
            text = 'The "function.arguments" parameter of the code model must be in JSON format.'
            yield Breach("arguments", text, f"{at}.function.arguments", "invalid_parameter_error")
        return
    if len(call["id"]) > MAX_ID:
        yield too_long("call-shape", f"{at}.id", call["id"], MAX_ID)
    if not _NAME.fullmatch(inner["name"]):
        text = (
            f"Invalid '{at}.{kind}.name': string does not match pattern. Expected a string that "
            "matches the pattern '^[a-zA-Z0-9_-]+$'."
        )
        yield Breach("call-shape", text, f"{at}.{kind}.name", "invalid_value")


def _string_faults(holder: Json, member: str, at: str) -> Iterator[Breach]:
    value = holder.get(member)
    if value is None:
        yield missing(f"{at}.{member}")
    elif not isinstance(value, str):
        yield wrong_type(f"{at}.{member}", "a string", value)


def _is_json(text: str) -> bool:
    try:
        json.loads(text or "{}")
    except ValueError:
        return False
    return True


def _content_faults(role: str, content: object, conditions: Conditions) -> Iterator[Breach]:
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list):
        yield wrong_type(f"{HERE}.content", "one of a string or array of objects", content)
        return
    if not content and role != "assistant":
        yield too_short(f"{HERE}.content")
    allowed = (_COMPATIBLE_PARTS if conditions.compatible else _PARTS)[role]
    for index, part in enumerate(content):
        at = f"{HERE}.content[{index}]"
        if not isinstance(part, dict):
            yield wrong_type(at, "an object", part)
            return
        kind = part.get("type")
        if kind in conditions.extra_blocks:
            continue
        if kind is None:
            yield missing(f"{at}.type")
        if kind not in allowed:
            yield unsupported("parts", f"{at}.type", kind, list(allowed))
            return
        yield from _part_faults(part, str(kind), at)


def _part_faults(part: Json, kind: str, at: str) -> Iterator[Breach]:
    wanted, expected = _MEMBERS[kind]
    value = part.get(kind)
    if value is None:
        yield missing(f"{at}.{kind}")
    elif not isinstance(value, wanted):
        yield wrong_type(f"{at}.{kind}", expected, value)
