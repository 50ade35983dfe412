"""Thinking that LiteLLM carries beside a chat message's text, where it has to go.

Claude's thinking is signed and belongs to the prefix that it was produced behind. On the chat wire
LiteLLM carries it in members of its own and writes it back into Anthropic's blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cuesta.exchange.planner import Plan

_MEMBERS = frozenset({"thinking_blocks", "reasoning_content"})


def bare(given: Sequence[Any], sent: Sequence[Any], plan: Plan | None) -> list[Any]:
    """Return what is sent without the thinking that the model would refuse.

    Args:
        given: The whole history.
        sent: What is sent in its place; messages that stay are the history's own objects.
        plan: The plan that says so.
    """
    if plan is None or not plan.cliffs or not plan.cliffs[-1].strip:
        return list(sent)
    bound = {id(message) for message in given[: plan.cliffs[-1].messages]}
    return [_bare(message) if id(message) in bound else message for message in sent]


def _bare(message: Any) -> Any:  # noqa: ANN401 - a message as LiteLLM takes it
    if not isinstance(message, Mapping) or _MEMBERS.isdisjoint(message):
        return message
    return {key: value for key, value in message.items() if key not in _MEMBERS}
