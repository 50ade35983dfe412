"""The form that is sent when planning fails: the nearest one that is known to be valid.

This file shares no code with the steps that may have failed. It reads JSON with the standard
library, normalises and hashes messages by itself, and is slow. Its forms, best first:
1. the epoch's frozen beginning, with the client's new messages behind it;
2. the original bytes, before the first cliff;
3. the original without the thinking that a model which checks prefixes would refuse.
Which of them answered a request is written down: the same request gets the same epoch again, and
bytes that were not the epoch's make the next request open a new one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from cuesta.core.ledger import Entry
from cuesta.core.models import checks_prefixes, read_model
from cuesta.core.policy import PROFILES
from cuesta.exchange.events import Command, Commit, Event, Found, LookUp
from cuesta.exchange.memory import Frozen, Recent

_NEVER = Found(None, None)
_UNKNOWN = Found(None, None)
_UNTOUCHED = Entry(PROFILES["default"], "cliff", 0, ())
_FOREIGN = Frozen.of(0, b"", _UNTOUCHED)
"""Stands for a turn that was answered behind other bytes than its epoch's."""


@dataclass(frozen=True, slots=True)
class Fallback:
    """What fail-open found.

    Attributes:
        body: What to send, or None: the original bytes.
        form: Which form it is, in a few words.
    """

    body: bytes | None
    form: str


def fail_open(
    body: bytes,
    dialect: str,
    frozen: Recent[bytes, Frozen],
    *,
    tenant: str = "",
    committing: bool,
) -> Generator[Command, Event, Fallback]:
    """Find the nearest valid form of a request whose planning failed. Never raises.

    Args:
        body: The client's decompressed body.
        dialect: The wire API's name, which the chain is seeded with.
        frozen: What the epochs in force begin with, by their ledger keys.
        tenant: Who asks; see `events.Arrived`.
        committing: Whether a new cliff may have been written before the failure, so that the ledger
            may hold an epoch whose bytes were never sent.
    """
    try:
        request = json.loads(body)
        links = _links(request[_WIRES[dialect].key], dialect, tenant)
        return (yield from _nearest(request, dialect, links, frozen, committing=committing))
    except Exception:  # noqa: BLE001 - whatever it is, the original is all there is
        return Fallback(None, "original bytes")


def _nearest(
    request: dict[str, Any],
    dialect: str,
    links: Sequence[bytes],
    frozen: Recent[bytes, Frozen],
    *,
    committing: bool,
) -> Generator[Command, Event, Fallback]:
    wire = _WIRES[dialect]
    known = links[:-1] if committing else links
    past = yield from _past_a_cliff(known)
    epoch = _epoch(known, frozen, past)
    if epoch is not None:
        yield from _note(links[-1], epoch.entry, frozen, foreign=committing)
        return Fallback(_thaw(request, wire.key, epoch), "frozen prefix of the epoch")
    entry = past.entry or _UNTOUCHED
    checks = wire.thinks and checks_prefixes(read_model(str(request.get("model", ""))))
    if past is _NEVER or not checks:
        yield from _note(links[-1], entry, frozen, foreign=committing and checks)
        return Fallback(None, "original bytes")
    stripped = _without_thinking(request)
    yield from _note(links[-1], entry, frozen, foreign=True)
    return Fallback(stripped, "original without thinking" if stripped else "original bytes")


def _links(messages: Sequence[Any], dialect: str, tenant: str = "") -> list[bytes]:
    """Name every prefix of the conversation as the ledger does."""
    seed = f"cuesta-chain-1\0{tenant}\0{dialect}"
    link = hashlib.sha256(seed.encode()).digest()
    links = []
    for message in messages:
        plain = _WIRES[dialect].plain(message)
        text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
        link = hashlib.sha256(link + hashlib.sha256(text.encode()).digest()).digest()
        links.append(link)
    return links


def _texts(content: object, kind: str) -> list[Any]:
    """Return content as a list: a string is one text of the given kind."""
    if isinstance(content, str):
        return [{"type": kind, "text": content}]
    return list(content) if isinstance(content, list) else []


