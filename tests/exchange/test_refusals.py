"""What follows an upstream's refusal: one rung down, the other treatment, or the refusal itself."""

import json

import pytest

from cuesta.core.ledger import Entry
from cuesta.dialects.refusals import Refusal, refusal
from cuesta.exchange.engine import Engine
from cuesta.exchange.events import Refused
from cuesta.exchange.options import CompactionOptions
from cuesta.strategies.names import NAMES
from cuesta.testing.driver import Bench

TOO_LONG = Refused(
    400, b'{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}'
)
BOUND = Refused(
    400, b'{"error":{"message":"messages.3.content.0: Invalid `signature` in `thinking`"}}'
)
FORM = Refused(400, b'{"error":{"message":"messages.1: something else is wrong"}}')


def history(turns, result="line\n" * 300):
    messages = [{"role": "user", "content": "Fix the bug."}]
    for n in range(turns):
        messages += [
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": f"sig{n}"},
                {"type": "tool_use", "id": f"t{n}", "name": "bash", "input": {"command": "ls"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": f"t{n}", "content": result},
            ]},
        ]  # fmt: skip
    return messages


def body(messages, model="claude-sonnet-4-5"):
    fields = {"model": model, "max_tokens": 100, "tools": [{"name": "bash"}]}
    return json.dumps({**fields, "messages": messages}).encode()


class Upstream:
    """Refuses what it is told to, and remembers every form that it saw."""

    def __init__(self, refuse):
        self.seen = []
        self.refuse = refuse

    def __call__(self, sent):
        self.seen.append(sent)
        return self.refuse(sent)


def bench(refuse, threshold=0, strategy="cliff"):
    upstream = Upstream(refuse)
    options = CompactionOptions(threshold=threshold, strategy=strategy)
    return Bench(Engine(options), refuse=upstream), upstream


def longer_than(limit):
    return lambda sent: TOO_LONG if len(sent) > limit else None


def test_an_overflow_before_the_first_cliff_is_answered_by_a_cliff():
    run, upstream = bench(longer_than(20_000))
    driven = run.send(body(history(30)))
    assert [len(sent) <= 20_000 for sent in upstream.seen] == [False, True]
    assert driven.event.action == "replace"
    assert driven.event.external
    assert driven.event.refused == 1
    assert driven.event.status == 200


def test_each_refusal_goes_one_rung_down_and_starts_from_the_original():
    run, upstream = bench(longer_than(4_000))
    driven = run.send(body(history(40)))
    sizes = [len(sent) for sent in upstream.seen]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == len(sizes) > 2
    assert driven.event.refused == len(sizes) - 1
    kept = json.loads(driven.body)["messages"]
    assert kept[-2:] == history(40)[-2:], "the last turn stays whole"


def test_the_refused_epoch_is_over_and_the_rung_stays_until_the_next_cliff():
    run, upstream = bench(longer_than(15_000))
    first = run.send(body(history(40)))
    tries = len(upstream.seen)
    second = run.send(body(history(41)))
    assert len(upstream.seen) == tries + 1, "no form is tried again within the epoch"
    before = json.loads(first.body)["messages"]
    assert json.loads(second.body)["messages"][: len(before)] == before


def test_the_epoch_after_an_overflow_goes_on_when_its_last_message_grows():
    run, _ = bench(longer_than(10_000))
    first = json.loads(run.send(body(history(10))).body)["messages"]
    grown = history(10)
    grown[-1]["content"].append({"type": "text", "text": "and this"})
    run.refuse = lambda _: None
    second = json.loads(run.send(body(grown)).body)["messages"]
    assert second[:-1] == first[:-1]
    third = json.loads(run.send(body([*grown, *history(11)[-2:]])).body)["messages"]
    assert third[: len(second)] == second


def test_another_last_message_is_another_branch():
    run, _ = bench(longer_than(10_000))
    run.send(body(history(9)))
    before = json.loads(run.send(body(history(9))).body)["messages"]
    run.send(body(history(10)))
    other = history(10)
    other[-1]["content"][0]["content"] = "something else"
    run.refuse = lambda _: None
    sent = json.loads(run.send(body(other)).body)["messages"]
    assert sent[: len(before)] == before


@pytest.mark.parametrize("strategy", sorted({*NAMES} - {"keep_all", "microcompaction"}))
def test_a_window_below_the_threshold_is_lived_with_however_long_it_goes_on(strategy):
    run, _ = bench(longer_than(12_000), strategy=strategy)
    driven = [run.send(body(history(turns))).event for turns in range(1, 120)]
    assert [event.status for event in driven] == [200] * len(driven)
    assert sum(event.refused for event in driven) > 8


def test_where_nothing_helps_the_client_gets_the_refusal():
    run, upstream = bench(lambda _: TOO_LONG)
    driven = run.send(body(history(40)))
    assert driven.event.status == 400
    assert driven.event.refused == len(upstream.seen) <= 4


