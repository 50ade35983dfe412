"""Requests by which a harness asks the model to summarise its own history.

They carry the whole history, and what they ask for is lost if parts of it are. Two shapes: a text
that a harness is known to end such a request with, and a history full of calls in a request that
offers no tool any more. Sources: Claude Code's and Codex's requests as observed; Harbor 0.26's
Terminus-2.
"""

from __future__ import annotations

from cuesta.core.transcript import BlockKind, Message, Role
from cuesta.protocols.sidecalls import RequestFacts

_DEMANDS = (
    "CRITICAL: Respond with TEXT ONLY",
    "Your task is to create a detailed summary of the conversation",
    "You are performing a CONTEXT CHECKPOINT COMPACTION",
    "You are about to hand off your work to another AI agent.",
)


def asks_for_summary(facts: RequestFacts, last: Message, *, calls: bool) -> bool:
    """Tell whether a request asks for a summary of its history.

    Args:
        facts: What is known of the request.
        last: Its last message.
        calls: Whether its history holds calls.
    """
    if last.role is not Role.USER:
        return False
    if calls and facts.tools == 0 and facts.messages > 2:
        return True
    texts = (t for b in last.blocks if b.kind is BlockKind.TEXT for t in b.texts)
    return any(demand in text for text in texts for demand in _DEMANDS)
