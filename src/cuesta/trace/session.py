"""A saved agent session in one form, whatever program saved it.

Messages are raw, in a wire that a dialect reads, so that everything that works on live requests
works on saved ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cuesta.core.usage import Usage


@dataclass(frozen=True, slots=True)
class Call:
    """One model call of a session.

    Attributes:
        at: How many of the session's messages made its prompt; its answer stands behind them.
        model: The model's name.
        usage: What was billed, or None where the file does not tell.
        thoughts: The part of its billed output that is thinking which the file does not hold.
        time: Seconds since the Unix epoch when it was answered, 0 where the file does not tell.
        hole: Whether the messages before it are not what was sent (lines lost, history edited), so
            that its bill cannot be compared with them.
    """

    at: int
    model: str
    usage: Usage | None = None
    thoughts: int = 0
    time: float = 0.0
    hole: bool = False


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation of one agent, uncompacted, as far as a file tells.

    Attributes:
        harness: The agent program that saved it.
        name: What tells it from the other sessions of its file.
        wire: The dialect that its messages are written in.
        messages: The raw messages in order. What a harness's own compaction put in place of the
            history is not among them: the history goes on.
        calls: Its model calls in order. Of messages that another session of the same file holds
            too (branches of a tree) only one of the sessions has the calls.
        members: Other members of a request as far as they are known, raw: `system`, `tools`.
        whole: Whether messages and members are the whole prompt: nothing is hidden.
        protocol: The text protocol in which it calls tools, or empty: the wire's own calls.
        compactions: The numbers of the calls before which the harness compacted its history.
        parent: The name of the session that started it as a sub-agent, or empty.
        shared: How many of its first messages an earlier session of the same file holds too, with
            their calls.
    """

    harness: str
    name: str
    wire: str
    messages: tuple[bytes, ...]
    calls: tuple[Call, ...]
    members: Mapping[str, bytes] = field(default_factory=dict)
    whole: bool = False
    protocol: str = ""
    compactions: tuple[int, ...] = ()
    parent: str = ""
    shared: int = 0
