"""The normal form of a request's parts, and the chain of hashes over them.

Two requests show the model the same prefix exactly when their chains are equal: cache markers, a
string in place of one text block, and neighbouring messages of one role make no difference.
"""

from __future__ import annotations

import json
import marshal
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias

Json: TypeAlias = dict[str, Any]

_ROLES = {"user": b"\x01u", "assistant": b"\x01a", "system": b"\x01s"}


_ENCODER = json.JSONEncoder(separators=(",", ":"))


def dump(value: object) -> str:
    """Return JSON in ASCII without spaces, members in their own order."""
    return _ENCODER.encode(value)


def fingerprint(value: Any) -> bytes:  # noqa: ANN401 - any JSON value
    """Return a hash that is equal for equal JSON values with members in the same order."""
    try:
        # Version 0 of the format writes values only, no references: equal values, equal bytes.
        return digest(marshal.dumps(value, 0))
    except ValueError:
        return digest(dump(value).encode())


def digest(data: bytes) -> bytes:
    """Return a hash of 16 bytes."""
    return blake2b(data, digest_size=16).digest()


def blocks_of(content: object) -> list[Json]:
    """Return content as a list of blocks: a string is one text block, nothing is none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return (
        [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    )


def block_digest(block: Json) -> bytes:
    """Return the hash of a block's normal form.

    The order of a block's own members and cache markers do not count; the order inside of a call's
    input does, since it changes the prompt.
    """
    plain = {key: block[key] for key in sorted(block) if key != "cache_control"}
    if block.get("type") == "tool_result":
        plain["content"] = [
            {key: inner[key] for key in sorted(inner) if key != "cache_control"}
            for inner in blocks_of(block.get("content"))
        ]
    return digest(dump(plain).encode())


class Prefix(NamedTuple):
    """Everything that stands before one place of a conversation, as a hash.

    Attributes:
        state: The hash over system, tools and all earlier blocks.
        role: The role of the message that the last block stands in, or empty at the start.
    """

    state: bytes
    role: str = ""

    def then(self, role: str, block: Json) -> Prefix:
        """Return the prefix behind one more block of a message of `role`."""
        return Prefix(
            link(self.state, "" if role == self.role else role, block_digest(block)), role
        )


def link(state: bytes, new_role: str, part: bytes) -> bytes:
    """Return the chain's next state.

    Args:
        state: The state so far.
        new_role: The role that begins here, or empty where the last one goes on.
        part: The next part's digest.
    """
    return blake2b(state + _ROLES.get(new_role, b"") + part, digest_size=16).digest()


def half_surrogate(value: object, text: str) -> bool:
    """Tell whether a JSON value holds half a surrogate pair.

    Args:
        value: The value.
        text: The same as JSON in ASCII.
    """
    if "\\ud" not in text:
        return False
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False
