"""pydantic-ai: a capability that shortens what one request of an agent sends.

    Agent(model, capabilities=[CliffHistory()])

The run's own history stays whole. pydantic-ai's `ProcessHistory` would put what a processor returns
in its place, so that the next cliff were made of a digest; this hook changes the request alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, Unpack

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import RunContext

from cuesta.exchange.options import CompactionOptions
from cuesta.integrations.base import Adapter, Chosen
from cuesta.integrations.cuts import Cut

_Place: TypeAlias = "tuple[int, int]"
"""A message's place in the history, and its part's; -1: the instructions, or all of a response."""


class CliffHistory(AbstractCapability[Any]):  # type: ignore[misc, unused-ignore]  # optional
    """Compacts what an agent's model is sent.

    Put it last in the list of capabilities. Messages that stay are the very objects of the history.

    Args:
        adapter: What compacts; by default a new one with the options.
        options: How to compact; see `Chosen`.

    Attributes:
        adapter: What compacts, with its counts.

    Raises:
        ConfigError: If the options make no sense.
    """

    def __init__(self, adapter: Adapter | None = None, **options: Unpack[Chosen]) -> None:
        super().__init__()
        self.adapter = adapter or Adapter(CompactionOptions(**options))

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Say that it is made in code alone; see `AbstractCapability`."""
        return None

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Return the request with what is to be sent in place of its history."""
        del ctx
        try:
            messages = list(request_context.messages)
            pairs = list(_wire(messages))
            model, offered = request_context.model, request_context.model_request_parameters
            request = {
                "model": model.model_name,
                "messages": [message for _, message in pairs],
                "tools": list(map(_tool, offered.function_tools)),
            }
            wire = "anthropic" if model.system == "anthropic" else "openai_chat"
            cut = self.adapter.cut(request, wire)
            if cut is None:
                return request_context
            return replace(request_context, messages=_kept(messages, [p for p, _ in pairs], cut))
        except Exception as error:  # noqa: BLE001 - an agent never stops because of Cuesta
            self.adapter.failed(error)
            return request_context


def _tool(tool: Any) -> dict[str, Any]:  # noqa: ANN401 - a `ToolDefinition`
    function = {
        "name": tool.name,
        "description": tool.description or "",
        "parameters": tool.parameters_json_schema,
    }
    return {"type": "function", "function": function}


def _wire(messages: Sequence[ModelMessage]) -> Iterator[tuple[_Place, dict[str, Any]]]:
    """Yield a history as Chat Completions has it, and where each of its messages comes from."""
    told = (getattr(message, "instructions", None) for message in reversed(messages))
    instructions = next(filter(None, told), None)
    if instructions is not None:
        yield (0, -1), {"role": "system", "content": instructions}
    for i, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            yield (i, -1), _said(message)
            continue
        for j, part in enumerate(message.parts):
            told_part = _told(part)
            if told_part is not None:
                yield (i, j), told_part


def _told(part: Any) -> dict[str, Any] | None:  # noqa: ANN401 - any part of a request
    """Return a request's part as a message; None where it is none of its own."""
    if isinstance(part, SystemPromptPart):
        return {"role": "system", "content": part.content}
    if isinstance(part, UserPromptPart):
        content = part.content
        shown = content if isinstance(content, str) else list(map(_shown, content))
        return {"role": "user", "content": shown}
    if isinstance(part, ToolReturnPart):
        text = part.model_response_str()
        return {"role": "tool", "tool_call_id": part.tool_call_id, "content": text}
    if isinstance(part, RetryPromptPart):
        text = part.model_response()
        if part.tool_name is None:
            return {"role": "user", "content": text}
        return {"role": "tool", "tool_call_id": part.tool_call_id, "content": text}
    return None


def _shown(piece: Any) -> dict[str, Any]:  # noqa: ANN401 - text, a picture, another file
    if isinstance(piece, str):
        return {"type": "text", "text": piece}
    url = getattr(piece, "url", None) or getattr(piece, "data_uri", None)
    if isinstance(url, str):
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "text", "text": str(getattr(piece, "content", ""))}


def _said(response: ModelResponse) -> dict[str, Any]:
    """Return a response as an assistant's message."""
    texts = [part.content for part in response.parts if isinstance(part, TextPart)]
    thoughts = [part for part in response.parts if isinstance(part, ThinkingPart)]
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    message: dict[str, Any] = {"role": "assistant", "content": "\n\n".join(texts) or None}
    if thoughts:
        message["reasoning_content"] = "\n\n".join(part.content for part in thoughts)
        message["thinking_blocks"] = list(map(_thought, thoughts))
    if calls:
        message["tool_calls"] = [
            {
                "id": call.tool_call_id,
                "type": "function",
                "function": {"name": call.tool_name, "arguments": call.args_as_json_str()},
            }
            for call in calls
        ]
    return message


def _thought(part: ThinkingPart) -> dict[str, Any]:
    """Return a thinking part as Anthropic's wire has it."""
    if part.id == "redacted_thinking":
        return {"type": "redacted_thinking", "data": part.signature or ""}
    return {"type": "thinking", "thinking": part.content, "signature": part.signature or ""}


def _kept(
    messages: Sequence[ModelMessage], places: Sequence[_Place], cut: Cut
) -> list[ModelMessage]:
    """Return the messages that stay. All parts of a message stay or go together."""
    kept = {places[i][0]: messages[places[i][0]] for i in cut.kept}
    if cut.digest:
        i, j = places[cut.anchor]
        kept[i] = _with(kept[i], j, content=_behind(messages[i].parts[j].content, cut.digest))
    for place, text in cut.cleared.items():
        i, j = places[place]
        kept[i] = _with(kept[i], j, content=text)
    bare = {places[i][0] for i in cut.kept if i < cut.bare}
    return [_bare(message) if i in bare else message for i, message in sorted(kept.items())]


def _with(message: ModelMessage, place: int, **changed: Any) -> ModelMessage:  # noqa: ANN401
    """Return a request with one part changed."""
    if not isinstance(message, ModelRequest) or place < 0:
        raise TypeError("only a request's part can be changed")
    parts = list(message.parts)
    parts[place] = replace(parts[place], **changed)
    return replace(message, parts=parts)


def _behind(content: Any, digest: str) -> Any:  # noqa: ANN401 - a user's text or pieces
    return f"{content}\n\n{digest}" if isinstance(content, str) else [*content, digest]


def _bare(message: ModelMessage) -> ModelMessage:
    """Return a message without its thinking; itself where it has none."""
    if not isinstance(message, ModelResponse):
        return message
    rest = [part for part in message.parts if not isinstance(part, ThinkingPart)]
    return message if len(rest) == len(message.parts) else replace(message, parts=rest)
