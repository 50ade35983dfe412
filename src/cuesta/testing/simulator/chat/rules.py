"""The rules of Chat Completions over a whole request, each a function to a breach or None."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from cuesta.testing.simulator.chat.reading import ChatRequest
from cuesta.testing.simulator.openai import Breach

Rule: TypeAlias = Callable[[ChatRequest], Breach | None]


def text_is_unicode(request: ChatRequest) -> Breach | None:
    """No text holds half a surrogate pair."""
    for place, message in enumerate(request.entries):
        if message.surrogate:
            text = (
                "Failed to parse the request body as JSON: "
                f"messages[{place}].content: lone leading surrogate in hex escape"
            )
            return Breach("surrogate", text)
    return None


def messages_are_well_formed(request: ChatRequest) -> Breach | None:
    """Every message is of known shape by itself."""
    for place, message in enumerate(request.entries):
        if message.fault is not None:
            return message.fault.at(f"messages[{place}]")
    return None


def calls_are_answered(request: ChatRequest) -> Breach | None:
    """Each call is answered right after its message and before anything else, each once."""
    calls: tuple[str, ...] = ()
    answered: dict[str, int] = {}
    for place, message in enumerate(request.entries):
        if message.role == "tool":
            breach = _unexpected(place, message.answers, calls, answered)
            if breach is not None:
                return breach
            answered[message.answers] = place
            continue
        if len(answered) < len(calls):
            return _unanswered(place, calls, answered)
        calls, answered = message.calls, {}
    if len(answered) < len(calls):
        return _unanswered(len(request.entries), calls, answered)
    return None


def _unexpected(
    place: int, name: str, calls: tuple[str, ...], answered: dict[str, int]
) -> Breach | None:
    if not calls:
        text = (
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
            "message with 'tool_calls'."
        )
        return Breach("unexpected-result", text, f"messages.[{place}].role")
    if name not in calls:
        text = (
            f"Invalid parameter: 'tool_call_id' of '{name}' not found in 'tool_calls' of previous "
            "message."
        )
        return Breach("unknown-result", text, f"messages.[{place}].tool_call_id")
    if name in answered:
        text = (
            f"Invalid parameter: Duplicate value for 'tool_call_id' of '{name}', in "
            f"messages[{answered[name]}] and messages[{place}]."
        )
        return Breach("single-result", text, f"messages.[{place}].tool_call_id")
    return None


def _unanswered(place: int, calls: tuple[str, ...], answered: dict[str, int]) -> Breach:
    names = ", ".join(name for name in calls if name not in answered)
    text = (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. The following tool_call_ids did not have response messages: " + names
    )
    return Breach("pairing", text, f"messages.[{place}].role")


RULES: tuple[Rule, ...] = (text_is_unicode, messages_are_well_formed, calls_are_answered)
"""Every rule that needs no memory and no template, in the order in which they are tried."""


class Reasoning:
    """What was thought before which calls, as far as it was given out."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, ...], str] = {}

    def remember(self, calls: tuple[str, ...], reasoning: str) -> None:
        """Keep what one answer thought before its calls; empty where it thought nothing."""
        self._given[calls] = reasoning

    def breach(self, request: ChatRequest) -> Breach | None:
        """Return the breach of a turn with calls that lacks its reasoning, or None.

        An answer without reasoning needs none; a turn that nobody answered needs some.
        """
        for message in request.entries:
            if not message.calls:
                continue
            given = self._given.get(message.calls)
            wrong = message.reasoning != given if given is not None else not message.reasoning
            if wrong and given != "":
                text = (
                    "The `reasoning_content` in the thinking mode must be passed back to the API."
                )
                return Breach("reasoning", text, None, "invalid_request_error")
        return None
