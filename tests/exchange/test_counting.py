"""A token count changes nothing, not even what fail-open remembers."""

import json

from cuesta.exchange.engine import Engine
from cuesta.exchange.events import LookUp
from cuesta.exchange.options import CompactionOptions
from cuesta.testing.driver import Bench

COUNT = "/v1/messages/count_tokens"


def body(turns, result="line\n" * 300):
    messages = [{"role": "user", "content": "Fix the bug."}]
    for n in range(turns):
        call = {"type": "tool_use", "id": f"t{n}", "name": "bash", "input": {"command": "ls"}}
        answer = {"type": "tool_result", "tool_use_id": f"t{n}", "content": result}
        messages += [
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [answer]},
        ]
    fields = {"model": "claude-opus-5-5", "max_tokens": 9, "tools": [{"name": "bash"}]}
    return json.dumps({**fields, "messages": messages}).encode()


class BrokenError(Exception):
    pass


def test_a_count_that_would_have_made_a_cliff_leaves_the_epochs_bytes_as_they_were():
    """The count's view is nobody's epoch: a failure right after it must not send it."""
    engine = Engine(CompactionOptions(threshold=4000))
    first = Bench(engine)
    turns = 1
    while not first.send(body(turns)).event.new_cliff:
        turns += 1
    fresh = Bench(Engine(CompactionOptions(threshold=4000)), first.ledger)
    before = dict(fresh.ledger)
    counted = fresh.send(body(turns + 20), path=COUNT)
    assert counted.event.new_cliff, "the count was meant to see a cliff that is not there yet"
    assert fresh.ledger == before

    def fail_after_the_look_up(command):
        if isinstance(command, LookUp) and not fail_after_the_look_up.done:
            fail_after_the_look_up.done = True
            raise BrokenError

    fail_after_the_look_up.done = False
    fresh.fault = fail_after_the_look_up
    driven = fresh.send(body(turns + 1))
    assert driven.event.action == "failed"
    fresh.fault = lambda _: None
    sent = json.loads(driven.body)["messages"]
    epoch = json.loads(first.send(body(turns + 1)).body)["messages"]
    own = json.loads(body(turns + 1))["messages"]
    assert sent in (epoch, own), "either the epoch's bytes or the client's own"
