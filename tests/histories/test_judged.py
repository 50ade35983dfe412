"""The simulator's judge has a say: what the client sends without having broken it is valid."""

import json
from collections import Counter

from cuesta.testing.histories import ClientHistory, Feature
from cuesta.testing.simulator.judge import Judge


def minting(judge, body):
    base = judge.prefix(body)

    def mint(text, before):
        prefix = base
        for block in before:
            prefix = prefix.then("assistant", block)
        return judge.signatures.mint(prefix, text)

    return mint


def judged(history):
    """Play a history against a judge: refused requests are not answered."""
    judge = Judge()
    while (body := history.request()) is not None:
        counting = history.request_kind == "count_tokens"
        refusal = judge.verdict(body, history.headers, counting=counting).refusal
        if refusal is None:
            content = history.answer(minting(judge, body))
            if content:
                judge.answered(*whole_turn(body, content))
        yield refusal


def whole_turn(body, content):
    """Join an answer with the paused one that it continues: neighbouring messages are one turn."""
    asked = json.loads(body)
    while asked["messages"][-1]["role"] == "assistant":
        content = [*asked["messages"].pop()["content"], *content]
    return asked, content


def test_the_judge_takes_what_the_client_has_not_broken():
    taken, unexplained, broken = 0, [], Counter()
    for seed in range(200):
        history = ClientHistory(seed, turns=10)
        for refusal in judged(history):
            if refusal is None:
                taken += 1
            elif history.broken:
                broken[history.broken] += 1
            else:
                unexplained.append(f"{refusal.rule}: {refusal.message} ({history.label})")
    assert not unexplained, "\n".join(unexplained[:10])
    assert taken >= 0.97 * (taken + broken.total())


def test_what_the_client_broke_is_refused_once_and_then_repaired():
    outcomes = Counter()
    for seed in range(12):
        history = ClientHistory(seed, frozenset({Feature.EDITS}), "claude-opus-5-5", turns=30)
        for refusal in judged(history):
            outcomes[history.broken, refusal is None] += 1
    assert outcomes["prefix", False] > 2
    assert not outcomes["prefix", True]
    assert outcomes["", True] > 100
    assert not outcomes["", False]
