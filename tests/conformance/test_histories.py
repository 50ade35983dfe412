"""No request that was valid before Cuesta is invalid after it.

`make conformance` runs 1,000 histories and prints the table; here a few run in every test round.
"""

import os

import pytest

from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.testing.conformance import SUITS_TEMPLATES, Report, judge_history
from cuesta.testing.driver import Bench
from cuesta.testing.histories import ClientHistory, Feature
from cuesta.testing.simulator import Conditions

HISTORIES = int(os.environ.get("CUESTA_HISTORIES", "24"))


WIRES = ("anthropic", "openai_chat", "openai_responses")


def judged(options, histories, conditions=None):
    report = Report()
    for history in histories:
        judge_history(history, Bench(Engine(options)), report, conditions=conditions)
    assert report.histories > 0
    assert report.broken == []
    assert report.failed == 0
    return report


@pytest.mark.parametrize("wire", WIRES)
def test_no_valid_request_becomes_invalid(wire):
    histories = (ClientHistory(seed, wire=wire) for seed in range(HISTORIES))
    report = judged(CompactionOptions(threshold=8000), histories)
    assert report.crossed(2) >= 0.8 * report.histories
    assert wire != "anthropic" or report.checking >= 0.3 * report.histories


@pytest.mark.parametrize("wire", WIRES)
def test_nor_at_the_automatic_threshold(wire):
    histories = (ClientHistory(seed, scale=6.0, turns=50, wire=wire) for seed in range(4))
    assert judged(CompactionOptions(), histories).crossed(1) >= 2


@pytest.mark.parametrize("wire", WIRES)
def test_nor_under_the_paper_profile(wire):
    histories = (ClientHistory(seed, wire=wire) for seed in range(1000, 1008))
    judged(CompactionOptions(profile="paper", threshold=8000), histories)


@pytest.mark.parametrize(
    ("model", "conditions"),
    [
        ("qwen3-coder", Conditions(template="qwen")),
        ("mistral-large", Conditions(template="mistral")),
        ("deepseek-chat-v4", Conditions(reasoning_content="required")),
    ],
    ids=["qwen", "mistral", "deepseek"],
)
def test_strict_servers_of_open_models_take_what_is_sent(model, conditions):
    features = frozenset(Feature) if conditions.template is None else SUITS_TEMPLATES
    histories = (ClientHistory(seed, features, model, wire="openai_chat") for seed in range(8))
    report = judged(CompactionOptions(threshold=6000), histories, conditions)
    assert report.crossed(1) >= 6
