"""What the model says: a script, and the place in it that a request has reached.

The place is carried in the ids of the calls, so that a history made shorter by anybody never starts
the script again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cuesta.testing.simulator.canon import Json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

SUMMARY_DEMAND = "Respond with TEXT ONLY"
"""Stands in the request by which Claude Code asks for a summary of its own history."""

_ID = re.compile(r"(?P<kind>toolu|call|rs|cmp)_sim_(?P<conversation>[0-9a-f]+)_(?P<step>\d+)_\d+")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that the model makes.

    Attributes:
        name: The tool.
        input: Its arguments. For a `custom_tool_call` the text under `input`.
        kind: The item that it becomes on the Responses wire, such as `custom_tool_call` or
            `local_shell_call`; other wires know functions, and Chat Completions custom tools.
    """

    name: str
    input: Mapping[str, Any]
    kind: str = "function_call"


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of the model.

    Attributes:
        thinking: What it thinks first, where the request lets it, or None.
        text: What it says, or None.
        calls: The tools that it calls, all at once.
        stop_reason: Why it stops, in Anthropic's words; by default `tool_use` with calls and
            `end_turn` without.
    """

    thinking: str | None = None
    text: str | None = None
    calls: tuple[ToolCall, ...] = ()
    stop_reason: str | None = None


class Script(Protocol):
    """Decides what the model says."""

    def next(self, conversation_request: Json, step_index: int) -> Step:
        """Return one step.

        Args:
            conversation_request: The body that asks for it.
            step_index: How many steps of the conversation came before.
        """
        ...


@dataclass(frozen=True, slots=True)
class ListScript:
    """Plays a list, then says the same last words for ever."""

    steps: Sequence[Step]
    last_words: str = "All done."

    def next(self, conversation_request: Json, step_index: int) -> Step:
        """Return the step at an index; see `Script`."""
        del conversation_request
        return (
            self.steps[step_index] if step_index < len(self.steps) else Step(text=self.last_words)
        )


@dataclass(frozen=True, slots=True)
class ChosenScript:
    """Plays a script of its own in each conversation, chosen by the first user text."""

    choose: Callable[[str], Script]

    def next(self, conversation_request: Json, step_index: int) -> Step:
        """Return the step of the chosen script; see `Script`."""
        script = self.choose(first_user_text(conversation_request))
        return script.next(conversation_request, step_index)


def first_user_text(body: Json) -> str:
    """Return all text of the first run of user messages, joined by newlines, on any wire.

    Harnesses put their own texts first, in messages or in parts of one.
    """
    given = body.get("input") or body.get("messages") or ()
    if isinstance(given, str):
        return given
    texts: list[str] = []
    for message in given:
        if message.get("role") == "user":
            texts += _texts(message.get("content"))
        elif texts:
            break
    return "\n".join(texts)


def _texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else []
    return [str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part]


@dataclass(frozen=True, slots=True)
class Place:
    """How far a conversation has come.

    Attributes:
        conversation: Its name.
        step: How many steps came before.
    """

    conversation: str
    step: int


def place_id(prefix: str, place: Place, number: int) -> str:
    """Return an id that carries a place.

    Args:
        prefix: `toolu` and `call` begin the ids of calls, `rs` those of reasoning, `cmp` those of
            compactions.
        place: The place.
        number: Tells apart what one place gives out.
    """
    return f"{prefix}_sim_{place.conversation}_{place.step}_{number}"


def place_behind(name: str) -> Place | None:
    """Return the place behind what has an id, or None where the id carries none.

    A call ends its step; behind reasoning alone, or a compaction, the step is still to come.
    """
    match = _ID.fullmatch(name)
    if match is None:
        return None
    done = match["kind"] in {"toolu", "call"}
    return Place(match["conversation"], int(match["step"]) + done)


class Trace(NamedTuple):
    """What one part of a history shows of the script: an id with a place, or what was said."""

    id: str = ""
    said: str = ""


class Places:
    """Finds the place that a request has reached.

    A step without calls leaves no id behind; it is known again by its text. A step of which only
    the reasoning arrived is not done. A first request that failed leaves nothing behind; its retry
    is known by its prompt.
    """

    def __init__(self) -> None:
        self._said: dict[str, Place] = {}
        self._failed: dict[bytes, Place] = {}
        self._begun = 0

    def said(self, place: Place, text: str) -> None:
        """Remember a step without calls."""
        self._said[text] = place

    def failed(self, place: Place, prompt: bytes) -> None:
        """Remember a prompt that got no whole answer."""
        self._failed[prompt] = place

    def find(self, trail: Iterable[Trace], prompt: bytes) -> Place:
        """Return the place of a request: behind the last step that its history still shows.

        Args:
            trail: What the history shows of the script, the newest first.
            prompt: The chain over its whole prompt.
        """
        behind = 0
        known: Place | None = None
        for trace in trail:
            place = place_behind(trace.id)
            if place is not None:
                return Place(place.conversation, place.step + behind)
            if trace.said in self._said:
                known = known or self._said[trace.said]
                behind += 1
        if known is not None:
            return Place(known.conversation, known.step + 1)
        if prompt in self._failed:
            return self._failed.pop(prompt)
        self._begun += 1
        return Place(f"{self._begun:08x}", 0)
