"""Which text protocol a conversation is spoken in: decided once, by its beginning, or not at all.

A request without tools may come from a harness that writes its actions in plain text, and may as
well be a person's chat. A table decides, never a score: a row of `text_actions.PROTOCOLS` is spoken
where the head demands its format in the harness's own words, and each of the first three answers
is answered by the harness in its own templates. What a conversation's beginning said once, it says
for ever, so that the decision is the same whenever it is made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from cuesta.core.transcript import BlockKind, Message, Role
from cuesta.protocols.text_actions import PROTOCOLS, Behind, answers, read_behind, standing

EXCHANGES = 3
"""Answers that are looked at, each with what answered it."""
NONE = "none"
"""Says that no text protocol is spoken, whatever it looks like."""
HARNESSES = ("", *PROTOCOLS, NONE)
"""What a person may say outright; empty: decide."""


@dataclass(frozen=True, slots=True)
class Speech:
    """What is known of how a conversation is spoken.

    Attributes:
        protocol: A name in `PROTOCOLS`; empty: calls and results of the wire's own, or a chat.
        open: Whether that is still to be decided.
        rests_on: How many of the first messages were looked at.
    """

    protocol: str = ""
    open: bool = False
    rests_on: int = 0


UNSPOKEN = Speech()
"""Nothing but the wire's own calls."""


@dataclass(slots=True)
class _Exchange:
    """One answer (all messages of it) and what answered it."""

    said: list[Message] = field(default_factory=list)
    heard: list[Message] = field(default_factory=list)


def recognise(instructions: str, messages: Iterable[Message]) -> Speech:
    """Decide which text protocol is spoken, from the head and the first three exchanges.

    The third one counts once another answer stands behind it: the last message of a request may
    still grow. Messages are asked for only as far as they are needed.

    Args:
        instructions: The text of a system prompt that stands outside the messages.
        messages: All messages of a request that offers no tools, as their dialect reads them.
    """
    rest = iter(messages)
    head: list[Message] = []
    first = None
    for message in rest:
        if message.role is Role.ASSISTANT:
            first = message
            break
        head.append(message)
    said = "\n".join([instructions, *map(_text, head)])
    rows = [n for n, row in PROTOCOLS.items() if all(d.search(said) for d in row.demands)]
    if not rows:
        return Speech(rests_on=len(head))
    exchanges, count = _exchanges(first, rest)
    rows = [name for name in rows if all(_is_spoken(name, one) for one in exchanges[:EXCHANGES])]
    settled = len(exchanges) > EXCHANGES
    return Speech(
        rows[0] if rows and settled else "",
        open=bool(rows) and not settled,
        rests_on=len(head) + count,
    )


def _exchanges(first: Message | None, rest: Iterable[Message]) -> tuple[list[_Exchange], int]:
    """Collect the first exchanges and what begins behind them; count their messages."""
    if first is None:
        return [], 0
    found = [_Exchange([first])]
    count = 1
    for message in rest:
        count += 1
        if message.role is not Role.ASSISTANT:
            found[-1].heard.append(message)
        elif not found[-1].heard:
            found[-1].said.append(message)
        else:
            found.append(_Exchange([message]))
            if len(found) > EXCHANGES:
                break
    return found, count


def _is_spoken(protocol: str, exchange: _Exchange) -> bool:
    """Tell whether an exchange is what a harness's would be, as far as it goes.

    An answer without an action is one that the harness complains of.
    """
    if any(block.kind is BlockKind.CALL for message in exchange.said for block in message.blocks):
        return False
    if not exchange.heard:
        return True
    said = standing(read_behind(protocol, exchange.said[-1], Behind.NOTHING))
    return answers(PROTOCOLS[protocol], exchange.heard[0], said)


def _text(message: Message) -> str:
    texts: list[Sequence[str]] = [b.texts for b in message.blocks if b.kind is BlockKind.TEXT]
    return "".join(text for inner in texts for text in inner)
