"""The log of what reached the simulator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cuesta.core.usage import Usage
    from cuesta.testing.simulator.canon import Json
    from cuesta.testing.simulator.refusals import Refusal

_SECRET = frozenset({"authorization", "x-api-key", "cookie", "proxy-authorization"})


@dataclass(slots=True)
class Call:
    """One HTTP request and what became of it.

    Attributes:
        method: The HTTP method.
        path: The path without its query.
        query: The query as sent.
        headers: Names (lower case) and values, those that hold secrets left out.
        body: The body's JSON value; empty where there was none.
        raw: The body as sent, decompressed.
        status: The status answered; 0 while there is none.
        refusal: Why it was refused, or None.
        usage: What was billed, or None.
        model: The model that the body names.
        conversation: The conversation that it belongs to; empty for calls beside one.
        step: The script's step that it asked for.
        side: Whether it was answered beside the script.
        stream: Whether it asked for a stream.
        encoding: The answer's content encoding.
        content: What was answered: blocks, one chat message, or items.
        transformations: Thinking of the request that was dropped or let through.
        appended: Whether its prompt is the conversation's previous one plus a suffix.
        prefix_common: How many leading messages or items, normalised, equal the previous call's.
        prefix_bytes: The size of those messages as JSON.
        aborted: Whether the client left before the end.
        finished: Whether nothing more will be sent.
        dialect: The wire that its path belongs to, `anthropic`, `openai_chat` or
            `openai_responses`; empty for other paths.
        upgrade: The protocol that it asked to change to, or empty.
    """

    method: str
    path: str
    query: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: Json = field(default_factory=dict)
    raw: bytes = b""
    status: int = 0
    refusal: Refusal | None = None
    usage: Usage | None = None
    model: str = ""
    conversation: str = ""
    step: int = 0
    side: bool = False
    stream: bool = False
    encoding: str = "identity"
    content: list[Json] = field(default_factory=list)
    transformations: list[dict[str, str]] = field(default_factory=list)
    appended: bool = True
    prefix_common: int = 0
    prefix_bytes: int = 0
    aborted: bool = False
    finished: bool = False
    dialect: str = ""
    upgrade: str = ""


def without_secrets(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return headers by lower-case name, but those that hold secrets."""
    return tuple((k.lower(), v) for k, v in headers if k.lower() not in _SECRET)


class Prompted(Protocol):
    """What a request of any wire tells about its prompt, as a chain of hashes."""

    @property
    def end(self) -> bytes:
        """The chain behind everything."""
        ...

    def reached(self) -> set[bytes]:
        """Return every state of the chain that a shorter prompt of the same beginning ends in."""
        ...

    def message_states(self) -> list[bytes]:
        """Return the chain behind each message or item."""
        ...

    def sizes(self) -> list[int]:
        """Return the size of each message or item as JSON."""
        ...


class Histories:
    """Compares each prompt of a conversation with the one before."""

    def __init__(self) -> None:
        self._last: dict[str, Prompted] = {}

    def compare(self, call: Call, request: Prompted) -> None:
        """Note in a call how its prompt goes on from its conversation's last one."""
        before = self._last.get(call.conversation)
        self._last[call.conversation] = request
        if before is None:
            return
        call.appended = before.end in request.reached()
        pairs = zip(before.message_states(), request.message_states(), strict=False)
        equal = [old == new for old, new in pairs]
        call.prefix_common = equal.index(False) if False in equal else len(equal)
        call.prefix_bytes = sum(request.sizes()[: call.prefix_common])
