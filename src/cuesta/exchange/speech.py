"""Reading conversations in which plain text stands for calls and results.

What such a message means depends on the harness's protocol and on what stands right before it, so
its outline is remembered under both. Links are over the wire's own messages and know of neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import xxhash

from cuesta.core.meter import Meter
from cuesta.core.transcript import Message, Outline, Role, outline
from cuesta.dialects.base import Dialect, Request
from cuesta.dialects.raw import load
from cuesta.exchange.memory import Recent
from cuesta.protocols.lexicon import speaks_human
from cuesta.protocols.recognition import NONE, Speech, recognise
from cuesta.protocols.text_actions import Behind, read_behind, standing

CALLS = b""
"""The ground of requests in which the wire's own calls are all there is."""
_MESSAGES = 2_048
_EMPTY = frozenset({b"", b"null"})
_LONG = 64

Told: TypeAlias = tuple[Outline, Behind]
"""An outline, and what its message is to the next one."""


class Speeches:
    """Decides how conversations are spoken, and reads the messages of those in plain text.

    Args:
        dialect: The wire API.
        seed: Makes hashes over bytes unpredictable from outside.
        harness: What the operator said outright; empty: each conversation's beginning decides.
    """

    def __init__(self, dialect: Dialect, seed: int, harness: str) -> None:
        self._dialect = dialect
        self._seed = seed
        self._harness = harness
        self._told: Recent[tuple[str, str, Behind, bytes], Told] = Recent(_MESSAGES)

    def ground(self, request: Request) -> bytes:
        """Return what a decision rests on beside the messages: that there are no tools, the rest.

        `CALLS` where there is nothing to decide.
        """
        if self._harness == NONE or _offers_tools(request.members):
            return CALLS
        return b"\0".join((b"no tools", *self._dialect.fixed(request)))

    def decide(self, request: Request, messages: Iterator[Message]) -> Speech:
        """Decide how the conversation of a request is spoken whose ground is not `CALLS`.

        Args:
            request: The request.
            messages: Its messages, read as far as they are asked for.
        """
        if self._harness:
            return Speech(self._harness)
        return recognise("\n".join(self._instructions(request)), messages)

    def outlines(
        self, raw: Sequence[bytes], first: int, meter: Meter, protocol: str
    ) -> list[Outline]:
        """Sum up the messages from a turn's first one on.

        Args:
            raw: All raw messages.
            first: Where to begin: at an answer, or at 0.
            meter: Of the model that reads them.
            protocol: The text protocol.
        """
        found = []
        behind = Behind.NOTHING
        for i in range(first, len(raw)):
            told = self._outline(raw[i], meter, protocol, behind)
            found.append(told[0])
            behind = told[1]
        return found

    def _outline(self, raw: bytes, meter: Meter, protocol: str, behind: Behind) -> Told:
        key = (meter.name, protocol, behind, xxhash.xxh3_128_digest(raw, self._seed))
        known = self._told.get(key)
        if known is None:
            message, digest = self._dialect.parse(raw)
            # The wire has no result here that it could clear.
            read = replace(read_behind(protocol, message, behind), clearable=())
            known = outline(read, digest, meter, human=speaks_human(read)), standing(read)
            self._told.put(key, known)
        return known

    def _instructions(self, request: Request) -> Iterator[str]:
        for part in self._dialect.fixed(request):
            yield from _texts(load(part))


def read_spoken(
    message: Callable[[int], Message], outlines: Sequence[Outline], i: int, protocol: str
) -> Iterator[tuple[int, Message]]:
    """Read message `i` and those that its reading depends on; yield them with their numbers.

    Args:
        message: Reads a message as its dialect does.
        outlines: One a message.
        i: Which one.
        protocol: The text protocol.
    """
    start = i
    while start and outlines[start].role is not Role.ASSISTANT:
        start -= 1
    behind = Behind.NOTHING
    for j in range(start, i + 1):
        read = read_behind(protocol, message(j), behind)
        behind = standing(read)
        yield j, read


def _offers_tools(members: Mapping[str, bytes]) -> bool:
    raw = members.get("tools", b"null")
    return len(raw) > _LONG or raw.strip(b"[] \t\r\n") not in _EMPTY


def _texts(value: object) -> Iterator[str]:
    """Yield the texts of a system prompt, one string or blocks."""
    for block in value if isinstance(value, list) else [value]:
        text = block.get("text") if isinstance(block, dict) else block
        if isinstance(text, str):
            yield text
