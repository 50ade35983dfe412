"""A bill may bring a cliff forward, once the prompt comes near to a known window."""

import json

import pytest
from wire import body, talk, turn

from cuesta.core.usage import Usage
from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.testing.driver import Bench

WINDOW = 40_000
THRESHOLD = 38_000


def bench(window=WINDOW):
    return Bench(Engine(CompactionOptions(threshold=THRESHOLD, window=window)))


def played(over, factor, turns=60, first=4, model="claude-sonnet-4-5"):
    """Grow a conversation whose provider bills a factor of the estimate; return the events."""
    events = []
    for count in range(first, turns):
        raw = body(talk(count), model=model)
        before = Bench(Engine(CompactionOptions(threshold=THRESHOLD)), dict(over.ledger))
        sent = before.send(raw).event.sent_tokens
        events.append(over.send(raw, usage=Usage(input=int(sent * factor))).event)
    return events


def test_a_bill_past_four_fifths_of_the_window_brings_the_cliff_forward():
    events = played(bench(), factor=1.5)
    early = [e for e in events if e.new_cliff and e.external]
    assert early
    assert all("by the bill" in e.reason for e in early)
    billed = [1.5 * e.sent_tokens for e in events]
    assert max(billed) <= WINDOW


@pytest.mark.parametrize("factor", [0.7, 1.0])
def test_a_bill_below_that_changes_nothing(factor):
    events = played(bench(window=60_000), factor)
    without = played(bench(window=0), factor)
    assert [e.sent_tokens for e in events] == [e.sent_tokens for e in without]
    assert not any(e.external for e in events)


def test_without_a_known_window_no_bill_counts():
    value = json.loads(body(talk(40)))
    value["model"] = "somebody-elses"
    over = Bench(Engine(CompactionOptions(threshold=THRESHOLD)))
    raw = json.dumps(value).encode()
    over.send(raw, usage=Usage(input=10_000_000))
    value["messages"] += turn(40)
    assert not over.send(json.dumps(value).encode()).event.external


def test_a_bill_of_another_model_does_not_count():
    over = bench()
    over.send(body(talk(20), model="claude-sonnet-4-5"), usage=Usage(input=WINDOW))
    event = over.send(body(talk(21), model="claude-sonnet-4-6")).event
    assert not event.new_cliff


def test_a_head_that_fills_the_window_does_not_cause_a_cliff_at_each_request():
    over = bench()
    head = [{"role": "user", "content": "word " * 20_000}]
    events = [
        over.send(body([*head, *talk(count)[1:]]), usage=Usage(input=WINDOW)).event
        for count in range(4, 60)
    ]
    added = events[-1].raw_tokens - events[0].raw_tokens
    assert 0 < sum(e.new_cliff for e in events) <= added // (THRESHOLD // 4) + 1


def test_what_a_bill_caused_stays_as_it_was_sent():
    over = bench()
    over.send(body(talk(20)), usage=Usage(input=WINDOW))
    cliff = over.send(body(talk(21)))
    assert cliff.event.external
    again = over.send(body(talk(21)))
    assert again.body == cliff.body
    later = over.send(body(talk(22)), usage=Usage(input=9_000))
    assert not later.event.new_cliff
    assert (
        json.loads(later.body)["messages"][: len(json.loads(cliff.body)["messages"])]
        == (json.loads(cliff.body)["messages"])
    )
