"""An answer of Anthropic Messages: its content blocks, its JSON, and its stream of events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cuesta.core.models import checks_prefixes
from cuesta.testing.simulator.canon import Json, dump
from cuesta.testing.simulator.script import Place, Step, place_id
from cuesta.testing.simulator.thinking import adaptive_only, thinking_mode
from cuesta.testing.simulator.tokens import count_block
from cuesta.testing.simulator.wires import pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cuesta.core.usage import Usage
    from cuesta.testing.simulator.failures import Failure
    from cuesta.testing.simulator.reading import Request
    from cuesta.testing.simulator.signatures import Signatures


@dataclass(frozen=True, slots=True)
class Answer:
    """One whole answer of the model.

    Attributes:
        id: Its id.
        model: The model as the request named it.
        content: Its blocks.
        stop_reason: Why it ended.
        usage: What it is billed as.
        transformations: Thinking of the request that was dropped or let through.
    """

    id: str
    model: str
    content: list[Json]
    stop_reason: str
    usage: Usage
    transformations: list[dict[str, str]]

    def whole(self) -> Json:
        """Return the answer as one JSON value."""
        return {
            **self._opening(),
            "content": self.content,
            "stop_reason": self.stop_reason,
            "usage": usage_json(self.usage),
        }

    def stream(self) -> Iterator[bytes]:
        """Yield the answer as the events of a stream."""
        return map(_event_bytes, self._events())

    def broken(self, failure: Failure) -> bytes:
        """Return the event that ends a stream with an error."""
        error = {"type": failure.type, "message": failure.message}
        return _event_bytes({"type": "error", "error": error})

    def _events(self) -> Iterator[Json]:
        opening = {**self._opening(), "usage": {**usage_json(self.usage), "output_tokens": 1}}
        yield {"type": "message_start", "message": opening}
        yield {"type": "ping"}
        for index, block in enumerate(self.content):
            yield from _block_events(index, block)
        yield {
            "type": "message_delta",
            "delta": {"stop_reason": self.stop_reason, "stop_sequence": None},
            "usage": usage_json(self.usage),
        }
        yield {"type": "message_stop"}

    def _opening(self) -> Json:
        changes = {"input_transformations": self.transformations} if self.transformations else {}
        return {
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            **changes,
        }


def _event_bytes(event: Json) -> bytes:
    return f"event: {event['type']}\ndata: {dump(event)}\n\n".encode()


def usage_json(usage: Usage) -> Json:
    """Return a bill as the provider words it."""
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write_5m,
            "ephemeral_1h_input_tokens": usage.cache_write_1h,
        },
        "output_tokens": usage.output,
        "service_tier": "standard",
    }


def stop_reason(step: Step) -> str:
    """Return why a step's answer ends."""
    return step.stop_reason or ("tool_use" if step.calls else "end_turn")


def output_tokens(content: list[Json]) -> int:
    """Return what an answer is billed as, hidden thinking included."""
    return max(1, sum(count_block(block) for block in content))


def content_of(
    step: Step, place: Place, request: Request, signatures: Signatures, *, redact: bool
) -> list[Json]:
    """Return a step as content blocks.

    Args:
        step: What the model says.
        place: Where in its script, for the ids of calls.
        request: What it answers, for the prefix that its thinking is bound to.
        signatures: Mints the thinking's signature.
        redact: Whether thinking is given out sealed as a whole.
    """
    content: list[Json] = []
    if step.thinking and thinking_mode(request) != "disabled":
        signature = signatures.mint(request.prefix, step.thinking)
        if redact:
            content.append({"type": "redacted_thinking", "data": signature})
        else:
            shown = "" if _hides_thinking(request) else step.thinking
            content.append({"type": "thinking", "thinking": shown, "signature": signature})
    if step.text:
        content.append({"type": "text", "text": step.text})
    for number, call in enumerate(step.calls):
        name = place_id("toolu", place, number)
        block = {"type": "tool_use", "id": name, "name": call.name, "input": dict(call.input)}
        content.append(block)
    return content


def _hides_thinking(request: Request) -> bool:
    """Tell whether thinking is given out with an empty text.

    Source: AAswordman/Operit#568: Opus from 4.7 omits it unless the request asks for a summary.
    """
    given = request.body.get("thinking")
    display = given.get("display") if isinstance(given, dict) else None
    if display is None:
        return adaptive_only(request.model) or checks_prefixes(request.model)
    return bool(display == "omitted")


def _block_events(index: int, block: Json) -> Iterator[Json]:
    yield {"type": "content_block_start", "index": index, "content_block": _empty(block)}
    for delta in _deltas(block):
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _empty(block: Json) -> Json:
    blank = {"thinking": "", "signature": "", "text": "", "input": {}}
    return {key: blank.get(key, value) for key, value in block.items()}


def _deltas(block: Json) -> Iterator[Json]:
    kind = block["type"]
    if kind == "thinking":
        for piece in pieces(block["thinking"]):
            yield {"type": "thinking_delta", "thinking": piece}
        yield {"type": "signature_delta", "signature": block["signature"]}
    elif kind == "text":
        for piece in pieces(block["text"]):
            yield {"type": "text_delta", "text": piece}
    elif kind == "tool_use":
        yield {"type": "input_json_delta", "partial_json": ""}
        for piece in pieces(dump(block["input"])):
            yield {"type": "input_json_delta", "partial_json": piece}
