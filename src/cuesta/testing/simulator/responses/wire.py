"""Responses as the server speaks it, and the endpoint beside it that only compacts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from cuesta.testing.simulator.canon import Json, dump
from cuesta.testing.simulator.openai_wire import OpenAiWire
from cuesta.testing.simulator.responses.answers import (
    ResponsesAnswer,
    items_for,
    reasons,
    response_id,
)
from cuesta.testing.simulator.responses.reading import see, text_of
from cuesta.testing.simulator.responses.sources import SOURCES
from cuesta.testing.simulator.script import Step, Trace, place_behind, place_id
from cuesta.testing.simulator.tokens import count_text
from cuesta.testing.simulator.wires import Order, sample

if TYPE_CHECKING:
    from cuesta.testing.simulator.autocache import AutoCache
    from cuesta.testing.simulator.responses.judge import ResponsesJudge
    from cuesta.testing.simulator.responses.reading import ResponsesRequest

_SUMMARY = "What was done so far, for nobody else to read. " * 20


class ResponsesWire(OpenAiWire):
    """Speaks Responses.

    Args:
        judge: Judges its requests.
        cache: Bills its answers.
        toolless_beside: Whether a request without tools is taken for one beside the conversation.
    """

    name = "openai_responses"
    sources: Mapping[str, str] = SOURCES

    def __init__(self, judge: ResponsesJudge, cache: AutoCache, *, toolless_beside: bool) -> None:
        self.judge: ResponsesJudge = judge
        self._cache = cache
        self._toolless_beside = toolless_beside

    def side(self, request: ResponsesRequest) -> Step | None:
        """Return the answer to a call beside the conversation, or None where the script is asked.

        Such calls have no tools, want JSON of a schema, or end with a compaction's trigger.
        """
        body = request.body
        text = body.get("text")
        wanted = text.get("format") if isinstance(text, dict) else None
        if isinstance(wanted, dict) and wanted.get("type") == "json_schema":
            return Step(text=dump(sample(wanted.get("schema") or {})))
        if _triggers(request):
            return Step()
        offered = body.get("tools") or any(i.kind == "additional_tools" for i in request.entries)
        if self._toolless_beside and not offered:
            return Step(text="A short answer beside the conversation.")
        return None

    def trail(self, request: ResponsesRequest) -> Iterator[Trace]:
        """Yield what a request's history shows of the script, the newest first."""
        for item, given in zip(reversed(request.entries), reversed(request.given), strict=True):
            if item.call or item.answers:
                yield Trace(id=item.call or item.answers)
            elif item.kind in {"reasoning", "compaction"}:
                yield Trace(id=item.id)
            elif item.kind == "message" and item.made:
                yield Trace(said=text_of(given))

    def answer(self, order: Order) -> ResponsesAnswer:
        """Make an answer, bill it, and let the judge remember it.

        Of one that breaks the client has single items at most, which then belong to nothing.
        """
        request: ResponsesRequest = order.request
        items = self._items(order)
        if order.broken:
            for item in items:
                self.judge.keep(request, [item])
        else:
            self.judge.keep(request, items, response_id(order.number))
        thinking = order.step.thinking if reasons(request.body) else None
        thought = count_text(thinking or "")
        said = sum(see(item).tokens for item in items if item["type"] != "reasoning")
        return ResponsesAnswer(
            number=order.number,
            body=request.body,
            content=items,
            stop_reason=order.step.stop_reason,
            usage=replace(self._cache.charge(request), output=max(1, thought + said)),
            reasoning_tokens=thought,
            kind=self._kind,
        )

    def counted(self, tokens: int) -> Json:
        """Return the answer to a request that only counts tokens."""
        return {"object": "response.input_tokens", "input_tokens": tokens}

    _kind = "response"

    def _items(self, order: Order) -> list[Json]:
        if _triggers(order.request):
            return self._compacted(order)
        return items_for(
            order.step, order.place, order.number, self.judge.memory, order.request.body
        )

    def _compacted(self, order: Order) -> list[Json]:
        """Return one compaction, which carries the place that its history had reached."""
        places = (place_behind(trace.id) for trace in self.trail(order.request))
        place = next((place for place in places if place is not None), order.place)
        item = {
            "id": place_id("cmp", place, order.number),
            "type": "compaction",
            "encrypted_content": self.judge.memory.mint(_SUMMARY),
        }
        return [item]


class CompactWire(ResponsesWire):
    """Answers every request with one compaction item."""

    _kind = "response.compaction"

    def side(self, request: ResponsesRequest) -> Step | None:
        """Return an empty step: the script is never asked."""
        del request
        return Step()

    def _items(self, order: Order) -> list[Json]:
        return self._compacted(order)


def _triggers(request: ResponsesRequest) -> bool:
    return any(item.kind == "compaction_trigger" for item in request.entries[-1:])
