"""pydantic-ai's messages and back, and that nothing stops an agent."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip(
    "pydantic_ai", reason="pydantic-ai is not installed: pip install -e '.[pydantic-ai]'"
)

from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import ToolDefinition

from cuesta.integrations.pydantic_ai import CliffHistory

_LOOK = ToolDefinition(name="look", parameters_json_schema={"type": "object"})


def _history(turns):
    first = [SystemPromptPart("You read pages."), UserPromptPart("Fix the bug.")]
    messages = [ModelRequest(parts=first)]
    for n in range(turns):
        call = ToolCallPart("look", {"page": n}, tool_call_id=f"c{n}")
        thought = ThinkingPart("Hm.", signature=f"s{n}")
        back = ToolReturnPart("look", "a line\n" * 400, tool_call_id=f"c{n}")
        messages += [
            ModelResponse(parts=[thought, TextPart(f"Page {n}."), call]),
            ModelRequest(parts=[back]),
        ]
    return messages


def _sent(capability, messages, model="gpt-5.5"):
    context = ModelRequestContext(
        model=TestModel(model_name=model),
        messages=messages,
        model_settings=None,
        model_request_parameters=ModelRequestParameters(function_tools=[_LOOK]),
    )
    return context, asyncio.run(capability.before_model_request(None, context))


def test_before_the_first_cliff_the_request_itself_goes_on():
    context, sent = _sent(CliffHistory(threshold=8000), _history(2))
    assert sent is context


def test_kept_messages_are_the_very_objects_and_the_task_bears_the_digest():
    messages = _history(40)
    capability = CliffHistory(threshold=8000)
    _, sent = _sent(capability, messages)
    assert len(sent.messages) < len(messages)
    assert all(one is other for one, other in zip(sent.messages[-6:], messages[-6:], strict=True))
    system, task = sent.messages[0].parts
    assert system is messages[0].parts[0]
    assert task.content.startswith("Fix the bug.\n\n<record-of-earlier-work>")
    assert messages[0].parts[1].content == "Fix the bug."
    assert capability.adapter.cliffs == 1


def test_thinking_goes_at_a_cliff_where_the_model_would_refuse_it():
    _, sent = _sent(CliffHistory(threshold=8000), _history(40), "claude-opus-5-5")
    parts = [part for message in sent.messages for part in message.parts]
    assert not any(isinstance(part, ThinkingPart) for part in parts)


def test_whatever_goes_wrong_the_request_goes_on_as_it_came():
    capability = CliffHistory(threshold=8000)
    context, sent = _sent(capability, [*_history(40), object()])
    assert sent is context
    assert capability.adapter.failures == 1
