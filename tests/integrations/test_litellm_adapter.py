"""LiteLLM's hook and calls: what they pass on, and that nothing stops an agent."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("litellm", reason="litellm is not installed: pip install -e '.[litellm]'")

from cuesta import ConfigError
from cuesta.integrations.litellm import Cliffs, _configured

_TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


def _history(turns):
    messages = [{"role": "user", "content": "Fix the bug."}]
    for n in range(turns):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        thought = {"type": "thinking", "thinking": "Hm.", "signature": f"s{n}"}
        said = {"role": "assistant", "content": None, "tool_calls": [call]}
        messages += [
            {**said, "reasoning_content": "Hm.", "thinking_blocks": [thought]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": "a line\n" * 400},
        ]
    return messages


def _hooked(cliffs, data, kind="acompletion"):
    return asyncio.run(cliffs.async_pre_call_hook(None, None, data, kind))


def _data(model="gpt-5.5", turns=40):
    return {"model": model, "messages": _history(turns), "tools": [_TOOL], "metadata": object()}


def test_the_hook_passes_the_rest_of_a_request_on():
    data, cliffs = _data(), Cliffs(threshold=8000)
    sent = _hooked(cliffs, data)
    assert len(sent["messages"]) < len(data["messages"])
    assert sent["messages"][-1] is data["messages"][-1]
    assert {k: v for k, v in sent.items() if k != "messages"} == {
        k: v for k, v in data.items() if k != "messages"
    }
    assert cliffs.adapter.cliffs == 1


def test_thinking_goes_at_a_cliff_where_the_model_would_refuse_it():
    sent = _hooked(Cliffs(threshold=8000), _data("anthropic/claude-opus-5-5"))
    assert not any("thinking_blocks" in message for message in sent["messages"])
    sent = _hooked(Cliffs(threshold=8000), _data("openai/gpt-5.5"))
    assert any("thinking_blocks" in message for message in sent["messages"])


@pytest.mark.parametrize("kind", ["aembedding", "moderation"])
def test_calls_without_a_history_are_left_alone(kind):
    data = _data()
    assert _hooked(Cliffs(threshold=8000), data, kind) is data


def test_whatever_goes_wrong_the_request_goes_on_as_it_came():
    data, cliffs = {**_data(), "messages": [object()]}, Cliffs()
    assert _hooked(cliffs, data) is data
    assert cliffs.adapter.failures == 1


def test_the_proxys_options_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("CUESTA_THRESHOLD", "60000")
    assert _configured() == {"threshold": 60_000, "profile": "default", "strategy": "cliff"}
    monkeypatch.setenv("CUESTA_THRESHOLD", "many")
    with pytest.raises(ConfigError, match="whole number"):
        _configured()
