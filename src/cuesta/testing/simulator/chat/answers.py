"""An answer of Chat Completions: its message, its JSON, and its stream of chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cuesta.testing.simulator.canon import Json, dump
from cuesta.testing.simulator.openai_wire import error_json
from cuesta.testing.simulator.script import Place, Step, ToolCall, place_id
from cuesta.testing.simulator.tokens import count_text
from cuesta.testing.simulator.wires import CREATED, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cuesta.core.usage import Usage
    from cuesta.testing.simulator.failures import Failure

_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
}


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """One whole answer of the model.

    Attributes:
        number: The number of the call, for its id.
        model: The model as the request named it.
        message: The assistant's message.
        finish_reason: Why it ended.
        usage: What it is billed as.
        reasoning_tokens: How much of the output was thought.
        tells_usage: Whether a stream ends with its bill.
    """

    number: int
    model: str
    message: Json
    finish_reason: str
    usage: Usage
    reasoning_tokens: int
    tells_usage: bool

    @property
    def content(self) -> list[Json]:
        """The message, alone in a list."""
        return [self.message]

    def whole(self) -> Json:
        """Return the answer as one JSON value."""
        choice = {
            "index": 0,
            "message": {"refusal": None, "annotations": [], **self.message},
            "logprobs": None,
            "finish_reason": self.finish_reason,
        }
        return {**self._opening("chat.completion"), "choices": [choice], "usage": self._usage()}

    def stream(self) -> Iterator[bytes]:
        """Yield the answer as the chunks of a stream."""
        yield self._chunk({"role": "assistant", "content": ""})
        for piece in pieces(self.message.get("reasoning_content") or ""):
            yield self._chunk({"reasoning_content": piece})
        for piece in pieces(self.message["content"] or ""):
            yield self._chunk({"content": piece})
        for index, call in enumerate(self.message.get("tool_calls", ())):
            kind = call["type"]
            member = "arguments" if kind == "function" else "input"
            blank = {**call[kind], member: ""}
            yield self._chunk({"tool_calls": [{"index": index, **call, kind: blank}]})
            for piece in pieces(call[kind][member]):
                yield self._chunk({"tool_calls": [{"index": index, kind: {member: piece}}]})
        yield self._chunk({}, self.finish_reason)
        if self.tells_usage:
            yield _event({**self._opening(), "choices": [], "usage": self._usage()})
        yield b"data: [DONE]\n\n"

    def broken(self, failure: Failure) -> bytes:
        """Return the event that ends a stream with an error."""
        return _event({"error": error_json(failure)})

    def _opening(self, kind: str = "chat.completion.chunk") -> Json:
        return {
            "id": f"chatcmpl-sim-{self.number:08d}",
            "object": kind,
            "created": CREATED + self.number,
            "model": self.model,
            "service_tier": "default",
            "system_fingerprint": None,
        }

    def _chunk(self, delta: Json, finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        usage = {"usage": None} if self.tells_usage else {}
        return _event({**self._opening(), "choices": [choice], **usage})

    def _usage(self) -> Json:
        usage = self.usage
        return {
            "prompt_tokens": usage.prompt,
            "completion_tokens": usage.output,
            "total_tokens": usage.prompt + usage.output,
            "prompt_tokens_details": {"cached_tokens": usage.cache_read, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": self.reasoning_tokens,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        }


def finish_reason(step: Step) -> str:
    """Return why a step's answer ends, in the words of this wire."""
    reason = step.stop_reason or ("tool_use" if step.calls else "end_turn")
    return _REASONS.get(reason, reason)


def message_of(step: Step, place: Place, *, reasons: bool) -> Json:
    """Return a step as the assistant's message.

    Args:
        step: What the model says.
        place: Where in its script, for the ids of calls.
        reasons: Whether it says what it thinks.
    """
    message: Json = {"role": "assistant", "content": step.text}
    if reasons and step.thinking:
        message["reasoning_content"] = step.thinking
    if step.calls:
        message["tool_calls"] = [
            _call(call, place_id("call", place, number)) for number, call in enumerate(step.calls)
        ]
    return message


def _call(call: ToolCall, name: str) -> Json:
    if call.kind == "custom_tool_call":
        inner = {"name": call.name, "input": custom_input(call)}
        return {"id": name, "type": "custom", "custom": inner}
    inner = {"name": call.name, "arguments": dump(dict(call.input))}
    return {"id": name, "type": "function", "function": inner}


def custom_input(call: ToolCall) -> str:
    """Return the text that a custom tool is called with."""
    text = call.input.get("input")
    return text if isinstance(text, str) else dump(dict(call.input))


def output_tokens(message: Json) -> int:
    """Return what a message is billed as, without its reasoning."""
    tokens = count_text(message["content"] or "")
    for call in message.get("tool_calls", ()):
        inner = call[call["type"]]
        tokens += 12 + count_text(inner["name"])
        tokens += count_text(inner.get("arguments", inner.get("input")))
    return max(1, tokens)


def _event(chunk: Json) -> bytes:
    return f"data: {dump(chunk)}\n\n".encode()
