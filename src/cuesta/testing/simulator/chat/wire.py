"""Chat Completions as the server speaks it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from cuesta.testing.simulator.canon import Json, dump
from cuesta.testing.simulator.chat.answers import (
    ChatAnswer,
    finish_reason,
    message_of,
    output_tokens,
)
from cuesta.testing.simulator.chat.judge import thinks
from cuesta.testing.simulator.chat.reading import text_of
from cuesta.testing.simulator.chat.sources import SOURCES
from cuesta.testing.simulator.openai_wire import OpenAiWire
from cuesta.testing.simulator.script import Step, Trace
from cuesta.testing.simulator.tokens import count_text
from cuesta.testing.simulator.wires import Order, sample

if TYPE_CHECKING:
    from cuesta.testing.simulator.autocache import AutoCache
    from cuesta.testing.simulator.chat.judge import ChatJudge
    from cuesta.testing.simulator.chat.reading import ChatRequest


class ChatWire(OpenAiWire):
    """Speaks Chat Completions.

    Args:
        judge: Judges its requests.
        cache: Bills its answers.
        always_usage: Whether streams end with their bill even where nobody asked for it.
        toolless_beside: Whether a request without tools is taken for one beside the conversation.
    """

    name = "openai_chat"
    sources: Mapping[str, str] = SOURCES

    def __init__(
        self, judge: ChatJudge, cache: AutoCache, *, always_usage: bool, toolless_beside: bool
    ) -> None:
        self.judge: ChatJudge = judge
        self._cache = cache
        self._always_usage = always_usage
        self._toolless_beside = toolless_beside

    def side(self, request: ChatRequest) -> Step | None:
        """Return the answer to a call beside the conversation, or None where the script is asked.

        Such calls have no tools, or want JSON of a schema or a single token.
        """
        body = request.body
        wanted = body.get("response_format")
        if isinstance(wanted, dict) and wanted.get("type") == "json_schema":
            schema = (wanted.get("json_schema") or {}).get("schema") or {}
            return Step(text=dump(sample(schema)))
        if body.get("max_completion_tokens", body.get("max_tokens")) in {0, 1}:
            return Step(text="Ok")
        if self._toolless_beside and not body.get("tools"):
            return Step(text="A short answer beside the conversation.")
        return None

    def trail(self, request: ChatRequest) -> Iterator[Trace]:
        """Yield what a request's history shows of the script, the newest first."""
        for message, given in zip(reversed(request.entries), reversed(request.given), strict=True):
            for name in (*reversed(message.calls), message.answers):
                yield Trace(id=name)
            if message.role == "assistant" and not message.calls:
                yield Trace(said=text_of(given))

    def answer(self, order: Order) -> ChatAnswer:
        """Make an answer, bill it, and let the judge remember it."""
        request: ChatRequest = order.request
        thinking = (order.step.thinking or "") if thinks(request.body) else ""
        shows = bool(thinking) and self.judge.conditions.compatible
        message = message_of(order.step, order.place, reasons=shows)
        self.judge.keep(request, [message])
        reasoning = count_text(thinking)
        usage = replace(self._cache.charge(request), output=reasoning + output_tokens(message))
        return ChatAnswer(
            number=order.number,
            model=str(request.body["model"]),
            message=message,
            finish_reason=finish_reason(order.step),
            usage=usage,
            reasoning_tokens=reasoning,
            tells_usage=self._always_usage or _wants_usage(request.body),
        )


def _wants_usage(body: Json) -> bool:
    options = body.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True
