"""The condenser on events of the real SDK; skipped where `openhands-sdk` is not installed."""

from __future__ import annotations

import contextlib
import copy
import json
from importlib import import_module
from types import SimpleNamespace

import pytest

from cuesta.core.digest import OPENING

_MODULES = (
    "openhands.sdk",
    "openhands.sdk.context.condenser.base",
    "openhands.sdk.context.view",
    "openhands.sdk.event",
    "openhands.sdk.llm",
    "cuesta.integrations.openhands",
)
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def sdk(monkeypatch):
    """The SDK's names; its imports warn, so they stand behind the mark above."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    pytest.importorskip("openhands.sdk", reason="openhands-sdk is not installed")
    names = {}
    for module in _MODULES:
        names |= vars(import_module(module))
    return SimpleNamespace(**names)


def _llm(sdk, model="openai/my-model"):
    return sdk.LLM(model=model, api_key="sk-none", usage_id="agent")


def _events(sdk, turns):
    """Return a conversation; every fourth answer calls twice."""
    task = sdk.Message(role="user", content=[sdk.TextContent(text="Fix the bug.")])
    prompt = sdk.TextContent(text="You work in a shell.")
    events = [
        sdk.SystemPromptEvent(system_prompt=prompt, tools=[]),
        sdk.MessageEvent(source="user", llm_message=task),
    ]
    for n in range(turns):
        names = [f"c{n}", f"d{n}"] if n % 4 == 3 else [f"c{n}"]
        for place, name in enumerate(names):
            asked = json.dumps({"command": f"cat {name}", "summary": "Reads."})
            call = sdk.MessageToolCall(
                id=name, name="terminal", arguments=asked, origin="completion"
            )
            thought = [] if place else [sdk.TextContent(text=f"I read {n}.")]
            thinking = [] if place else [sdk.ThinkingBlock(thinking=f"{n}?", signature=f"s{n}")]
            events.append(
                sdk.ActionEvent(
                    thought=thought,
                    thinking_blocks=thinking,
                    tool_name="terminal",
                    tool_call_id=name,
                    tool_call=call,
                    llm_response_id=f"r{n}",
                )
            )
        events += [
            sdk.AgentErrorEvent(error=f"line {n}\n" * 300, tool_name="terminal", tool_call_id=name)
            for name in names
        ]
    return events


def _digests(sdk, view):
    return [e.summary for e in view.events if isinstance(e, sdk.CondensationSummaryEvent)]


def test_each_cliff_is_noted_and_no_event_is_forgotten(sdk):
    condenser, llm = sdk.CuestaCondenser(threshold=8000), _llm(sdk)
    assert condenser.handles_condensation_requests()
    events, notes = _events(sdk, 40), []
    for stop in [i for i in range(2, len(events)) if isinstance(events[i], sdk.ActionEvent)]:
        if isinstance(events[stop - 1], sdk.ActionEvent):
            continue
        view = sdk.View(events=events[:stop])
        before = list(view.events)
        said = condenser.condense(view, llm)
        if isinstance(said, sdk.Condensation):
            assert not said.forgotten_event_ids
            assert said.apply(view.events) == view.events
            notes.append(said.summary)
            said = condenser.condense(view, llm)
        assert view.events == before
        assert said.events[:2] == events[:2]
        assert said.events[-1] is view.events[-1]
        assert _digests(sdk, said) == notes[-1:]
    assert len(set(notes)) >= 3
    assert condenser.adapter.cliffs == len(notes)
    assert all(note.startswith(OPENING) and note.count(OPENING) == 1 for note in notes)


def test_a_conversation_loaded_again_is_shown_the_same_without_another_note(sdk):
    view, llm = sdk.View(events=_events(sdk, 40)), _llm(sdk)
    first = sdk.CuestaCondenser(threshold=8000)
    grown = sdk.View(events=_events(sdk, 41))
    first.condense(view, llm)
    shown = first.condense(grown, llm)
    again = sdk.CuestaCondenser(threshold=8000).condense(grown, llm)
    assert isinstance(again, sdk.View)
    assert _digests(sdk, again) == _digests(sdk, shown)


def test_a_request_for_a_condensation_is_a_cliff_and_then_none_is_left(sdk):
    condenser, llm = sdk.CuestaCondenser(threshold=500_000), _llm(sdk)
    events = _events(sdk, 20)
    view = sdk.View(events=events)
    assert condenser.condense(view, llm) is view
    wanting = sdk.View(events=events, unhandled_condensation_request=True)
    assert isinstance(condenser.condense(wanting, llm), sdk.Condensation)
    shorter = condenser.condense(view, llm)
    assert len(shorter.events) < len(events)
    assert len(_digests(sdk, shorter)) == 1
    for _ in range(2):
        with contextlib.suppress(sdk.NoCondensationAvailableException):
            condenser.condense(wanting, llm)
    with pytest.raises(sdk.NoCondensationAvailableException):
        condenser.condense(wanting, llm)


def test_thinking_of_claude_goes_from_what_is_shown_and_stays_in_the_log(sdk):
    condenser = sdk.CuestaCondenser(threshold=8000)
    llm = _llm(sdk, "anthropic/claude-opus-5-5")
    view = sdk.View(events=_events(sdk, 40))
    before = copy.deepcopy(view.events)
    said = condenser.condense(view, llm)
    said = condenser.condense(view, llm) if isinstance(said, sdk.Condensation) else said
    shown = [event for event in said.events if isinstance(event, sdk.ActionEvent)]
    assert 0 < len(shown) < 40
    assert not any(event.thinking_blocks for event in shown)
    assert view.events == before


def test_without_a_model_nothing_is_folded(sdk):
    view = sdk.View(events=_events(sdk, 40))
    assert sdk.CuestaCondenser(threshold=8000).condense(view) is view
