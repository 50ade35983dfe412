"""A request that a provider refused as too long has ever shorter forms, down to none."""

from __future__ import annotations

import json

from cuesta import CompactionOptions
from cuesta.core.digest import OPENING
from cuesta.integrations.base import Adapter


def _request(turns):
    messages = [{"role": "user", "content": "Fix the bug."}]
    for n in range(turns):
        call = {"id": f"c{n}", "type": "function"}
        call |= {"function": {"name": "bash", "arguments": json.dumps({"command": f"cat {n}"})}}
        messages += [
            {"role": "assistant", "content": f"I read file {n}. " * 20, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": f"line {n}\n" * 200},
        ]
    tool = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}
    return {"model": "my-model", "messages": messages, "tools": [tool]}


def _size(request):
    return len(json.dumps(request["messages"]))


def test_a_refused_request_gets_shorter_until_there_is_no_shorter_form():
    request = _request(40)
    adapter = Adapter(CompactionOptions(threshold=100_000))
    assert adapter.fold(request) is request
    sizes = [_size(request)]
    while (shorter := adapter.fold(request, refused=True)) is not request:
        assert OPENING in json.dumps(shorter)
        assert shorter["messages"][-1] is request["messages"][-1]
        sizes.append(_size(shorter))
    assert sizes == sorted(set(sizes), reverse=True)
    assert len(sizes) >= 3
    assert adapter.failures == 0


def test_later_requests_go_on_from_the_shorter_form():
    adapter = Adapter(CompactionOptions(threshold=100_000))
    shorter = adapter.fold(_request(40), refused=True)
    later = adapter.fold(_request(41))
    assert later["messages"][: len(shorter["messages"])] == shorter["messages"]
    assert adapter.cliffs == 1


def test_a_history_without_turns_has_no_shorter_form():
    request = _request(0)
    adapter = Adapter(CompactionOptions(threshold=8000))
    assert adapter.fold(request, refused=True) is request
    assert adapter.failures == 0


def test_a_window_below_the_threshold_is_lived_with_however_long_it_goes_on():
    adapter = Adapter(CompactionOptions(threshold=100_000))
    for turns in range(1, 200):
        request = _request(turns)
        sent = adapter.fold(request)
        while _size(sent) > 20_000:
            shorter = adapter.fold(request, refused=True)
            assert shorter is not request, f"no way on at turn {turns}"
            sent = shorter
    assert adapter.cliffs > 4
    assert adapter.failures == 0
