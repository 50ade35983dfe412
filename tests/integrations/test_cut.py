"""What stays of a history, for scaffolds that have messages of their own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cuesta import CompactionOptions, Engine
from cuesta.integrations.base import Adapter
from cuesta.testing.driver import Bench

_TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


def _request(turns: int, model: str = "gpt-5.5", task: Any = "Fix the bug.") -> dict[str, Any]:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You read pages."},
        {"role": "user", "content": task},
    ]
    for n in range(turns):
        call = {"name": "look", "arguments": json.dumps({"page": n})}
        said = {"role": "assistant", "content": f"Page {n}.", "reasoning_content": f"Why not {n}?"}
        made = [{"id": f"c{n}", "type": "function", "function": call}]
        answer = {"role": "tool", "tool_call_id": f"c{n}", "content": f"line {n} — “x”\n" * 300}
        messages += [{**said, "tool_calls": made}, answer]
    return {"model": model, "messages": messages, "tools": [_TOOL]}


def _rebuilt(request: dict[str, Any], cut: Any) -> list[dict[str, Any]]:
    """Put together what is sent from what stays."""
    sent = [dict(request["messages"][i]) for i in cut.kept]
    for place, message in zip(cut.kept, sent, strict=True):
        if place in cut.cleared:
            message["content"] = cut.cleared[place]
        if place == cut.anchor:
            own = message["content"]
            part = {"type": "text", "text": cut.digest}
            message["content"] = f"{own}\n\n{cut.digest}" if isinstance(own, str) else [*own, part]
    return sent


def test_before_the_first_cliff_all_of_it_stays():
    assert Adapter(CompactionOptions(threshold=8000)).cut(_request(2)) is None


@pytest.mark.parametrize("strategy", ["cliff", "sliding_window", "microcompaction"])
@pytest.mark.parametrize("task", ["Fix the bug.", [{"type": "text", "text": "Fix the bug."}]])
def test_what_stays_makes_up_what_the_engine_sends(strategy, task):
    options = CompactionOptions(threshold=8000, strategy=strategy)
    adapter, bench = Adapter(options), Bench(Engine(options))
    cuts = 0
    for turns in range(1, 40):
        request = _request(turns, task=task)
        wanted = bench.send(json.dumps(request).encode(), path="/v1/chat/completions").body
        cut = adapter.cut(request)
        sent = request["messages"] if cut is None else _rebuilt(request, cut)
        assert sent == json.loads(wanted)["messages"]
        cuts += cut is not None
    assert cuts > 10
    assert adapter.failures == 0


def test_thinking_goes_where_the_model_checks_what_stood_before_it():
    bare = Adapter(CompactionOptions(threshold=8000)).cut(_request(40, "claude-opus-5-5"))
    free = Adapter(CompactionOptions(threshold=8000)).cut(_request(40, "gpt-5.5"))
    assert bare is not None
    assert bare.bare == 82
    assert free is not None
    assert free.bare == 0


def test_a_digest_of_the_users_own_is_not_taken_for_ours():
    quoted = "Why does <record-of-earlier-work> stand in my log?"
    cut = Adapter(CompactionOptions(threshold=8000)).cut(_request(40, task=quoted))
    assert cut is not None
    assert "in my log" not in cut.digest
    assert cut.digest.startswith("<record-of-earlier-work>")


def test_whatever_cannot_be_read_stays_whole_and_is_counted():
    adapter = Adapter()
    assert adapter.cut({"model": "m", "messages": [{"role": "nobody"}]}) is None
    assert adapter.cut({}) is None
    assert adapter.failures == 2
