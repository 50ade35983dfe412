"""Requests that are no turn of a conversation: titles, warm-ups, probes.

They pass untouched. Each row is a shape that no main loop has; a request without tools is not one
of them by itself, because some harnesses never send tools.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """What the recognisers may know of a request, whatever its wire.

    Attributes:
        messages: How many messages it holds.
        tools: How many tools it offers.
        max_tokens: The longest answer that it allows, or None.
        structured: Whether it demands an answer in a JSON schema.
        partial: Whether it holds only what is new since an answer that the provider keeps.
        compacts: Whether it asks the provider for a compaction.
    """

    messages: int
    tools: int
    max_tokens: int | None
    structured: bool
    partial: bool = False
    compacts: bool = False


def side_call(facts: RequestFacts) -> str:
    """Name the kind of side call, or return an empty string for a turn of a conversation."""
    if facts.max_tokens is not None and facts.max_tokens <= 1:
        return "warm-up or probe"
    if facts.partial:
        return "continues a response that the provider keeps"
    if facts.compacts:
        return "asks the provider for a compaction"
    if facts.structured and facts.tools == 0 and facts.messages <= 2:
        return "title or other structured side call"
    return ""
