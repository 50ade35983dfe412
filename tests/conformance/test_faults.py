"""A bug in any step of planning breaks no session: Cuesta fails open to a valid form."""

import random

import pytest

from cuesta.dialects.anthropic import AnthropicDialect
from cuesta.exchange.engine import Engine
from cuesta.exchange.events import Commit, LookUp
from cuesta.exchange.options import CompactionOptions
from cuesta.strategies.cliff import CliffStrategy
from cuesta.testing.conformance import Report, judge_history
from cuesta.testing.driver import Bench
from cuesta.testing.histories import ClientHistory, Feature

STEPS = ("read", "parse", "match", "plan", "splice", "commit")
MODEL = "claude-opus-5-5"


class InjectedError(Exception):
    pass


class Faults:
    """Raises in one step, at the requests that were armed."""

    def __init__(self, step):
        self.step = step
        self.armed = False
        self.raised = 0

    def hit(self, step):
        if self.armed and step == self.step:
            self.raised += 1
            raise InjectedError(step)


class FaultyDialect(AnthropicDialect):
    def __init__(self, faults):
        self.faults = faults

    def read(self, body):
        self.faults.hit("read")
        return super().read(body)

    def parse(self, message):
        self.faults.hit("parse")
        return super().parse(message)

    def splice(self, request, messages):
        self.faults.hit("splice")
        return super().splice(request, messages)


class FaultyStrategy(CliffStrategy):
    def __init__(self, faults):
        self.faults = faults

    def decide(self, case):
        self.faults.hit("plan")
        return super().decide(case)


def bench_with(faults):
    engine = Engine(
        CompactionOptions(threshold=8000),
        strategy=FaultyStrategy(faults),
        dialects={"anthropic": FaultyDialect(faults)},
    )

    def fault(command):
        if isinstance(command, LookUp):
            faults.hit("match")
        if isinstance(command, Commit):
            faults.hit("commit")

    return Bench(engine, fault=fault)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("phase", ["before the first cliff", "after three cliffs", "any time"])
def test_a_fault_makes_no_request_invalid(step, phase):
    report = Report()
    raised = 0
    seeds = random.Random(f"{step} {phase}")
    for _ in range(4):
        seed = seeds.randrange(10_000)
        features = frozenset(Feature) - {Feature.EDITS, Feature.TOOLS_CHANGE, Feature.TOOL_CHANGES}
        history = ClientHistory(seed, features=features, model=MODEL, scale=3.0)
        faults = Faults(step)
        dice = random.Random(seed)

        def arm(_bench, cliffs, faults=faults, dice=dice):
            due = {"before the first cliff": cliffs == 0, "after three cliffs": cliffs >= 3}
            faults.armed = due.get(phase, True) and dice.random() < 0.5

        judge_history(history, bench_with(faults), report, before=arm)
        raised += faults.raised
    assert raised > 0, "no fault was injected: the test proves nothing"
    assert report.broken == []
    assert report.failed > 0
    assert report.crossed(3) >= report.histories - 1
