"""The filter of the OpenAI Agents SDK, and that nothing stops an agent."""

from __future__ import annotations

import pytest

pytest.importorskip(
    "agents", reason="openai-agents is not installed: pip install -e '.[openai-agents]'"
)

from agents import Agent, OpenAIChatCompletionsModel, function_tool
from agents.run_config import CallModelData, ModelInputData
from openai import AsyncOpenAI

from cuesta.integrations.openai_agents import CliffFilter


@function_tool
def look(page: int) -> str:
    """Read one page."""
    return str(page)


def _items(turns):
    items = [{"role": "user", "content": "Fix the bug."}]
    for n in range(turns):
        call = {"type": "function_call", "call_id": f"c{n}", "name": "look", "arguments": "{}"}
        back = {"type": "function_call_output", "call_id": f"c{n}", "output": "a line\n" * 400}
        items += [call, back]
    return items


def _data(items, model="gpt-5.5"):
    agent = Agent(name="reader", tools=[look], model=model)
    return CallModelData(ModelInputData(items, "You read pages."), agent, None)


def test_kept_items_are_the_very_objects_and_the_digest_stands_behind_the_task():
    items, fold = _items(40), CliffFilter(threshold=8000)
    sent = fold(_data(items))
    assert len(sent.input) < len(items)
    assert sent.instructions == "You read pages."
    assert sent.input[0] is items[0]
    assert sent.input[1]["content"][0]["text"].startswith("<record-of-earlier-work>")
    assert all(one is other for one, other in zip(sent.input[-6:], items[-6:], strict=True))
    assert fold.adapter.cliffs == 1


def test_on_chat_completions_the_digest_stands_in_the_task():
    model = OpenAIChatCompletionsModel("gpt-5.5", AsyncOpenAI(api_key="none"))
    items = _items(40)
    sent = CliffFilter(threshold=8000)(_data(items, model))
    assert sent.input[0]["content"].startswith("Fix the bug.\n\n<record-of-earlier-work>")
    assert items[0]["content"] == "Fix the bug."


def test_whatever_goes_wrong_the_items_go_on_as_they_came():
    items, fold = [*_items(40), object()], CliffFilter(threshold=8000)
    assert fold(_data(items)).input == items
    assert fold.adapter.failures == 1
