"""What every adapter has in common: the request to send, the same objects, never an error."""

from __future__ import annotations

import copy
import logging
import threading

import pytest

from cuesta import CompactionOptions, ConfigError
from cuesta.integrations.base import Adapter

_OPTIONS = CompactionOptions(threshold=8000)


def _history(turns: int) -> list[dict]:
    messages = [
        {"role": "system", "content": "You work in a shell."},
        {"role": "user", "content": "Fix the bug."},
    ]
    for n in range(turns):
        call = {"id": f"c{n}", "type": "function"}
        call |= {"function": {"name": "bash", "arguments": f'{{"command":"cat {n}"}}'}}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": f"line {n}\n" * 400},
        ]
    return messages


def _request(turns: int) -> dict:
    tool = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}
    return {"model": "gpt-5.5", "messages": _history(turns), "tools": [tool]}


def test_before_the_first_cliff_the_request_itself_goes_out():
    request = _request(3)
    adapter = Adapter(_OPTIONS)
    assert adapter.fold(request) is request
    assert adapter.cliffs == 0


def test_behind_a_cliff_what_stays_are_the_very_objects_and_nothing_of_the_request_is_changed():
    request = _request(40)
    before = copy.deepcopy(request)
    adapter = Adapter(_OPTIONS)
    sent = adapter.fold(request)
    assert request == before
    assert sent.keys() == request.keys()
    assert len(sent["messages"]) < len(request["messages"])
    assert sent["messages"][0] is request["messages"][0]
    tails = zip(sent["messages"][-6:], request["messages"][-6:], strict=True)
    assert all(one is other for one, other in tails)
    assert adapter.cliffs == 1
    assert adapter.plan is not None
    assert adapter.plan.threshold == 8000


def test_what_is_no_turn_of_a_conversation_stays_whole():
    request = _request(40)
    del request["tools"]
    adapter = Adapter(_OPTIONS)
    assert adapter.fold(request) is request
    assert adapter.failures == 0


def test_counting_remembers_no_cliff():
    adapter = Adapter(_OPTIONS)
    counted = adapter.fold(_request(40), counts=True)
    assert len(counted["messages"]) < 82
    assert adapter.cliffs == 0
    adapter.fold(_request(40))
    assert adapter.cliffs == 1


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"model": "gpt-5.5"},
        {"model": None, "messages": []},
        {"model": "gpt-5.5", "messages": 7},
        {"model": "gpt-5.5", "messages": [object()]},
        {"model": "gpt-5.5", "messages": [{"role": "nobody", "content": "secret"}]},
        {"model": "gpt-5.5", "messages": _history(40), "metadata": {1, 2}},
    ],
)
def test_whatever_cannot_be_read_goes_out_as_it_came_and_is_counted(request_, caplog):
    adapter = Adapter(_OPTIONS)
    with caplog.at_level(logging.WARNING, "cuesta"):
        assert adapter.fold(request_) is request_
    assert adapter.failures == 1
    assert "goes out as it came" in caplog.text
    assert "secret" not in caplog.text


def test_an_unknown_wire_goes_out_as_it_came():
    adapter, request = Adapter(), _request(3)
    assert adapter.fold(request, "telegraph") is request
    assert adapter.failures == 1


def test_a_lone_surrogate_is_no_failure():
    request = _request(40)
    request["messages"][3]["content"] += "\ud800"
    adapter = Adapter(_OPTIONS)
    assert adapter.fold(request) is not request
    assert adapter.failures == 0


@pytest.mark.parametrize("options", [{"profile": "none"}, {"strategy": "summary"}])
def test_options_that_make_no_sense_are_refused_at_the_start(options):
    with pytest.raises(ConfigError):
        Adapter(CompactionOptions(**options))


def test_many_threads_get_what_one_gets():
    alone = [Adapter(_OPTIONS).fold(_request(turns)) for turns in (20, 40, 60)]
    shared, found = Adapter(_OPTIONS), {}

    def run(i: int, turns: int) -> None:
        found[i] = shared.fold(_request(turns))

    threads = [threading.Thread(target=run, args=(i, (i + 1) * 20)) for i in (2, 1, 0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[i] for i in range(3)] == alone
    assert shared.failures == 0