def test_a_refusal_of_what_the_client_itself_sent_is_passed_on():
    for refused in (BOUND, FORM):
        run, upstream = bench(lambda _, refused=refused: refused)
        driven = run.send(body(history(3)))
        assert upstream.seen == [body(history(3))]
        assert driven.event.status == 400


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-opus-5-5"])
def test_refused_thinking_is_answered_once_with_the_other_treatment_and_remembered(model):
    strips = model == "claude-opus-5-5"

    def refuse(sent):
        messages = json.loads(sent)["messages"]
        stripped = "thinking" not in json.dumps(messages[-2])
        return BOUND if len(messages) < 60 and stripped == strips else None

    run, upstream = bench(refuse, threshold=4_000)
    driven = run.send(body(history(40), model))
    assert driven.event.status == 200
    assert len(upstream.seen) == 2
    other = run.send(body([{"role": "user", "content": "Another one."}, *history(40)[1:]], model))
    assert other.event.status == 200
    assert len(upstream.seen) == 3, "the second conversation is treated right at once"


def test_thinking_from_behind_a_forgotten_cliff_opens_an_epoch_without_it():
    model = "claude-opus-5-5"
    run, upstream = bench(longer_than(8_000))
    first = run.send(body(history(6), model))
    assert first.event.external, "below the threshold, so that nothing can derive it again"
    lost, upstream = bench(lambda sent: BOUND if b'"thinking"' in sent else None)
    driven = lost.send(body(history(7), model))
    assert driven.event.status == 200
    assert driven.event.refused == 1
    assert upstream.seen[0] == body(history(7), model), "the client's own form comes first"
    assert driven.event.new_cliff
    assert driven.event.external
    after = lost.send(body(history(7), model))
    assert after.body == driven.body


@pytest.mark.parametrize("elsewhere", [("b.example", ""), ("a.example", "another")])
def test_what_one_upstream_says_of_thinking_is_not_held_against_another(elsewhere):
    run, upstream = bench(lambda _: BOUND, threshold=4_000)
    run.refuse = lambda sent: BOUND if "thinking" in json.dumps(json.loads(sent)) else None
    first = run.send(body(history(40)), place=("a.example", ""))
    assert (first.event.status, first.event.refused) == (200, 1)
    run.refuse = upstream.__class__(lambda _: None)
    other = [{"role": "user", "content": "Another one."}, *history(40)[1:]]
    driven = run.send(body(other), place=elsewhere)
    assert '"thinking"' in driven.body.decode(), "nobody here has refused any thinking"
    third = body([{"role": "user", "content": "A third."}, *other[1:]])
    same = run.send(third, place=("a.example", ""))
    assert '"thinking"' not in same.body.decode()


def test_both_treatments_refused_means_the_first_one_stays():
    run, upstream = bench(lambda _: BOUND, threshold=4_000)
    assert run.send(body(history(40))).event.status == 400
    assert len(upstream.seen) == 2
    run.refuse = lambda _: None
    again = run.send(body(history(41)))
    assert '"thinking"' in again.body.decode(), "thinking is not taken out on this model"


def test_a_form_that_only_a_new_cliff_can_have_caused_is_answered_by_the_epoch_before():
    run, upstream = bench(lambda _: None, threshold=4_000)
    sent, turns = None, 1
    while turns < 60:
        turns += 1
        run.refuse = upstream
        upstream.refuse = lambda sent: FORM if b"record-of-earlier" in sent else None
        driven = run.send(body(history(turns)))
        if driven.event.refused:
            break
        sent = driven.body
    assert sent == body(history(turns - 1))
    assert driven.event.action == "failed"
    assert driven.body == body(history(turns)), "before the first cliff: the original bytes"
    assert all(Entry.from_json(entry) for entry in run.ledger.values())


SHAPES = [
    (400, "prompt is too long: 201 tokens > 200 maximum", Refusal.OVERFLOW),
    (413, "", Refusal.OVERFLOW),
    (400, "input length and `max_tokens` exceed context limit: 1 + 2 > 3", Refusal.OVERFLOW),
    (400, "This model's maximum context length is 8192 tokens", Refusal.OVERFLOW),
    (400, '"code":"context_length_exceeded"', Refusal.OVERFLOW),
    (400, "invalid params, context window exceeds limit (2013)", Refusal.OVERFLOW),
    (400, "Your input exceeds the context window of this model", Refusal.OVERFLOW),
    (400, "the request exceeds the available context size", Refusal.OVERFLOW),
    (400, "Input is too long for requested model.", Refusal.OVERFLOW),
    (400, "The input token count exceeds the maximum", Refusal.OVERFLOW),
    (400, "Invalid request: Your request exceeded model token limit: 262144", Refusal.OVERFLOW),
    (400, "`thinking` blocks in the latest assistant message cannot be modified", Refusal.THINKING),
    (400, "messages: text content blocks must be non-empty", Refusal.FORM),
    (429, "rate limit: too many input tokens a minute", Refusal.OTHER),
    (529, "overloaded", Refusal.OTHER),
]


@pytest.mark.parametrize(("status", "message", "about"), SHAPES)
def test_shapes(status, message, about):
    assert refusal(status, message.encode()) is about
