"""mini-swe-agent's trajectories (`*.traj.json`), 1.x and 2.x.

1.x talks in plain text: one fenced command an answer, outputs as user messages; system prompt and
messages are the whole prompt. 2.x calls a tool, on the chat wire or on Responses, and has a text
mode too. Each answer carries the provider's whole response. Read from the sources of 1.17 and
2.4.6:
- 1.x ends with a user message that holds the submission; it was never sent. 2.x gives that message
  the role `exit`.
- 2.x leaves an answer that breaks the format out of the history, and keeps its bill in the message
  that says so.
- A command that a person types in becomes an answer without a response.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from cuesta.core.errors import RequestError
from cuesta.dialects.registry import DIALECTS
from cuesta.harnesses.saved.base import (
    Json,
    Problems,
    document,
    encode,
    first_values,
)
from cuesta.harnesses.saved.chat import billed, checked, hidden_thoughts
from cuesta.trace.session import Call, Session

_FORMAT = "mini-swe-agent-"
_OWN = frozenset({"extra", "timestamp"})
_INFO = frozenset({"exit_status", "submission", "model_stats", "mini_version", "config"})


class MiniSweAgent:
    """The format; it has no state."""

    harness = "mini-swe-agent"

    def recognises(self, beginning: bytes) -> bool:
        """See `SavedFormat.recognises`."""
        values = first_values(beginning)
        value = values[0] if len(values) == 1 and isinstance(values[0], dict) else {}
        if str(value.get("trajectory_format")).startswith(_FORMAT):
            return True
        info = value.get("info")
        if not isinstance(info, dict) or "trajectory" in value or "history" in value:
            return False
        return "mini_version" in info or (next(iter(value)) == "info" and bool(_INFO & info.keys()))

    def read(self, content: bytes, problems: Problems) -> Iterator[Session]:
        """See `SavedFormat.read`."""
        value = document(content, problems)
        messages = value.get("messages")
        if not isinstance(messages, list):
            problems.note("no messages")
            return
        info = value["info"] if isinstance(value.get("info"), dict) else {}
        wire = "openai_responses" if any(map(_is_item, messages)) else "openai_chat"
        reading = _Reading(wire, _model(info), answered=any(map(_response, messages)))
        sent = messages[:-1] if _is_outcome(messages, info) else messages
        for message in sent:
            try:
                reading.message(message)
            except (KeyError, TypeError, ValueError, AttributeError, RequestError):
                problems.note("not a message")
                reading.lost = True
        if reading.messages:
            yield _session(reading, str(value.get("instance_id") or ""))


def _session(reading: _Reading, name: str) -> Session:
    text = not reading.tools and reading.wire == "openai_chat"
    return Session(
        harness=MiniSweAgent.harness,
        name=name,
        wire=reading.wire,
        messages=tuple(reading.messages),
        calls=tuple(reading.calls),
        whole=text,
        protocol="mini-swe-agent-1" if text else "",
    )


@dataclass(slots=True)
class _Reading:
    """What was read so far.

    Attributes:
        wire: The wire of its messages.
        model: The model's name where an answer does not tell.
        answered: Whether any answer holds its response.
        messages: The raw messages.
        calls: The model calls.
        tools: Whether tools were called.
        lost: Whether what stands before the next call is not what was sent.
    """

    wire: str
    model: str
    answered: bool
    messages: list[bytes] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    tools: bool = False
    lost: bool = False

    def message(self, message: Json) -> None:
        """Take the next message."""
        items = _items(message)
        raw = [encode(item) for item in items]
        if self.wire != "openai_chat":
            for item in raw:
                DIALECTS[self.wire].parse(item)
        response = _response(message)
        typed = self.answered and "extra" not in message
        if response or (message.get("role") == "assistant" and not typed):
            self.calls.append(self._call(message, response or {}))
            self.lost = False
        self.tools |= any(item.get("tool_calls") for item in items)
        self.messages += raw

    def _call(self, message: Json, response: Json) -> Call:
        extra = message["extra"] if isinstance(message.get("extra"), dict) else {}
        counts = response.get("usage")
        sent_back = message.get("reasoning_content") or message.get("object") == "response"
        return Call(
            at=len(self.messages),
            model=str(response.get("model") or self.model),
            usage=billed(counts),
            thoughts=0 if sent_back else hidden_thoughts(counts),
            time=_seconds(extra.get("timestamp"), message.get("timestamp"), response),
            hole=self.lost,
        )


def _response(message: object) -> Json | None:
    """Return the provider's response that a message holds, or is."""
    if not isinstance(message, dict):
        return None
    if message.get("object") == "response":
        return message
    extra = message.get("extra")
    response = extra.get("response") if isinstance(extra, dict) else None
    return response if isinstance(response, dict) else None


def _is_item(message: object) -> bool:
    """Tell whether a message is of the Responses wire, or holds its items."""
    return isinstance(message, dict) and (
        message.get("object") == "response" or ("type" in message and "role" not in message)
    )


def _items(message: Json) -> Sequence[Json]:
    """Return what a message is on the wire: nothing for the notice of how a run ended."""
    if message.get("role") == "exit":
        return ()
    if message.get("object") == "response":
        return [_sent(item) for item in message["output"]]
    return (_sent(message) if _is_item(message) else checked(_sent(message)),)


def _sent(message: Json) -> Json:
    return {key: value for key, value in message.items() if key not in _OWN}


def _is_outcome(messages: Sequence[Any], info: Json) -> bool:
    """Tell whether the last message is the submission, in the place of an output."""
    last = messages[-1] if messages else None
    return (
        len(messages) > 2
        and isinstance(last, dict)
        and last.get("role") == "user"
        and bool(info.get("exit_status"))
        and last.get("content") == (info.get("submission") or "")
    )


def _model(info: Json) -> str:
    config = info.get("config")
    model = config.get("model") if isinstance(config, dict) else None
    return str(model.get("model_name") or "") if isinstance(model, dict) else ""


def _seconds(*places: object) -> float:
    """Return the first time that is one, in seconds."""
    for place in places:
        value = place.get("created") if isinstance(place, dict) else place
        if isinstance(value, int | float) and value > 0:
            return float(value)
    return 0.0