def _unmarked(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if not isinstance(value, dict):
        return value
    return {key: inner for key, inner in value.items() if key != "cache_control"}


def _plain_anthropic(message: dict[str, Any]) -> dict[str, Any]:
    blocks = _texts(message.get("content"), "text")
    return {**message, "content": [_plain_block(block) for block in blocks]}


def _plain_block(block: Any) -> Any:  # noqa: ANN401 - any JSON value
    plain = _unmarked(block)
    if isinstance(plain, dict) and plain.get("type") == "tool_result":
        inner = plain.get("content")
        if inner is None or isinstance(inner, str | list):
            plain["content"] = [_plain_block(part) for part in _texts(inner, "text")]
    return plain


def _plain_chat(message: dict[str, Any]) -> dict[str, Any]:
    parts = [_unmarked(part) for part in _texts(message.get("content"), "text")]
    return {**_unmarked(message), "content": parts}


def _plain_item(item: dict[str, Any]) -> dict[str, Any]:
    plain = {key: value for key, value in item.items() if value is not None}
    plain["type"] = str(item.get("type", "message"))
    for key in ("content", "output"):
        if isinstance(plain.get(key), str):
            plain[key] = _texts(plain[key], "input_text")
    return plain


@dataclass(frozen=True, slots=True)
class _Wire:
    """Where a wire keeps its messages, how one is normalised, and whether thinking is bound."""

    key: str
    plain: Callable[[dict[str, Any]], dict[str, Any]]
    thinks: bool = False


_WIRES = {
    "anthropic": _Wire("messages", _plain_anthropic, thinks=True),
    "openai_chat": _Wire("messages", _plain_chat),
    "openai_responses": _Wire("input", _plain_item),
}


def _epoch(links: Sequence[bytes], frozen: Recent[bytes, Frozen], past: Found) -> Frozen | None:
    """Return the beginning of the epoch in force, if it is remembered.

    Not where a later turn was answered behind other bytes than that epoch's.
    """
    for link in reversed(links):
        if past.entry is not None and past.entry.foreign and link == past.key:
            return None
        known = frozen.get(link)
        if known is not None:
            return None if known is _FOREIGN else known
    return None


def _thaw(request: dict[str, Any], where: str, epoch: Frozen) -> bytes:
    """Put the client's new messages behind an epoch's beginning."""
    news = [_dump(message) for message in request[where][epoch.messages :]]
    messages = b"[" + b",".join(filter(None, (epoch.sent, *news))) + b"]"
    return _with_list(request, where, messages)


def _past_a_cliff(links: Sequence[bytes]) -> Generator[Command, Event, Found]:
    """Ask the ledger for the epoch in force: `_NEVER` for none, `_UNKNOWN` if it cannot tell."""
    try:
        found = yield LookUp(tuple(reversed(links)))
    except Exception:  # noqa: BLE001 - the ledger may be what failed
        return _UNKNOWN
    if not isinstance(found, Found):
        return _UNKNOWN
    return _NEVER if found.entry is None else found


def _note(
    link: bytes, entry: Entry, frozen: Recent[bytes, Frozen], *, foreign: bool
) -> Generator[Command, Event, None]:
    """Write down which epoch a request was answered in, so that it is never answered otherwise.

    Args:
        link: The request's whole conversation.
        entry: The epoch in force.
        frozen: Where the beginnings of epochs are remembered.
        foreign: Whether the bytes were not the epoch's, so that the next request must open one.
    """
    if foreign:
        frozen.put(link, _FOREIGN)
    with suppress(Exception):
        yield Commit(link, replace(entry, foreign=foreign))


def _without_thinking(request: dict[str, Any]) -> bytes | None:
    """Take all thinking out of the assistant messages; None where there is none."""
    kept = []
    for message in request["messages"]:
        content = message.get("content")
        if message.get("role") == "assistant" and isinstance(content, list):
            left = [b for b in content if b.get("type") not in {"thinking", "redacted_thinking"}]
            if content and not left:
                continue
            kept.append({**message, "content": left})
        else:
            kept.append(message)
    if kept == request["messages"]:
        return None
    return _with_list(request, "messages", b"[" + b",".join(map(_dump, kept)) + b"]")


def _with_list(request: dict[str, Any], where: str, messages: bytes) -> bytes:
    pairs = (
        _dump(key) + b":" + (messages if key == where else _dump(value))
        for key, value in request.items()
    )
    return b"{" + b",".join(pairs) + b"}"


def _dump(value: Any) -> bytes:  # noqa: ANN401 - any JSON value
    return json.dumps(value, separators=(",", ":")).encode()
