"""A harness's own compaction request goes through with the whole history, as far as it can."""

import json

import pytest

from cuesta.exchange.engine import Engine
from cuesta.exchange.events import Refused
from cuesta.exchange.options import CompactionOptions
from cuesta.testing.driver import Bench

CHECKING, OTHER = "claude-opus-5-5", "claude-sonnet-4-5"
DEMAND = {"type": "text", "text": "CRITICAL: Respond with TEXT ONLY. Summarise."}


def history(turns):
    messages = [{"role": "user", "content": "Fix the bug."}]
    for n in range(turns):
        messages += [
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "", "signature": f"sig{n}"},
                {"type": "tool_use", "id": f"t{n}", "name": "bash", "input": {"command": "ls"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": f"t{n}", "content": "line\n" * 300},
            ]},
        ]  # fmt: skip
    return messages


def body(messages, model, tools=({"name": "bash"},)):
    fields = {"model": model, "max_tokens": 100, "tools": list(tools)}
    return json.dumps({**fields, "messages": messages}).encode()


def summary_body(turns, model):
    messages = history(turns)
    messages[-1]["content"].append(DEMAND)
    return body(messages, model)


def grown(turns, model, window=0):
    bench = Bench(Engine(CompactionOptions(threshold=6000, window=window)))
    for n in range(1, turns):
        bench.send(body(history(n), model))
    return bench


@pytest.mark.parametrize("model", [CHECKING, OTHER])
def test_before_the_first_cliff_it_passes_untouched(model):
    bench = grown(3, model)
    asked = summary_body(3, model)
    driven = bench.send(asked)
    assert driven.body == asked
    assert driven.note.startswith("keep; a summary")


def test_after_a_cliff_it_passes_whole_but_for_thinking_that_would_be_refused():
    asked = summary_body(30, CHECKING)
    driven = grown(30, CHECKING).send(asked)
    sent, original = json.loads(driven.body)["messages"], json.loads(asked)["messages"]
    assert [m["role"] for m in sent] == [m["role"] for m in original]
    assert "signature" not in driven.body.decode()
    assert sent[-1] == original[-1]
    assert "all but thinking" in driven.note


def test_on_other_models_it_passes_untouched_after_a_cliff_too():
    asked = summary_body(30, OTHER)
    assert grown(30, OTHER).send(asked).body == asked


@pytest.mark.parametrize("model", [CHECKING, OTHER])
def test_what_does_not_fit_the_window_is_the_compacted_view_with_its_last_message_whole(model):
    asked = summary_body(30, model)
    driven = grown(30, model, window=10_000).send(asked)
    assert json.loads(driven.body)["messages"][-1] == json.loads(asked)["messages"][-1]
    assert len(driven.body) < len(asked) / 2
    assert "would not fit" in driven.note


def test_an_overflow_that_nobody_foresaw_leads_to_the_compacted_view():
    asked = summary_body(30, OTHER)
    bench = grown(30, OTHER)
    too_long = Refused(400, b"prompt is too long: 9 tokens > 8 maximum")
    bench.refuse = lambda sent: too_long if len(sent) > len(asked) / 2 else None
    driven = bench.send(asked)
    assert driven.event.status == 200
    assert "would not fit" in driven.note


def test_it_writes_nothing_and_the_conversation_goes_on_as_it_was():
    bench = grown(30, CHECKING)
    before = dict(bench.ledger)
    bench.send(summary_body(29, CHECKING))
    assert bench.ledger == before


def test_a_history_of_calls_without_tools_is_a_summary_too():
    asked = body([*history(30), {"role": "user", "content": "Sum up."}], OTHER, tools=())
    assert grown(30, OTHER).send(asked).body == asked


def test_the_shorter_history_that_follows_is_a_new_chain():
    bench = grown(30, OTHER)
    fresh = [{"role": "user", "content": "This session is being continued. Summary: ..."}]
    driven = bench.send(body([*fresh, *history(2)[1:]], OTHER))
    assert driven.event.action == "keep"
    assert driven.event.cliffs == 0
