"""The simulator's judges of OpenAI's wires take what the client sends without having broken it."""

from collections import Counter

import pytest

from cuesta.testing.histories import ClientHistory, Feature
from cuesta.testing.simulator.conditions import Conditions
from cuesta.testing.simulator.registry import judge_of

CHAT, RESPONSES = "openai_chat", "openai_responses"
EVERYTHING = frozenset(Feature)
KNOWN = EVERYTHING - {Feature.UNKNOWN_BLOCKS}
STRICT = EVERYTHING - {
    Feature.MID_SYSTEM,
    Feature.HUMAN_MESSAGES,
    Feature.REMINDERS,
    Feature.GROWING_LAST,
}
"""What suits strict chat templates."""


def judged(history, wire, conditions=None):
    """Play a history against a judge: refused requests are not answered."""
    judge = judge_of(wire, conditions)
    while (body := history.request()) is not None:
        verdict = judge.verdict(body, history.headers)
        if verdict.refusal is None:
            answer(history, wire, judge, verdict.request)
        yield verdict.refusal


def answer(history, wire, judge, request):
    if wire == CHAT:
        content = history.answer(lambda *_: pytest.fail("nothing is sealed on this wire"))
        judge.keep(request, content)
    else:
        content = history.answer(lambda text, _: judge.memory.mint(text))
        judge.keep(request, content, history.response_id)


def check(histories, wire, conditions=None):
    taken, unexplained = Counter(), []
    for history in histories:
        for refusal in judged(history, wire, conditions):
            if refusal is None:
                taken[history.request_kind] += 1
            elif not history.broken:
                unexplained.append(f"{refusal.rule}: {refusal.message} ({history.label})")
    assert not unexplained, "\n".join(unexplained[:10])
    return taken


def test_the_judge_of_chat_takes_what_the_client_has_not_broken():
    drawn = [ClientHistory(seed, turns=10, wire=CHAT) for seed in range(120)]
    every = [ClientHistory(seed, EVERYTHING, turns=10, wire=CHAT) for seed in range(30)]
    taken = check([*drawn, *every], CHAT)
    assert taken["main"] > 1_400
    assert taken["side"] > 20


@pytest.mark.parametrize(
    ("model", "features", "conditions"),
    [
        ("deepseek-chat-v4", EVERYTHING, Conditions(reasoning_content="required")),
        ("qwen3-coder", STRICT, Conditions(template="qwen")),
        ("mistral-large", STRICT, Conditions(template="mistral")),
        ("gpt-5.5", KNOWN, Conditions(compatible=False)),
    ],
    ids=["deepseek", "qwen", "mistral", "openai"],
)
def test_each_providers_own_rules_hold_too(model, features, conditions):
    histories = [ClientHistory(seed, features, model, 12, wire=CHAT) for seed in range(40)]
    assert check(histories, CHAT, conditions)["main"] > 450


def test_the_judge_of_responses_takes_what_the_client_has_not_broken():
    """But for unknown items: where one stands behind reasoning, the judge sees a gap."""
    drawn = [ClientHistory(seed, turns=10, wire=RESPONSES) for seed in range(120)]
    drawn = [history for history in drawn if Feature.UNKNOWN_BLOCKS not in history.drawn]
    every = [ClientHistory(seed, KNOWN, turns=14, wire=RESPONSES) for seed in range(60)]
    taken = check([*drawn, *every], RESPONSES)
    assert taken["main"] > 1_200
    assert min(taken["delta"], taken["retry"], taken["side"]) > 50


def test_openais_own_server_takes_them_as_well():
    histories = [ClientHistory(seed, KNOWN, turns=12, wire=RESPONSES) for seed in range(40)]
    assert check(histories, RESPONSES, Conditions(compatible=False))["main"] > 350
