"""What stays of a history, for scaffolds that have messages of their own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cuesta import CompactionOptions, Engine
from cuesta.integrations import claude
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


def _as_claude(turns: int, model: str) -> dict[str, Any]:
    """Return a request with signed thinking and two results at once."""
    request = _request(turns, model)
    for n, message in enumerate(request["messages"]):
        if message["role"] == "assistant":
            thought = {"type": "thinking", "thinking": f"Why not {n}?", "signature": f"s{n}"}
            message["thinking_blocks"] = [thought]
    said = request["messages"][2]
    call = {"name": "look", "arguments": "{}"}
    said["tool_calls"].append({"id": "also", "type": "function", "function": call})
    also = {"role": "tool", "tool_call_id": "also", "content": "Nothing.\n" * 400}
    request["messages"].insert(4, also)
    return request


def _claude_sends(request: dict[str, Any], cut: Any) -> list[Any]:
    """Put together what goes over Anthropic's wire from what stays."""
    sent = _rebuilt(request, cut)
    for place, message in zip(cut.kept, sent, strict=True):
        if place < cut.bare:
            message.pop("thinking_blocks", None)
    return claude.write({**request, "messages": sent}).request["messages"]


def _texts(messages: list[Any]) -> list[Any]:
    """Return messages with the text of adjacent text blocks put together."""
    return [
        {
            **message,
            "content": [block for block in message["content"] if block.get("type") != "text"],
        }
        | {"said": "\n\n".join(b["text"] for b in message["content"] if b.get("type") == "text")}
        for message in messages
    ]


def _joined(messages: list[Any]) -> list[Any]:
    """Put the digest's message together with the one before it, as the wire reads them."""
    joined: list[Any] = []
    for message in messages:
        if joined and joined[-1]["role"] == message["role"]:
            joined[-1] = {**message, "content": [*joined[-1]["content"], *message["content"]]}
        else:
            joined.append(message)
    return joined


@pytest.mark.parametrize("strategy", ["cliff", "sliding_window", "microcompaction"])
@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-sonnet-4-5"])
def test_on_anthropics_wire_too(strategy, model):
    options = CompactionOptions(threshold=8000, strategy=strategy)
    adapter, bench = Adapter(options), Bench(Engine(options))
    cuts = 0
    for turns in range(1, 40):
        request = _as_claude(turns, model)
        written = claude.write(request).request
        wanted = bench.send(json.dumps(written).encode(), path="/v1/messages").body
        cut = adapter.cut(request, "anthropic")
        sent = written["messages"] if cut is None else _claude_sends(request, cut)
        assert _texts(sent) == _texts(_joined(json.loads(wanted)["messages"]))
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
