"""A taste of every measurement, with the columns that need no other program."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    target = tmp_path_factory.mktemp("bench") / "report.md"
    words = ["--quick", "--servers", "direct,cuesta", "--out", str(target)]
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": f"{_ROOT / 'src'}"},
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == target.read_text()
    return run.stdout


def _rows(text):
    lines = (line for line in text.splitlines() if line.startswith("| "))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_measurement_says_something_of_cuesta(report):
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", report, re.DOTALL | re.MULTILINE))
    goals = sections.pop("Goals")
    growth = sections.pop("Growth with the history")
    assert len(sections) == 7
    for title, text in sections.items():
        assert any("cuesta" in row for row in _rows(text)), title
    assert len(re.findall(r"Fitted, .+ ms a MB", growth)) == 2
    assert goals


def test_goals_are_judged_by_their_figures(report):
    goals = _rows(report.partition("## Goals")[2].partition("\n## ")[0])[2:]
    assert len(goals) == 15
    for what, reach, figure, verdict in goals:
        if "against cliff" in what:
            assert verdict == "not measured"
            continue
        word, limit = reach.rsplit(" ", 1)
        good = (
            float(figure) >= float(limit) if word == "at least" else float(figure) <= float(limit)
        )
        close = abs(float(figure) - float(limit)) <= 0.01 * float(limit)
        assert close or verdict == ("reached" if good else "NOT reached"), what


def test_it_says_what_is_missing_and_names_no_place(report):
    assert "- nginx: not asked for" in report
    assert "- cliff: not asked for" in report
    assert re.search(r"^- machine: .+ cores, .+ GiB, .+ Python 3", report, re.MULTILINE)
    assert str(_ROOT) not in report
    assert os.uname().nodename not in report
