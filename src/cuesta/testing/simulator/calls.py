"""The log of what reached the simulator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cuesta.core.usage import Usage
    from cuesta.testing.simulator.canon import Json
    from cuesta.testing.simulator.reading import Request
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
        content: The blocks that were answered.
        transformations: Thinking of the request that was dropped or let through.
        appended: Whether its prompt is the conversation's previous one plus a suffix.
        prefix_common: How many leading messages, normalised, equal the previous call's.
        prefix_bytes: The size of those messages as JSON.
        aborted: Whether the client left before the end.
        finished: Whether nothing more will be sent.
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


def without_secrets(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return headers by lower-case name, but those that hold secrets."""
    return tuple((k.lower(), v) for k, v in headers if k.lower() not in _SECRET)


class Histories:
    """Compares each prompt of a conversation with the one before."""

    def __init__(self) -> None:
        self._last: dict[str, Request] = {}

    def compare(self, call: Call, request: Request) -> None:
        """Note in a call how its prompt goes on from its conversation's last one."""
        before = self._last.get(call.conversation)
        self._last[call.conversation] = request
        if before is None:
            return
        states = {*request.head.states[-1:], *(s for own in request.states for s in own)}
        call.appended = before.prefix.state in states | set(request.starts)
        pairs = zip(before.message_states(), request.message_states(), strict=False)
        equal = [old == new for old, new in pairs]
        call.prefix_common = equal.index(False) if False in equal else len(equal)
        call.prefix_bytes = sum(m.size for m in request.messages[: call.prefix_common])
