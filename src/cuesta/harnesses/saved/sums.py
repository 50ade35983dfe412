"""What a saved session adds up to: calls, turns, what people said, tool calls, tokens billed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cuesta.core.transcript import BlockKind, Message, Outline, read_transcript
from cuesta.core.usage import Usage
from cuesta.dialects.registry import DIALECTS
from cuesta.protocols.lexicon import speaks_human
from cuesta.protocols.text_actions import read_as
from cuesta.trace.session import Session


@dataclass(frozen=True, slots=True)
class Sums:
    """What one or more sessions add up to. A history that several of them share counts once.

    Attributes:
        calls: Model calls.
        turns: Turns, as `core.transcript` divides them.
        human: Messages in which a person speaks.
        tools: Tool calls.
        billed: What was billed, as far as it is told.
    """

    calls: int = 0
    turns: int = 0
    human: int = 0
    tools: int = 0
    billed: Usage = field(default_factory=Usage)

    def __add__(self, other: Sums) -> Sums:
        """Return the sums of both."""
        return Sums(
            self.calls + other.calls,
            self.turns + other.turns,
            self.human + other.human,
            self.tools + other.tools,
            self.billed + other.billed,
        )


def sums(session: Session) -> Sums:
    """Sum a session up, without the history that an earlier session of its file has too."""
    read = read_messages(session)
    new = read[session.shared :]
    billed = [call.usage for call in session.calls if call.usage is not None]
    return Sums(
        calls=len(session.calls),
        turns=_turns(read) - _turns(read[: session.shared]),
        human=sum(map(speaks_human, new)),
        tools=sum(block.kind is BlockKind.CALL for message in new for block in message.blocks),
        billed=sum(billed, Usage()),
    )


def read_messages(session: Session) -> list[Message]:
    """Read a session's messages as its harness means them."""
    parse = DIALECTS[session.wire].parse
    read: list[Message] = []
    for raw in session.messages:
        before = read[-1] if read else None
        read.append(read_as(session.protocol, parse(raw)[0], before))
    return read


def _turns(messages: Sequence[Message]) -> int:
    outlines = [Outline(b"", message.role, 0) for message in messages]
    return len(read_transcript(outlines).turns)
