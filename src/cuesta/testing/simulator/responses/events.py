"""The events that one item of an answer is streamed as.

Source: OpenAI, "Streaming events" of the Responses reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuesta.testing.simulator.wires import pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cuesta.testing.simulator.canon import Json

_INPUTS = {
    "function_call": ("arguments", "response.function_call_arguments"),
    "custom_tool_call": ("input", "response.custom_tool_call_input"),
}


def item_events(item: Json) -> Iterator[Json]:
    """Yield an item's events, from its being added to its being done."""
    yield {"type": "response.output_item.added", "item": _begun(item)}
    if item["type"] == "reasoning":
        yield from _reasoning_events(item)
    elif item["type"] == "message":
        yield from _message_events(item)
    elif item["type"] in _INPUTS:
        yield from _input_events(item)
    yield {"type": "response.output_item.done", "item": item}


def _begun(item: Json) -> Json:
    """Return an item before the first delta: what is streamed is empty yet."""
    streamed: dict[str, Json] = {
        "message": {"content": []},
        "reasoning": {"summary": []},
        **{kind: {member: ""} for kind, (member, _) in _INPUTS.items()},
    }
    status = {"status": "in_progress"} if "status" in item else {}
    return {**item, **status, **streamed.get(item["type"], {})}


def _reasoning_events(item: Json) -> Iterator[Json]:
    for index, part in enumerate(item["summary"]):
        here = {"item_id": item["id"], "summary_index": index}
        kind = "response.reasoning_summary"
        yield {"type": f"{kind}_part.added", **here, "part": {**part, "text": ""}}
        for piece in pieces(part["text"]):
            yield {"type": f"{kind}_text.delta", **here, "delta": piece}
        yield {"type": f"{kind}_text.done", **here, "text": part["text"]}
        yield {"type": f"{kind}_part.done", **here, "part": part}


def _message_events(item: Json) -> Iterator[Json]:
    for index, part in enumerate(item["content"]):
        here = {"item_id": item["id"], "content_index": index}
        yield {"type": "response.content_part.added", **here, "part": {**part, "text": ""}}
        for piece in pieces(part["text"]):
            yield {
                "type": "response.output_text.delta",
                **here,
                "delta": piece,
                "logprobs": [],
            }
        yield {
            "type": "response.output_text.done",
            **here,
            "text": part["text"],
            "logprobs": [],
        }
        yield {"type": "response.content_part.done", **here, "part": part}


def _input_events(item: Json) -> Iterator[Json]:
    member, kind = _INPUTS[item["type"]]
    for piece in pieces(item[member]):
        yield {"type": f"{kind}.delta", "item_id": item["id"], "delta": piece}
    yield {"type": f"{kind}.done", "item_id": item["id"], member: item[member]}
