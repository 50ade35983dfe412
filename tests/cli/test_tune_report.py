"""What `cuesta tune` prints: tables of 80 columns, reasons, and the same as JSON."""

import json

import pytest

from cuesta.cli.tuned import as_json, lines, reasons
from cuesta.core.prices import PriceBook
from cuesta.core.usage import Usage
from cuesta.lab.measured import Tuning
from cuesta.lab.tune import tune
from cuesta.trace.session import Call, Session

TUNING = Tuning(PriceBook())


def session(calls, harness="made-up", model="claude-opus-5"):
    """Return a session that reads one file a call and grows by 900 tokens each time."""
    messages = [{"role": "user", "content": "Make the tests pass."}]
    made = []
    for number in range(calls):
        made.append(Call(len(messages), model, Usage(input=20_000 + 900 * number, output=60)))
        asked = {"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {"path": "/a"}}
        told = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "a line\n" * 300}
        messages.append({"role": "assistant", "content": [asked]})
        messages.append({"role": "user", "content": [told]})
    raw = tuple(json.dumps(message).encode() for message in messages)
    return Session(harness, str(calls), "anthropic", raw, tuple(made))


@pytest.fixture(scope="module")
def found():
    long = [session(calls) for calls in (60, 70, 80, 90, 100)]
    few = [session(90, "made-up by somebody who likes names that fill a whole line"), session(3)]
    return tune([*long[:4], *few, long[4]], TUNING).groups


def test_the_report_fits_80_columns(found):
    report = list(lines(found, TUNING))
    assert max(map(len, report)) <= 80
    assert sum(line.startswith("  cache ") for line in report) == len(found) == 2


def test_it_names_the_flag_and_its_reasons(found):
    one = found[0]
    report = "\n".join(lines([one], TUNING))
    assert f"\n  Use --threshold {one.advice}\n  - " in report
    assert "the cost is flat" in report
    assert f"{one.sessions} sessions" in report
    assert "(r = 0) the cheapest would sit at the floor" in " ".join(report.split())


def test_few_sessions_are_said_to_be_too_few(found):
    few = next(one for one in found if one.sessions < 5)
    many = next(one for one in found if one.sessions >= 5)
    said = [" ".join(reasons(one, one.answer("engine", 3), TUNING)) for one in (few, many)]
    assert ["too few" in words for words in said] == [True, False]


def test_where_dropping_earns_nothing_no_flag_is_named():
    report = " ".join("\n".join(lines(tune([session(4)], TUNING).groups, TUNING)).split())
    assert "Leave the threshold automatic" in report
    assert "--threshold" not in report
    assert "1 session, 4 calls" in report


def test_json_says_the_same(found):
    plain = json.loads(json.dumps(as_json(found, TUNING)))
    assert [one["threshold"] for one in plain] == [one.advice for one in found]
    for one, tuned in zip(plain, found, strict=True):
        assert len(one["answers"]) == 8
        assert one["points"][0]["threshold"] == "automatic"
        assert {p["threshold"] for p in one["points"][1:]} == {*tuned.points} - {0}
        assert one["points"][-1]["drops"] == 0
