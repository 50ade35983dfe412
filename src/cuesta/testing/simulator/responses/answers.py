"""An answer of Responses: its items, its JSON, and its stream of events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cuesta.testing.simulator.canon import Json, dump
from cuesta.testing.simulator.chat.answers import custom_input
from cuesta.testing.simulator.openai_wire import error_json
from cuesta.testing.simulator.responses.events import item_events
from cuesta.testing.simulator.script import Place, Step, ToolCall, place_id
from cuesta.testing.simulator.wires import CREATED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cuesta.core.usage import Usage
    from cuesta.testing.simulator.failures import Failure
    from cuesta.testing.simulator.responses.memory import Memory

_INCOMPLETE = {"max_tokens": "max_output_tokens", "refusal": "content_filter"}
_ECHOED = (
    "instructions",
    "max_output_tokens",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt_cache_key",
    "reasoning",
    "store",
    "text",
    "tool_choice",
    "tools",
)
_DEFAULTS: Json = {
    "instructions": None,
    "max_output_tokens": None,
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "store": True,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
}


@dataclass(frozen=True, slots=True)
class ResponsesAnswer:
    """One whole answer of the model.

    Attributes:
        number: The number of the call, for its id.
        body: What it answers.
        content: Its items.
        stop_reason: Why it ends, in Anthropic's words, or None.
        usage: What it is billed as.
        reasoning_tokens: How much of the output was thought.
        kind: `response`, or `response.compaction` from the endpoint that only compacts.
    """

    number: int
    body: Json
    content: list[Json]
    stop_reason: str | None
    usage: Usage
    reasoning_tokens: int
    kind: str = "response"

    def whole(self) -> Json:
        """Return the answer as one JSON value."""
        if self.kind != "response":
            return {
                "id": response_id(self.number),
                "object": self.kind,
                "created_at": CREATED + self.number,
                "output": self.content,
                "usage": self._usage(),
            }
        why = _INCOMPLETE.get(self.stop_reason or "")
        return {
            **self._opening("incomplete" if why else "completed"),
            "incomplete_details": {"reason": why} if why else None,
            "output": self.content,
            "usage": self._usage(),
        }

    def stream(self) -> Iterator[bytes]:
        """Yield the answer as the events of a stream, numbered from 0."""
        for number, event in enumerate(self._events()):
            yield _event({**event, "sequence_number": number})

    def broken(self, failure: Failure) -> bytes:
        """Return the event that ends a stream with an error."""
        error = error_json(failure)
        response = {
            **self._opening("failed"),
            "error": {"code": error["code"], "message": error["message"]},
        }
        return _event({"type": "response.failed", "response": response})

    def _events(self) -> Iterator[Json]:
        yield {"type": "response.created", "response": self._opening("in_progress")}
        yield {"type": "response.in_progress", "response": self._opening("in_progress")}
        for index, item in enumerate(self.content):
            for event in item_events(item):
                yield {**event, "output_index": index}
        whole = self.whole()
        yield {"type": f"response.{whole['status']}", "response": whole}

    def _opening(self, status: str) -> Json:
        return {
            "id": response_id(self.number),
            "object": "response",
            "created_at": CREATED + self.number,
            "status": status,
            "background": False,
            "error": None,
            "incomplete_details": None,
            "model": self.body["model"],
            "output": [],
            "usage": None,
            "metadata": {},
            "truncation": "disabled",
            **_DEFAULTS,
            **{key: self.body[key] for key in _ECHOED if key in self.body},
        }

    def _usage(self) -> Json:
        usage = self.usage
        return {
            "input_tokens": usage.prompt,
            "input_tokens_details": {"cached_tokens": usage.cache_read},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": self.reasoning_tokens},
            "total_tokens": usage.prompt + usage.output,
        }


def response_id(number: int) -> str:
    """Return the id of the answer to the call of a number."""
    return f"resp_sim_{number:08d}"


def items_for(step: Step, place: Place, number: int, memory: Memory, body: Json) -> list[Json]:
    """Return a step as items.

    Args:
        step: What the model says.
        place: Where in its script, for the ids of calls.
        number: The number of the call, for the ids of items.
        memory: Mints the seal of its reasoning.
        body: What it answers: whether to reason, and what to show of it.
    """
    items: list[Json] = []
    if step.thinking and reasons(body):
        items.append(_reasoning(step.thinking, place_id("rs", place, number), memory, body))
    if step.text:
        part = {"type": "output_text", "text": step.text, "annotations": [], "logprobs": []}
        items.append(
            {
                "id": f"msg_sim_{number:08d}",
                "type": "message",
                "status": "completed",
                "role": "assistant",
                "content": [part],
            }
        )
    for count, call in enumerate(step.calls):
        items.append(_call(call, place_id("call", place, count), f"sim_{number:08d}_{count}"))
    return items


def reasons(body: Json) -> bool:
    """Tell whether a request lets the model reason."""
    given = body.get("reasoning")
    return not isinstance(given, dict) or given.get("effort") != "none"


def _reasoning(thinking: str, name: str, memory: Memory, body: Json) -> Json:
    given = body.get("reasoning")
    shown = isinstance(given, dict) and given.get("summary") is not None
    item: Json = {
        "id": name,
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": thinking}] if shown else [],
    }
    if "reasoning.encrypted_content" in (body.get("include") or ()):
        item["encrypted_content"] = memory.mint(thinking)
    return item


_CALLS: dict[str, tuple[str, Callable[[ToolCall], Json]]] = {
    "function_call": ("fc", lambda call: {"name": call.name, "arguments": dump(dict(call.input))}),
    "custom_tool_call": ("ctc", lambda call: {"name": call.name, "input": custom_input(call)}),
    "local_shell_call": (
        "lsh",
        lambda call: {"action": {"type": "exec", "env": {}, **call.input}},
    ),
    "shell_call": ("sh", lambda call: {"action": dict(call.input)}),
    "apply_patch_call": ("apc", lambda call: {"operation": dict(call.input)}),
    "computer_call": (
        "cu",
        lambda call: {"action": dict(call.input), "pending_safety_checks": []},
    ),
    "tool_search_call": (
        "tsc",
        lambda call: {"execution": "client", "arguments": dict(call.input)},
    ),
}
"""For each kind of call the prefix of its id, and the members that hold its input."""


def _call(call: ToolCall, name: str, serial: str) -> Json:
    if call.kind not in _CALLS:
        known = ", ".join(_CALLS)
        raise ValueError(f"a step cannot make a call of kind {call.kind!r}; known are {known}")
    prefix, members = _CALLS[call.kind]
    return {
        "id": f"{prefix}_{serial}",
        "type": call.kind,
        "status": "completed",
        "call_id": name,
        **members(call),
    }


def _event(event: Json) -> bytes:
    return f"event: {event['type']}\ndata: {dump(event)}\n\n".encode()
