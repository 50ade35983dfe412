"""Whatever the strategy, no request that was valid before Cuesta is invalid after it.

`python scripts/conformance.py HISTORIES WIRE STRATEGY` judges many; here a few run in every round.
"""

import os

import pytest

from cuesta.dialects.registry import DIALECTS
from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.strategies.registry import STRATEGIES
from cuesta.testing.conformance import SUITS_TEMPLATES, Report, judge_history
from cuesta.testing.driver import Bench
from cuesta.testing.histories import ClientHistory
from cuesta.testing.simulator import Conditions

HISTORIES = max(3, int(os.environ.get("CUESTA_HISTORIES", "0")) // 10)
OTHERS = [name for name in STRATEGIES if name != "cliff"]


def judged(strategy, histories, threshold=8_000, conditions=None):
    report = Report()
    options = CompactionOptions(strategy=strategy, threshold=threshold)
    for history in histories:
        judge_history(history, Bench(Engine(options)), report, conditions=conditions)
    assert report.histories > 0
    assert report.broken == []
    assert report.failed == 0
    return report


@pytest.mark.parametrize("wire", DIALECTS)
@pytest.mark.parametrize("strategy", OTHERS)
def test_no_valid_request_becomes_invalid(strategy, wire):
    histories = (ClientHistory(seed, wire=wire, turns=30) for seed in range(500, 500 + HISTORIES))
    report = judged(strategy, histories)
    if strategy == "keep_all":
        assert report.drops == report.actions["replace"] == 0
    else:
        assert report.drops > report.histories


@pytest.mark.parametrize("strategy", OTHERS)
def test_nor_on_a_model_that_checks_prefixes(strategy):
    histories = (ClientHistory(seed, model="claude-opus-5-5", turns=30) for seed in range(600, 602))
    judged(strategy, histories)


@pytest.mark.parametrize("strategy", OTHERS)
@pytest.mark.parametrize(("model", "template"), [("qwen3-coder", "qwen"), ("mistral", "mistral")])
def test_nor_for_strict_templates_of_open_models(strategy, model, template):
    histories = (
        ClientHistory(seed, SUITS_TEMPLATES, model, wire="openai_chat", turns=30)
        for seed in range(2)
    )
    judged(strategy, histories, 6_000, Conditions(template=template))
