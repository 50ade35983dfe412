"""What the model says: a script, and the place in it that a request has reached.

The place is carried in the ids of the calls, so that a history made shorter by anybody never starts
the script again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from cuesta.testing.simulator.canon import Json, blocks_of, dump

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

SUMMARY_DEMAND = "Respond with TEXT ONLY"
"""Stands in the request by which Claude Code asks for a summary of its own history."""

_ID = re.compile(r"toolu_sim_([0-9a-f]+)_(\d+)_\d+")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that the model makes."""

    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of the model.

    Attributes:
        thinking: What it thinks first, where the request lets it, or None.
        text: What it says, or None.
        calls: The tools that it calls, all at once.
        stop_reason: Why it stops; by default `tool_use` with calls and `end_turn` without.
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
    """Return all text of the first user message, its blocks joined by newlines."""
    for message in body.get("messages", ()):
        if message.get("role") == "user":
            return "\n".join(_texts(message))
    return ""


def call_id(conversation: str, step: int, number: int) -> str:
    """Return the id of a step's call."""
    return f"toolu_sim_{conversation}_{step}_{number}"


@dataclass(frozen=True, slots=True)
class Place:
    """How far a conversation has come.

    Attributes:
        conversation: Its name.
        step: How many steps came before.
    """

    conversation: str
    step: int


class Places:
    """Finds the place that a request has reached.

    A step without calls leaves no id behind; it is known again by its text. A first request that
    failed leaves nothing behind; its retry is known by its prompt.
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

    def find(self, body: Json, prompt: bytes) -> Place:
        """Return the place of a request: behind the last step that its history still shows.

        Args:
            body: The request's body.
            prompt: The chain over its whole prompt.
        """
        behind = 0
        for block in _blocks_from_the_end(body):
            match = _ID.fullmatch(str(block.get("id") or block.get("tool_use_id") or ""))
            if match is not None:
                return Place(match[1], int(match[2]) + 1 + behind)
            behind += block.get("role") == "assistant" and block.get("text") in self._said
        for block in _blocks_from_the_end(body):
            known = self._said.get(str(block.get("text")))
            if known is not None and block.get("role") == "assistant":
                return Place(known.conversation, known.step + 1)
        if prompt in self._failed:
            return self._failed.pop(prompt)
        self._begun += 1
        return Place(f"{self._begun:08x}", 0)


def _blocks_from_the_end(body: Json) -> Iterator[Json]:
    for message in reversed(body["messages"]):
        for block in reversed(blocks_of(message.get("content"))):
            yield {**block, "role": message.get("role")}


def side_step(body: Json) -> Step | None:
    """Return the answer to a call beside the conversation, or None where the script is asked.

    Such calls have no tools, want JSON of a schema or a single token, or ask for a summary of the
    history.
    """
    wanted = _wanted_schema(body)
    if wanted is not None:
        return Step(text=dump(_sample(wanted)))
    if body.get("max_tokens") in {0, 1}:
        return Step(text="Ok")
    if not body.get("tools"):
        return Step(text="A short answer beside the conversation.")
    texts = [text for message in body["messages"][-1:] for text in _texts(message)]
    if any(SUMMARY_DEMAND in text for text in texts):
        return Step(text="<summary>The work goes on as the user asked.</summary>")
    return None


def _texts(message: Json) -> list[str]:
    return [
        str(block["text"])
        for block in blocks_of(message.get("content"))
        if block.get("type") == "text"
    ]


def _wanted_schema(body: Json) -> Json | None:
    config = body.get("output_config")
    wanted = config.get("format") if isinstance(config, dict) else None
    if not isinstance(wanted, dict):
        return None
    schema = wanted.get("schema")
    return schema if isinstance(schema, dict) else {}


def _sample(schema: Json) -> object:
    """Return the smallest value that fits a JSON schema's types."""
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "object")
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: _sample(properties[name]) for name in properties}
    samples: dict[str, object] = {"string": "Short", "array": [], "boolean": True, "null": None}
    return samples.get(kind, 1)
