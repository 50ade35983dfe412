"""A summary is asked for once, billed, kept in memory alone, and missed by nobody when it fails."""

import json

import pytest
from conversations import MAIN, extends, play, raw_messages
from hypothesis import given, settings
from hypothesis import strategies as st

from cuesta import Compactor
from cuesta.core.errors import ConfigError
from cuesta.core.usage import Usage
from cuesta.dialects.registry import DIALECTS
from cuesta.exchange.engine import Engine
from cuesta.exchange.events import Ask, Commit, Told
from cuesta.exchange.options import CompactionOptions
from cuesta.strategies.names import ASKING
from cuesta.testing.driver import Bench
from cuesta.testing.histories import ClientHistory

FEW = settings(max_examples=max(6, settings.default.max_examples // 4))
SUMMARY, RECORD = b"<summary-of-earlier-work>", b"<record-of-earlier-work>"
BILL = Usage(input=5_000, output=70)


class Model:
    """Answers questions, and remembers them."""

    def __init__(self, text="All is well so far: {}.", usage=BILL):
        self.text, self.usage, self.questions = text, usage, []

    def __call__(self, ask):
        self.questions.append(ask.body)
        return Told(self.text.format(len(self.questions)), self.usage)


def bench(model=None, strategy="summary", old=None, **changes):
    options = CompactionOptions(**{"strategy": strategy, "threshold": 6_000, **changes})
    return Bench(Engine(options), dict(old.ledger) if old else {}, tell=model or Model())


def new_cliffs(steps):
    return [step for step in steps if step.driven.event.new_cliff]


@pytest.mark.parametrize("strategy", sorted(ASKING))
def test_each_summary_is_asked_for_once_and_billed_in_its_own_event(strategy):
    model = Model()
    steps = list(play(ClientHistory(5, turns=30), bench(model, strategy)))
    asked = [step for step in steps if step.driven.event.asked is not None]
    assert len(asked) == len(model.questions) > 1
    for number, step in enumerate(asked, start=1):
        assert step.driven.event.asked == BILL
        assert step.driven.event.new_cliff
        assert SUMMARY in step.driven.body
        assert f"All is well so far: {number}.".encode() in step.driven.body


@FEW
@given(seed=st.integers(0, 2**32 - 1), strategy=st.sampled_from(sorted(ASKING)))
def test_between_two_cliffs_what_is_sent_only_grows(seed, strategy):
    over, last = bench(strategy=strategy), {}
    for step in play(ClientHistory(seed), over):
        assert step.driven.event.action != "failed"
        if step.kind not in MAIN:
            continue
        before = last.get(step.branch)
        last[step.branch] = step
        if before and step.appended and not step.driven.event.new_cliff:
            assert extends(before.driven.body, step.driven.body), step.label
        assert over.send(step.body).body == step.driven.body
        told = raw_messages(step.body)[-1]
        # An open turn at the end may lose its thinking at a cliff, and nothing else.
        open_turn = json.loads(told)["role"] == "assistant"
        assert open_turn or raw_messages(step.driven.body)[-1] == told


@pytest.mark.parametrize("wire", DIALECTS)
def test_the_question_has_no_tools_and_no_history_and_names_the_model(wire):
    model = Model()
    history = ClientHistory(6, wire=wire, turns=30)
    over = bench(model)
    while (body := history.request()) is not None:
        over.send(body, path=history.path.partition("?")[0])
        history.answer(lambda text, _: f"sealed {text}")
        client = json.loads(body)
    assert model.questions
    for question in map(json.loads, model.questions):
        assert question["model"] == client["model"]
        assert not question.keys() & {"tools", "tool_choice", "thinking", "functions", "text"}
        (message,) = question[DIALECTS[wire].where]
        assert message["role"] == "user"
        assert RECORD.decode() in json.dumps(message)


def test_the_second_question_holds_the_first_summary():
    model = Model()
    list(play(ClientHistory(5, frozenset(), turns=30), bench(model)))
    assert b"All is well so far: 1." not in model.questions[0]
    assert b"All is well so far: 1." in model.questions[1]


def test_no_word_of_a_summary_is_in_the_ledger():
    over = bench()
    list(play(ClientHistory(5, turns=30), over))
    assert over.ledger
    assert not any(b"All is well" in record for record in over.ledger.values())


@pytest.mark.parametrize(
    "tell",
    [Model(""), Model(" \n"), Model("x " * 90_000), lambda _: None],
    ids=["empty", "blank", "longer than what it sums up", "no answer"],
)
def test_where_no_summary_is_to_be_had_a_digest_stands(tell):
    steps = new_cliffs(play(ClientHistory(5, turns=30), bench(tell)))
    assert steps
    for step in steps:
        assert SUMMARY not in step.driven.body
        assert RECORD in step.driven.body
        assert "a digest in place of a summary" in step.driven.note


def test_a_question_that_fails_is_answered_by_a_digest_and_not_by_failing_open():
    over = bench()

    def fault(command):
        if isinstance(command, Ask):
            raise TimeoutError

    over.fault = fault
    steps = list(play(ClientHistory(5, turns=30), over))
    assert {step.driven.event.action for step in steps} <= {"keep", "replace", "pass"}
    assert all(RECORD in step.driven.body for step in new_cliffs(steps))


def test_what_was_billed_counts_even_where_planning_fails_behind_it():
    over = bench()

    def fault(command):
        if isinstance(command, Commit):
            raise OSError

    over.fault = fault
    step = next(s for s in play(ClientHistory(5, turns=30), over) if s.driven.event.asked)
    assert step.driven.event.action == "failed"
    assert step.driven.event.asked == BILL


def test_a_summary_that_is_lost_is_written_anew_behind_one_external_cliff():
    first = bench()
    steps = [s for s in play(ClientHistory(5, frozenset(), turns=30), first) if s.kind in MAIN]
    at = next(i for i, s in enumerate(steps) if s.driven.event.new_cliff)
    model, old = Model(), bench()
    for step in steps[: at + 1]:
        old.send(step.body)
    late = bench(model, old=old)
    driven = late.send(steps[at + 1].body)
    assert driven.event.external
    assert driven.event.new_cliff
    assert driven.event.reason == "the summary was lost"
    assert len(model.questions) == 1
    assert not late.send(steps[at + 1].body).event.new_cliff


def test_a_token_count_and_a_shadow_ask_nobody():
    model = Model()
    steps = new_cliffs(play(ClientHistory(5, turns=30), bench(model)))
    silent = Model()
    bench(silent).send(steps[0].body, path="/v1/messages/count_tokens")
    list(play(ClientHistory(5, turns=30), bench(silent, shadow=True)))
    assert silent.questions == []


def test_the_library_cannot_ask():
    for strategy in ASKING:
        with pytest.raises(ConfigError, match="only a proxy can"):
            Compactor("claude-opus-5-5", CompactionOptions(strategy=strategy))
