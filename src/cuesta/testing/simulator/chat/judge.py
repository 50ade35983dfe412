"""The judge of Chat Completions: OpenAI's own, DeepSeek's rule, and strict chat templates."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from cuesta.core.models import read_model
from cuesta.testing.simulator.chat.reading import ChatRequest, Message, read_message
from cuesta.testing.simulator.chat.rules import RULES, Reasoning
from cuesta.testing.simulator.chat.sources import SOURCES
from cuesta.testing.simulator.openai import (
    Breach,
    OpenAiJudge,
    missing,
    no_model,
    too_short,
    wrong_type,
)
from cuesta.testing.simulator.prompts import EntryReader, Prompt

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cuesta.testing.simulator.canon import Json
    from cuesta.testing.simulator.conditions import Conditions


class ChatJudge(OpenAiJudge[ChatRequest]):
    """Checks chat requests, remembering what was thought before which calls.

    An answer is kept as a list of one assistant message.

    Args:
        conditions: What the provider is like today.

    Raises:
        ModuleNotFoundError: If a template is asked for and jinja2 is not installed.
    """

    sources: ClassVar[Mapping[str, str]] = SOURCES

    def __init__(self, conditions: Conditions | None = None) -> None:
        super().__init__(conditions)
        self._reasoning = Reasoning()
        self._reader: EntryReader[Message] = EntryReader(
            partial(read_message, conditions=self.conditions)
        )
        if self.conditions.template is not None:
            _need_jinja()

    def keep(self, request: ChatRequest, content: list[Json]) -> None:
        """Remember what the model answered: the reasoning before its calls."""
        del request
        for message in content:
            calls = tuple(call["id"] for call in message.get("tool_calls") or ())
            if calls:
                self._reasoning.remember(calls, str(message.get("reasoning_content") or ""))

    def _incomplete(self, body: Json) -> Breach | None:
        breach = no_model(body)
        messages = body.get("messages")
        if breach is not None:
            return breach
        if messages is None:
            return missing("messages")
        if not isinstance(messages, list):
            return wrong_type("messages", "an array of objects", messages)
        return None if messages else too_short("messages")

    def _read(self, body: Json) -> ChatRequest:
        given = body["messages"]
        return Prompt(
            body=body,
            model=read_model(body["model"]),
            head=self._reader.head(body),
            given=tuple(given),
            entries=self._reader.entries(given),
        )

    def _breaches(self, request: ChatRequest) -> Iterator[Breach]:
        for rule in RULES:
            breach = rule(request)
            if breach is not None:
                yield breach
        if self.conditions.reasoning_content == "required" and thinks(request.body):
            breach = self._reasoning.breach(request)
            if breach is not None:
                yield breach
        if self.conditions.template is not None:
            yield from _template_breaches(self.conditions.template, request)

    def _too_many(self, tokens: int, window: int) -> Breach:
        text = (
            f"This model's maximum context length is {window} tokens. However, your messages "
            f"resulted in {tokens} tokens. Please reduce the length of the messages."
        )
        return Breach("window", text, "messages", "context_length_exceeded")


def thinks(body: Json) -> bool:
    """Tell whether a request lets the model think: it does unless it is told not to.

    Source: DeepSeek, "Thinking mode": `thinking.type` is `enabled` by default.
    """
    given = body.get("thinking")
    return not isinstance(given, dict) or given.get("type") != "disabled"


def _template_breaches(family: str, request: ChatRequest) -> Iterator[Breach]:
    from cuesta.testing.simulator.chat.templates import (  # noqa: PLC0415 - needs jinja2
        TemplateRefusedError,
        render,
    )

    try:
        render(family, request.body)
    except TemplateRefusedError as error:
        yield Breach("template", str(error), None, 400, type="BadRequestError")


def _need_jinja() -> None:
    try:
        import jinja2  # noqa: F401, PLC0415 - only looked for
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "Conditions.template needs jinja2; install it with: pip install 'cuesta[testing]'",
            name=error.name,
        ) from None
