"""What the request bodies of all wires have in common: members, a list, a model."""

from __future__ import annotations

from collections.abc import Mapping

from cuesta.core.errors import RequestError
from cuesta.dialects.base import Request
from cuesta.dialects.raw import load, split_array, split_object


def read_body(body: bytes, where: str) -> Request:
    """Cut a body into raw slices.

    Args:
        body: The decompressed body.
        where: The member that holds the messages; a string there counts as no messages.

    Raises:
        RequestError: If it is malformed, or lacks the messages or the model.
    """
    members = split_object(body)
    if where not in members:
        raise RequestError(f"the request body has no `{where}`")
    model = load(members.get("model", b"null"))
    if not isinstance(model, str):
        raise RequestError("`model` is no string")
    listed = members[where]
    spoken = where == "input" and not listed.startswith(b"[")
    return Request(members, [] if spoken else split_array(listed), model)


def length(members: Mapping[str, bytes], key: str) -> int:
    """Return how long a member's list is; 0 for none."""
    raw = members.get(key, b"null")
    return len(split_array(raw)) if raw.startswith(b"[") else 0


def number(members: Mapping[str, bytes], *keys: str) -> int | None:
    """Return the first of these members that is a number, or None."""
    values = (load(members.get(key, b"null")) for key in keys)
    return next((value for value in values if isinstance(value, int)), None)
