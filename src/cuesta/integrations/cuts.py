"""What stays of a history, for scaffolds whose messages have another form than the wire's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cuesta.core.digest import OPENING
from cuesta.exchange.planner import Plan


@dataclass(frozen=True, slots=True)
class Cut:
    """What stays of a history.

    Attributes:
        kept: Which messages stay, by their places in the history.
        anchor: The user message that the digest stands in, behind its own text.
        digest: The digest; empty where there is none.
        cleared: What stands in place of a tool's results, by the places of their messages.
        bare: Messages before this one go without their thinking, which the model would refuse.
    """

    kept: tuple[int, ...]
    anchor: int
    digest: str
    cleared: Mapping[int, str]
    bare: int


def chat_cut(given: Sequence[Any], sent: Sequence[Any], plan: Plan) -> Cut:
    """Compare what was given with what is sent; on Chat Completions no message comes in between."""
    places = {id(message): i for i, message in enumerate(given)}
    results = {m["tool_call_id"]: i for i, m in enumerate(given) if m.get("role") == "tool"}
    kept: list[int] = []
    cleared: dict[int, str] = {}
    anchor, digest = -1, ""
    for message in sent:
        place = places.get(id(message))
        if place is None and message["role"] == "tool":
            place = results[message["tool_call_id"]]
            cleared[place] = message["content"]
        elif place is None:
            place = anchor = len(kept)
            digest = _digest(message["content"])
        kept.append(place)
    cliff = plan.cliffs[-1]
    return Cut(tuple(kept), anchor, digest, cleared, cliff.messages if cliff.strip else 0)


def _digest(content: Any) -> str:  # noqa: ANN401 - a string or parts
    """Return the digest that ends a message's content."""
    text: str = content if isinstance(content, str) else content[-1]["text"]
    return text[text.rindex(OPENING) :]
