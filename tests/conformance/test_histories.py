"""No request that was valid before Cuesta is invalid after it.

`make conformance` runs 1,000 histories and prints the table; here a few run in every test round.
"""

import os

from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.testing.conformance import Report, judge_history
from cuesta.testing.driver import Bench
from cuesta.testing.histories import ClientHistory

HISTORIES = int(os.environ.get("CUESTA_HISTORIES", "40"))


def judged(options, histories, scale=1.0):
    report = Report()
    for history in histories:
        judge_history(history, Bench(Engine(options)), report)
    assert report.histories > 0
    assert scale > 0
    return report


def test_no_valid_request_becomes_invalid():
    report = judged(CompactionOptions(threshold=8000), map(ClientHistory, range(HISTORIES)))
    assert report.broken == []
    assert report.failed == 0
    assert report.crossed(2) >= 0.8 * report.histories
    assert report.checking >= 0.4 * report.histories


def test_nor_at_the_automatic_threshold():
    histories = [ClientHistory(seed, scale=6.0, turns=50) for seed in range(HISTORIES // 10)]
    report = judged(CompactionOptions(), histories)
    assert report.broken == []
    assert report.failed == 0
    assert report.crossed(1) >= 0.5 * report.histories


def test_nor_under_the_paper_profile():
    options = CompactionOptions(profile="paper", threshold=8000)
    report = judged(options, map(ClientHistory, range(1000, 1000 + HISTORIES // 4)))
    assert report.broken == []
    assert report.failed == 0
