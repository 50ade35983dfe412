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
        reading = _Reading(_model(info))
        sent = messages[:-1] if _is_outcome(messages, info) else messages
        for message in sent:
            try:
                reading.message(message)
            except (KeyError, TypeError, ValueError, AttributeError):
                problems.note("not a message")
                reading.lost = True
        if reading.messages:
            yield _session(reading, str(value.get("instance_id") or ""))


def _session(reading: _Reading, name: str) -> Session:
    text = not (reading.tools or reading.responses)
    return Session(
        harness=MiniSweAgent.harness,
        name=name,
        wire="openai_responses" if reading.responses else "openai_chat",
        messages=tuple(reading.messages),
        calls=tuple(reading.calls),
        whole=text,
        protocol="mini-swe-agent-1" if text else "",
    )


@dataclass(slots=True)
class _Reading:
    """What was read so far.

    Attributes:
        model: The model's name where an answer does not tell.
        messages: The raw messages.
        calls: The model calls.
        tools: Whether tools were called.
        responses: Whether an answer is one of the Responses wire.
        lost: Whether what stands before the next call is not what was sent.
    """

    model: str
    messages: list[bytes] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    tools: bool = False
    responses: bool = False
    lost: bool = False

    def message(self, message: Json) -> None:
        """Take the next message."""
        extra = message.get("extra", {})
        items = _items(message)
        raw = [encode(item) for item in items]
        response = message if message.get("object") == "response" else extra.get("response")
        if message.get("role") == "assistant" or response is not None:
            self.calls.append(self._call(message, response))
            self.lost = False
        self.responses |= message.get("object") == "response"
        self.tools |= any(item.get("tool_calls") for item in items)
        self.messages += raw

    def _call(self, message: Json, response: object) -> Call:
        extra = message.get("extra") or {}
        response = response if isinstance(response, dict) else {}
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


def _items(message: Json) -> Sequence[Json]:
    """Return what a message is on the wire: nothing for the notice of how a run ended."""
    if message.get("role") == "exit":
        return ()
    if message.get("object") == "response":
        return [_sent(item) for item in message["output"]]
    if "type" in message and "role" not in message:
        return (_sent(message),)
    return (checked(_sent(message)),)


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
