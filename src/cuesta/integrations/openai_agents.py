"""The OpenAI Agents SDK: a filter for what is sent to the model.

    Runner.run(agent, task, run_config=RunConfig(call_model_input_filter=CliffFilter()))

The run's own items, and a session's, stay whole: the SDK filters a copy before each call.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Unpack

from agents.models.default_models import get_default_model
from agents.models.interface import Model
from agents.models.openai_responses import OpenAIResponsesModel
from agents.run_config import CallModelData, ModelInputData

from cuesta.exchange.options import CompactionOptions
from cuesta.integrations.base import Adapter, Chosen


class CliffFilter:
    """Compacts what an agent's model is sent.

    With a conversation that the provider keeps (`conversation_id`, `previous_response_id`) the SDK
    sends only what is new, and nothing is compacted.

    Args:
        model: The model's name, where neither the agent nor the SDK's default tells it.
        adapter: What compacts; by default a new one with the options.
        options: How to compact; see `Chosen`.

    Attributes:
        adapter: What compacts, with its counts.

    Raises:
        ConfigError: If the options make no sense.
    """

    def __init__(
        self, model: str = "", adapter: Adapter | None = None, **options: Unpack[Chosen]
    ) -> None:
        self.adapter = adapter or Adapter(CompactionOptions(**options))
        self._model = model

    def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """Return what to send in place of a run's items; see `RunConfig`."""
        given, agent = data.model_data, data.agent
        request: dict[str, Any] = {"model": self._model or _name(agent.model), "input": given.input}
        if given.instructions is not None:
            request["instructions"] = given.instructions
        request["tools"] = list(_tools(agent.tools))
        sent = self.adapter.fold(request, "openai_responses", turn=True)["input"]
        if isinstance(agent.model, Model) and not isinstance(agent.model, OpenAIResponsesModel):
            sent = _joined(sent, given.input)
        return ModelInputData(input=sent, instructions=given.instructions)


def _name(model: Any) -> str:  # noqa: ANN401 - a name, the SDK's model, or None
    name = getattr(model, "model", model)
    return name if isinstance(name, str) else get_default_model()


def _joined(sent: list[Any], given: list[Any]) -> list[Any]:
    """Put the digest behind the text of the user's message before it.

    Chat templates of open models refuse two user messages side by side.
    """
    known = {id(item) for item in given}
    place = next((i for i, item in enumerate(sent) if id(item) not in known), 0)
    before = sent[place - 1] if place else {}
    if before.get("role") != "user":
        return sent
    (part,) = sent[place]["content"]
    content = before["content"]
    own = f"{content}\n\n{part['text']}" if isinstance(content, str) else [*content, part]
    return [*sent[: place - 1], {**before, "content": own}, *sent[place + 1 :]]


def _tools(tools: Iterable[Any]) -> Iterable[dict[str, Any]]:
    """Yield tools as they stand on the wire, for the estimate of what every request carries.

    Tools of MCP servers are not known here: asking for them may go over the network.
    """
    for tool in tools:
        if hasattr(tool, "params_json_schema"):
            yield {
                "name": tool.name,
                "parameters": tool.params_json_schema,
                "strict": tool.strict_json_schema,
                "type": "function",
                "description": tool.description,
            }
        else:
            yield {"type": str(getattr(tool, "name", "tool"))}
