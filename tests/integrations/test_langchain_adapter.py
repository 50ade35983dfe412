"""LangChain's messages and back, and that nothing stops an agent."""

from __future__ import annotations

import pytest

pytest.importorskip("langchain", reason="langchain is not installed: pip install -e '.[langchain]'")

from langchain.agents.middleware import ModelRequest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from cuesta.integrations.langchain import CliffMiddleware

_TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


class _Model(GenericFakeChatModel):
    model_name: str = "gpt-5.5"


class _Claude(_Model):
    model_name: str = "claude-opus-5-5"

    @property
    def _llm_type(self) -> str:
        return "anthropic-chat"


def _history(turns, *, thinks=False):
    messages = [HumanMessage("Fix the bug.", id="task")]
    for n in range(turns):
        call = {"name": "look", "args": {"page": n}, "id": f"c{n}"}
        said = [{"type": "text", "text": f"Page {n}."}]
        if thinks:
            said.insert(0, {"type": "thinking", "thinking": "Hm.", "signature": f"s{n}"})
        messages += [
            AIMessage(said if thinks else f"Page {n}.", tool_calls=[call]),
            ToolMessage("a line\n" * 400, tool_call_id=f"c{n}"),
        ]
    return messages


def _request(messages, model=_Model):
    return ModelRequest(
        model=model(messages=iter(())),
        messages=messages,
        system_message=SystemMessage("You read pages."),
        tools=[_TOOL],
    )


def _sent(middleware, request):
    return middleware.wrap_model_call(request, lambda given: given)


def test_before_the_first_cliff_the_request_itself_goes_on():
    request = _request(_history(2))
    assert _sent(CliffMiddleware(threshold=8000), request) is request


def test_kept_messages_are_the_very_objects_and_the_task_bears_the_digest():
    messages = _history(40)
    middleware = CliffMiddleware(threshold=8000)
    sent = _sent(middleware, _request(messages))
    assert len(sent.messages) < len(messages)
    assert all(one is other for one, other in zip(sent.messages[-6:], messages[-6:], strict=True))
    assert sent.messages[0].id == "task"
    assert sent.messages[0].content.startswith("Fix the bug.\n\n<record-of-earlier-work>")
    assert messages[0].content == "Fix the bug."
    assert sent.system_message.content == "You read pages."
    assert middleware.adapter.cliffs == 1


def test_thinking_goes_at_a_cliff_where_the_model_would_refuse_it():
    messages = _history(40, thinks=True)
    sent = _sent(CliffMiddleware(threshold=8000), _request(messages, _Claude))
    kinds = [part["type"] for m in sent.messages if m.type == "ai" for part in m.content]
    assert set(kinds) == {"text"}
    assert messages[-2].content[0]["type"] == "thinking"


def test_whatever_goes_wrong_the_request_goes_on_as_it_came():
    middleware = CliffMiddleware(threshold=8000)
    request = _request([*_history(40), object()])
    assert _sent(middleware, request) is request
    assert middleware.adapter.failures == 1
