"""A request, read once: the facts that rules, cache and signatures need.

A conversation resends its history with every request. What one message tells does not depend on
where it stands, so it is read once and remembered by the hash of its text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from cuesta.core.models import Model, read_model
from cuesta.testing.simulator.canon import Json, Prefix, dump, fingerprint, link
from cuesta.testing.simulator.facts import Head, Message, read_head, read_message
from cuesta.testing.simulator.judging import Headers
from cuesta.testing.simulator.tokens import MESSAGE_OVERHEAD

Turn: TypeAlias = tuple[str, list[int]]

_MEMORY = 200_000


@dataclass(frozen=True, slots=True)
class Request:
    """A request body, read.

    Attributes:
        body: The body as it came.
        model: The model that it names.
        betas: The values of its `anthropic-beta` headers.
        head: Tools and system.
        messages: One for each entry of `messages`.
        starts: The chain before each message's first block.
        states: The chain behind each block, message by message.
        prefix: Everything in the request: what the model's answer stands behind.
        turns: Neighbouring messages of one role as one: the role, and their places. Messages that
            only set options are transparent.
    """

    body: Json
    model: Model
    betas: frozenset[str]
    head: Head
    messages: tuple[Message, ...]
    starts: tuple[bytes, ...]
    states: tuple[tuple[bytes, ...], ...]
    prefix: Prefix
    turns: tuple[Turn, ...]

    def before(self, message: int, block: int) -> bytes:
        """Return the chain before one block."""
        return self.states[message][block - 1] if block else self.starts[message]

    @property
    def readable(self) -> bool:
        """Whether every message is of known shape."""
        return all(message.fault is None for message in self.messages)

    @property
    def end(self) -> bytes:
        """The chain behind everything."""
        return self.prefix.state

    def reached(self) -> set[bytes]:
        """Return every state of the chain that a shorter prompt of the same beginning ends in."""
        return {
            *self.head.states[-1:],
            *self.starts,
            *(state for own in self.states for state in own),
        }

    def sizes(self) -> list[int]:
        """Return the size of each message as JSON."""
        return [message.size for message in self.messages]

    def message_states(self) -> list[bytes]:
        """Return the chain behind each message."""
        pairs = zip(self.states, self.starts, strict=True)
        return [own[-1] if own else start for own, start in pairs]

    def prompt_tokens(self) -> int:
        """Return the tokens of the whole prompt, as the simulator counts them."""
        return sum(self.head.tokens) + sum(sum(m.tokens) + MESSAGE_OVERHEAD for m in self.messages)


class Reader:
    """Reads bodies, remembering what each message tells and how each continues a chain.

    Args:
        extra_blocks: Block types accepted beyond those known today.
    """

    def __init__(self, extra_blocks: frozenset[str]) -> None:
        self._extra = extra_blocks
        self._messages: dict[bytes, Message] = {}
        self._heads: dict[bytes, Head] = {}
        self._strides: dict[tuple[Prefix, bytes], _Stride] = {}

    def read(self, body: Json, headers: Headers = ()) -> Request:
        """Read a body whose `messages` is a list; everything else may be wrong in it."""
        if len(self._strides) > _MEMORY:
            self._messages.clear()
            self._heads.clear()
            self._strides.clear()
        head = self._head(body)
        prefix = Prefix(head.states[-1] if head.states else b"")
        messages: list[Message] = []
        strides: list[_Stride] = []
        for entry in body["messages"]:
            key = fingerprint(entry)
            message = self._messages.get(key)
            if message is None:
                message = self._messages[key] = read_message(entry, dump(entry), self._extra)
            stride = self._strides.get((prefix, key))
            if stride is None:
                stride = self._strides[prefix, key] = _walk(prefix, message)
            messages.append(message)
            strides.append(stride)
            prefix = stride.end
        return Request(
            body=body,
            model=read_model(str(body.get("model", ""))),
            betas=betas_of(headers),
            head=head,
            messages=tuple(messages),
            starts=tuple(stride.start for stride in strides),
            states=tuple(stride.states for stride in strides),
            prefix=prefix,
            turns=_turns(messages),
        )

    def _head(self, body: Json) -> Head:
        key = fingerprint([body.get("tools"), body.get("system")])
        if key not in self._heads:
            self._heads[key] = read_head(body)
        return self._heads[key]


def betas_of(headers: Headers) -> frozenset[str]:
    """Return the values of a request's `anthropic-beta` headers."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    values = [value for name, value in pairs if name.lower() == "anthropic-beta"]
    return frozenset(beta.strip() for value in values for beta in value.split(","))


class _Stride(NamedTuple):
    """One message's part of a chain: before its first block, behind each block, behind it all."""

    start: bytes
    states: tuple[bytes, ...]
    end: Prefix


def _walk(prefix: Prefix, message: Message) -> _Stride:
    state, role = prefix
    if message.options:
        state, role = link(state, message.role, message.options), message.role
    start = state
    states: list[bytes] = []
    for part in message.digests:
        state = link(state, "" if role == message.role else message.role, part)
        role = message.role
        states.append(state)
    return _Stride(start, tuple(states), Prefix(state, role))


def _turns(messages: list[Message]) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    role: str | None = None
    for place, message in enumerate(messages):
        if message.directive:
            continue
        if message.role == role:
            turns[-1][1].append(place)
        else:
            role = message.role
            turns.append((role, [place]))
    return tuple(turns)
