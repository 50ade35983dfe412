"""Recorded or not, the same commands and bytes; what is told is what happened."""

import sys

import pytest

from cuesta.core.usage import Usage
from cuesta.exchange.engine import Engine
from cuesta.exchange.events import (
    Accepted,
    Answered,
    Arrived,
    Commit,
    Found,
    LookUp,
    Refused,
    Relay,
    Send,
)
from cuesta.exchange.options import CompactionOptions
from cuesta.exchange.recorder import Recorder
from cuesta.testing.driver import Bench
from cuesta.testing.histories import ClientHistory, Feature
from cuesta.trace.recording import Came, Declined, Ended, Sent, joined

FEATURES = frozenset(Feature) - {Feature.EDITS, Feature.REWINDS, Feature.TOOLS_CHANGE}
OPTIONS = CompactionOptions(threshold=8_000)
BODY = b'{"model": "m", "messages": [{"role": "user", "content": "hello"}]}'
KEY = "sk-ant-0123456789"


def requests(seed=1):
    history = ClientHistory(seed, FEATURES, "claude-opus-5-5", turns=25, scale=2.0)
    while (body := history.request()) is not None:
        yield body
        history.answer(lambda text, before: f"{text} {len(before)}" * 4)


def arrived(body=BODY, path="/v1/messages", headers=()):
    return Arrived(1.0, "POST", path, headers, body, "run", "host")


def recording(exchange=None):
    lines = []
    return Recorder(exchange or Engine(OPTIONS).exchange, lines.append), lines


@pytest.mark.parametrize("trouble", ["", "ledger", "refusals"])
def test_recorded_or_not_the_same_is_sent_and_told(trouble):
    def fault(command):
        if trouble == "ledger" and isinstance(command, LookUp | Commit) and len(sent) % 7 == 3:
            raise OSError

    def refuse(body):
        long = trouble == "refusals" and len(body) > 60_000
        return Refused(400, b"prompt is too long") if long else None

    recorder, lines = recording()
    plain = Bench(Engine(OPTIONS), refuse=refuse, fault=fault)
    recorded = Bench(recorder, refuse=refuse, fault=fault)
    sent = []
    for number, body in enumerate(requests()):
        one, other = (b.send(body, at=number, usage=Usage(9)) for b in (plain, recorded))
        assert one == other
        sent.append(one)
    assert plain.ledger == recorded.ledger
    records = list(joined(lines))
    assert [r.body for r in records] == list(requests())
    assert [r.sent for r in records] == [driven.body for driven in sent]
    assert [r.event for r in records] == [driven.event for driven in sent]
    assert sum(len(r.forms) - 1 for r in records) == sum(d.event.refused for d in sent)
    assert sum(d.event.new_cliff for d in sent) >= 2


def test_the_lines_stand_in_the_order_of_what_happened():
    recorder, lines = recording()
    Bench(recorder, refuse=lambda _: Refused(400, b"prompt is too long")).send(BODY)
    assert [type(line) for line in lines] == [Came, Sent, Declined, Ended]
    assert {line.exchange for line in lines} == {1}


def test_a_body_that_nobody_reads_is_not_told():
    recorder, lines = recording()
    Bench(recorder).send(b"refresh_token", path="/v1/oauth/token")
    assert b"refresh_token" not in repr(lines).encode()
    assert lines[0].body is lines[1].body is None


@pytest.mark.parametrize(
    "header", [("x-api-key", KEY), ("authorization", f"Bearer {KEY}"), ("cookie", f"a {KEY}; b")]
)
def test_a_key_that_a_refusal_repeats_is_taken_out(header):
    recorder, lines = recording()
    exchange = recorder.exchange(arrived(headers=(header,)))
    command = next(exchange)
    while not isinstance(command, Send):
        command = exchange.send(Found(None, None))
    exchange.send(Refused(400, f"what is {KEY}; here?".encode()))
    assert isinstance(lines[-1], Declined)
    assert KEY.encode() not in lines[-1].body
    assert lines[-1].body.startswith(b"what is [removed]")


def test_an_exchange_that_fails_or_is_closed_has_an_end_without_a_trace():
    def failing(_):
        yield Send(None, "anthropic")
        raise KeyError("a bug")

    recorder, lines = recording(failing)
    exchange = recorder.exchange(arrived())
    next(exchange)
    with pytest.raises(KeyError, match="a bug"):
        exchange.send(Accepted())
    assert lines[-1] == Ended(1, None)
    closed = recorder.exchange(arrived())
    next(closed)
    closed.close()
    assert lines[-1] == Ended(2, None)


def test_what_is_thrown_in_reaches_the_exchange_and_its_answer_comes_back():
    def brave(_):
        try:
            yield LookUp(())
        except OSError:
            yield Relay("went on")

    recorder, _ = recording(brave)
    exchange = recorder.exchange(arrived())
    next(exchange)
    assert exchange.throw(OSError()) == Relay("went on")


def test_no_body_is_held_while_an_answer_streams():
    body = bytes(BODY)
    held = sys.getrefcount(body)
    recorder = Recorder(Engine(OPTIONS).exchange, lambda _: None)
    exchange = recorder.exchange(arrived(body))
    command = next(exchange)
    while not isinstance(command, Relay):
        command = exchange.send(Accepted() if isinstance(command, Send) else Found(None, None))
    assert sys.getrefcount(body) == held
    exchange.send(Answered(2.0, 200, None))
