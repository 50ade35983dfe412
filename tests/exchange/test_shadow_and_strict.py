"""Two ways to run that are for measuring: change nothing, or send nothing that is too large."""

import json

import pytest
from conversations import histories
from hypothesis import given
from wire import CHECKING, PLAIN, bench, body, talk, turn

from cuesta.core.usage import Usage
from cuesta.dialects.refusals import Refusal, refusal
from cuesta.exchange.engine import Engine
from cuesta.exchange.events import LookUp, Refused
from cuesta.exchange.options import CompactionOptions
from cuesta.testing.driver import Bench
from cuesta.trace.account import Account

SHADOW = CompactionOptions(threshold=8_000, shadow=True)


@given(history=histories())
def test_in_shadow_no_byte_changes_and_what_would_be_done_is_told(history):
    shadow, real = Bench(Engine(SHADOW)), Bench(Engine(CompactionOptions(threshold=8_000)))
    while (raw := history.request()) is not None:
        path = history.path.partition("?")[0]
        told, done = shadow.send(raw, path=path), real.send(raw, path=path)
        assert told.body == raw
        assert (told.event.action, told.event.sent_tokens) == (
            done.event.action,
            done.event.sent_tokens,
        )
        assert told.event.new_cliff == done.event.new_cliff
        history.answer(lambda text, _: f"sealed {text}")


def test_shadow_says_so():
    driven = Bench(Engine(SHADOW)).send(body(talk(20)))
    assert driven.note.startswith("shadow, would replace; ")
    assert driven.event.shadow


def test_a_refusal_in_shadow_is_the_clients():
    refusal_of_it = Refused(400, b'{"error":{"message":"prompt is too long"}}')
    sent = []
    shadow = Bench(Engine(SHADOW), refuse=lambda raw: sent.append(raw) or refusal_of_it)
    raw = body(talk(20))
    driven = shadow.send(raw)
    assert sent == [raw]
    assert (driven.event.status, driven.event.refused) == (400, 1)


def test_a_failure_in_shadow_sends_the_original():
    shadow = Bench(Engine(SHADOW))
    raw = body(talk(20))

    def fault(command):
        if isinstance(command, LookUp):
            raise OSError("the ledger is gone")

    shadow.fault = fault
    driven = shadow.send(raw)
    assert (driven.body, driven.event.action) == (raw, "failed")


@pytest.mark.parametrize("model", [PLAIN, CHECKING])
def test_what_was_planned_in_shadow_is_never_served(model):
    shadow = Bench(Engine(SHADOW))
    messages = talk(20, thinks=True)
    for count in range(11, len(messages) + 1, 2):
        shadow.send(body(messages[:count], model=model))
    assert shadow.ledger
    real = Bench(Engine(CompactionOptions(threshold=8_000)), shadow.ledger)
    fresh = Bench(Engine(CompactionOptions(threshold=8_000)))
    raw = body([*messages, *turn(20)], model=model)
    assert real.send(raw).body == fresh.send(raw).body


def strict(window, threshold=8_000):
    return Bench(Engine(CompactionOptions(threshold=threshold, window=window, strict=True)))


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/v1/messages", "messages"),
        ("/v1/chat/completions", "messages"),
        ("/v1/responses", "input"),
    ],
)
def test_what_is_over_with_nothing_to_fold_is_refused_in_the_providers_words(path, key):
    value = {"model": "m", "max_tokens": 9, key: [{"role": "user", "content": "word " * 40_000}]}
    over = strict(window=20_000)
    driven = over.send(json.dumps(value).encode(), path=path)
    assert driven.body == b""
    assert (driven.event.action, driven.event.status) == ("refuse", 400)
    assert refusal(400, driven.refusal) is Refusal.OVERFLOW
    assert json.loads(driven.refusal)["error"]["type"] == "invalid_request_error"


def test_the_ladder_is_tried_before_anything_is_refused():
    head = [{"role": "user", "content": "the task"}]
    messages = head + [m for n in range(8) for m in turn(n, size=24_000)]
    lenient = bench(threshold=100_000, window=20_000).send(body(messages))
    assert lenient.event.sent_tokens > 20_000
    fitting = strict(window=20_000, threshold=100_000).send(body(messages))
    assert fitting.event.action == "replace"
    assert fitting.event.external
    assert 0 < fitting.event.sent_tokens <= 20_000


@given(history=histories())
def test_nothing_that_is_known_to_be_over_is_ever_sent(history):
    window = 9_000
    over = strict(window)
    while (raw := history.request()) is not None:
        event = over.send(raw, path=history.path.partition("?")[0]).event
        assert event.action in {"pass", "refuse"} or event.sent_tokens <= window
        history.answer(lambda text, _: f"sealed {text}")


def test_where_no_window_is_known_nothing_is_refused():
    value = {"model": "m", "messages": [{"role": "user", "content": "word " * 400_000}]}
    raw = json.dumps(value).encode()
    unknown = strict(window=0)
    assert unknown.send(raw, path="/v1/chat/completions").body == raw


def test_shadow_tells_what_would_have_been_saved():
    event = (
        Bench(Engine(SHADOW))
        .send(body(talk(40), model="claude-opus-5-5"), usage=Usage(input=40_000, output=10))
        .event
    )
    account = Account()
    account.add(event)
    assert account.shadow
    assert account.avoided > 20_000
    assert account.saved > 0
    assert account.cost > account.saved
