"""What the strategies send, byte for byte, over generated conversations."""

import json

import pytest
from conversations import MAIN, extends, fresh, histories, messages, play, raw_messages, steady
from hypothesis import given, settings
from hypothesis import strategies as st

from cuesta.core.transcript import CLEARED
from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.testing.driver import Bench

FEW = settings(max_examples=max(6, settings.default.max_examples // 4))
_THINKING = {"thinking", "redacted_thinking"}


def options(strategy, threshold=6_000):
    return CompactionOptions(strategy=strategy, threshold=threshold, reclaim=1_500)


def bench(strategy):
    return Bench(Engine(options(strategy)))


LIVE = ["sliding_window", "microcompaction"]
"""Those that can be derived again."""


@pytest.mark.parametrize("strategy", LIVE)
@FEW
@given(history=histories())
def test_between_two_drops_what_is_sent_only_grows(strategy, history):
    last = {}
    for step in play(history, bench(strategy)):
        assert step.driven.event.action != "failed"
        if step.kind not in MAIN:
            continue
        before = last.get(step.branch)
        last[step.branch] = step
        if before and step.appended and not step.driven.event.new_cliff:
            assert extends(before.driven.body, step.driven.body), step.label


@pytest.mark.parametrize("strategy", LIVE)
@FEW
@given(history=steady("claude-opus-4-8"))
def test_a_fresh_engine_sends_the_same_with_and_without_the_ledger(strategy, history):
    over = bench(strategy)
    for number, step in enumerate(play(history, over)):
        if step.kind in MAIN and (step.driven.event.new_cliff or number % 5 == 0):
            again = fresh(options(strategy), over).send(step.body)
            assert again.body == step.driven.body, step.label
            assert not again.event.new_cliff
            assert bench(strategy).send(step.body).body == step.driven.body, step.label


@FEW
@given(history=histories())
def test_a_window_is_the_clients_own_bytes_with_a_gap(history):
    for step in play(history, bench("sliding_window")):
        raw, sent = raw_messages(step.body), raw_messages(step.driven.body)
        assert sent[-1] == raw[-1]
        if not history.checks:
            behind = iter(raw)
            assert all(message in behind for message in sent), step.label
        if step.driven.event.action == "replace":
            head = [json.loads(message)["role"] for message in raw].index("assistant")
            assert sent[:head] == raw[:head]


def _unthought(listed):
    kept = []
    for message in listed:
        content = [block for block in message["content"] if block["type"] not in _THINKING]
        kept += [{**message, "content": content}] * bool(content)
    return kept


def _cleared_like(before, after):
    """Tell whether a block is another one, or that one with its result cleared."""
    mark = [{"type": "text", "text": CLEARED}]
    return after == before or (
        before["type"] == "tool_result" and after == {**before, "content": mark}
    )


@FEW
@given(history=histories())
def test_microcompaction_takes_nothing_but_what_results_held_and_thinking(history):
    for step in play(history, bench("microcompaction")):
        before, after = _unthought(messages(step.body)), _unthought(messages(step.driven.body))
        assert len(before) == len(after)
        for old, new in zip(before, after, strict=True):
            assert old["role"] == new["role"]
            pairs = zip(old["content"], new["content"], strict=True)
            assert all(_cleared_like(*pair) for pair in pairs), step.label
        assert raw_messages(step.body)[-1] == raw_messages(step.driven.body)[-1]


@FEW
@given(
    history=steady("claude-opus-4-8"),
    old=st.sampled_from(["cliff", *LIVE]),
    new=st.sampled_from(["keep_all", "cliff", *LIVE]),
    late=st.integers(4, 20),
)
def test_another_strategy_serves_what_is_stored_until_its_next_drop(history, old, new, late):
    steps = [step for step in play(history, bench(old)) if step.kind in MAIN]
    before, after = bench(old), None
    for number, step in enumerate(steps):
        if number < late:
            before.send(step.body)
            continue
        after = after or fresh(options(new), before)
        driven = after.send(step.body)
        if driven.event.new_cliff:
            past = number > 0 and steps[number - 1].driven.event.cliffs > 0
            assert driven.event.external or not past or old == new
            break
        assert driven.body == step.driven.body or step.driven.event.new_cliff, step.label
        if step.driven.event.new_cliff:
            break
