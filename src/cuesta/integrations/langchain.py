"""LangChain's agents: middleware around each call of the model.

    create_agent(model, tools, middleware=[CliffMiddleware()])

The agent's state keeps the whole history; only what one call sends is shortened.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Unpack

from langchain.agents.middleware import AgentMiddleware, ModelRequest
from langchain_core.messages import AIMessage, BaseMessage, convert_to_openai_messages
from langchain_core.utils.function_calling import convert_to_openai_tool

from cuesta.exchange.options import CompactionOptions
from cuesta.integrations.base import Adapter, Chosen
from cuesta.integrations.cuts import Cut

_THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning"})


class CliffMiddleware(AgentMiddleware):  # type: ignore[misc, unused-ignore]  # an optional package
    """Compacts what an agent's model is sent.

    Put it last in the list of middleware, so that it sees what the others made of the request.
    Messages that stay are the very objects of the agent's state.

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

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> Any:  # noqa: ANN401 - what the handler returns
        """Send the compacted request; see `AgentMiddleware`."""
        return handler(self._folded(request))

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[Any]]
    ) -> Any:  # noqa: ANN401 - likewise
        """Send the compacted request; see `AgentMiddleware`."""
        return await handler(self._folded(request))

    def _folded(self, request: ModelRequest) -> ModelRequest:
        try:
            system = [request.system_message] if request.system_message else []
            messages = [*system, *request.messages]
            cut = self.adapter.cut(
                {
                    "model": _name(request.model),
                    "messages": list(map(_wire, messages)),
                    "tools": list(map(convert_to_openai_tool, request.tools)),
                },
                "anthropic" if "anthropic" in request.model._llm_type else "openai_chat",  # noqa: SLF001
            )
            if cut is None:
                return request
            return request.override(messages=_kept(messages, cut)[len(system) :])
        except Exception as error:  # noqa: BLE001 - an agent never stops because of Cuesta
            self.adapter.failed(error)
            return request


def _name(model: Any) -> str:  # noqa: ANN401 - any chat model
    names = (getattr(model, key, None) for key in ("model_name", "model", "model_id"))
    return next((name for name in names if isinstance(name, str)), "unknown")


def _wire(message: BaseMessage) -> dict[str, Any]:
    """Return a message as Chat Completions has it, with what was thought beside it."""
    content = message.content
    if isinstance(message, AIMessage) and isinstance(content, list):
        parts = [p for p in content if not (isinstance(p, dict) and p.get("type") in _THOUGHTS)]
        plain = message.model_copy(update={"content": parts})
        thoughts = [p for p in content if p not in parts]
        said = dict(convert_to_openai_messages(plain))
        thought = {"reasoning_content": _thought(thoughts), "thinking_blocks": thoughts}
        return {**said, **thought} if thoughts else said
    return dict(convert_to_openai_messages(message))


def _thought(parts: Sequence[Mapping[str, Any]]) -> str:
    texts = (part.get("thinking") or part.get("reasoning") or part.get("data") for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))


def _kept(messages: Sequence[BaseMessage], cut: Cut) -> list[BaseMessage]:
    """Return the messages that stay."""
    kept = []
    for place in cut.kept:
        message = messages[place]
        if place in cut.cleared:
            message = message.model_copy(update={"content": cut.cleared[place]})
        elif place == cut.anchor:
            message = message.model_copy(update={"content": _behind(message.content, cut.digest)})
        elif place < cut.bare:
            message = _bare(message)
        kept.append(message)
    return kept


def _behind(content: str | list[Any], digest: str) -> str | list[Any]:
    if isinstance(content, str):
        return f"{content}\n\n{digest}"
    return [*content, {"type": "text", "text": digest}]


def _bare(message: BaseMessage) -> BaseMessage:
    """Return a message without its thinking; itself where it has none."""
    content = message.content
    if not isinstance(message, AIMessage) or isinstance(content, str):
        return message
    rest = [p for p in content if not (isinstance(p, dict) and p.get("type") in _THOUGHTS)]
    return message if len(rest) == len(content) else message.model_copy(update={"content": rest})
