import json

import pytest

from cuesta.testing.briefing import system_blocks, tools
from cuesta.testing.job import repair_job
from cuesta.testing.project import project_files
from cuesta.testing.workspace import ARGUMENTS, Workspace

CHARACTERS_PER_TOKEN = 3.6


@pytest.fixture(scope="module")
def played():
    """All steps of the job carried out without any HTTP."""
    job = repair_job()
    with Workspace() as workspace:
        before = workspace.tests_pass()
        results = [[workspace.call(c.name, c.input) for c in step.calls] for step in job.steps]
        after = workspace.tests_pass()
        files = {
            path.relative_to(workspace.root).as_posix(): path.read_text()
            for path in workspace.root.rglob("*")
            if path.is_file()
        }
    return job, before, after, results, files


def test_tests_fail_before_and_pass_after(played):
    _, before, after, _, _ = played
    assert (before, after) == (False, True)


def test_only_the_files_of_the_repair_are_changed(played):
    *_, files = played
    original = project_files()
    assert files.keys() == original.keys()
    assert {path for path in files if files[path] != original[path]} == {
        "CHANGELOG.md",
        "stockroom/discounts.py",
        "tests/test_discounts.py",
        "tests/test_pricing.py",
    }


def test_failures_are_those_that_the_script_tells_of(played):
    job, _, _, results, _ = played
    failed = [
        (call.name, dict(call.input))
        for step, row in zip(job.steps, results, strict=True)
        for call, result in zip(step.calls, row, strict=True)
        if result.is_error
    ]
    assert failed == [
        ("run_tests", {}),
        ("read_file", {"path": "stockroom/tax.py"}),
        ("run_tests", {}),
        ("run_tests", {}),
        ("run_tests", {"target": "tests.test_discounts"}),
    ]


def test_the_wrong_repair_breaks_other_tests(played):
    job, _, _, results, _ = played
    edits = [
        n for n, step in enumerate(job.steps) if any(c.name == "edit_file" for c in step.calls)
    ]
    wrong = results[edits[0] + 1][0].text
    assert "FAIL: test_next_break" in wrong
    assert "FAIL: test_four_cases" not in wrong


def test_no_answer_is_empty(played):
    *_, results, _ = played
    assert all(result.text for row in results for result in row)


def test_length_and_weight(played):
    job, *_, results, _ = played
    said = sum(len(r.text) for row in results for r in row)
    said += sum(len(json.dumps(dict(c.input))) for s in job.steps for c in s.calls)
    said += sum(len(step.text or "") for step in job.steps)
    fixed = len(json.dumps([system_blocks(), tools()]))
    assert len(job.steps) > 60
    assert 4_000 <= fixed / CHARACTERS_PER_TOKEN <= 6_000
    assert 120_000 <= (said + fixed) / CHARACTERS_PER_TOKEN <= 200_000
    largest = max(sum(len(r.text) for r in row) for row in results)
    assert largest / CHARACTERS_PER_TOKEN < 10_000


def test_shape_of_the_script():
    job = repair_job()
    *working, last = job.steps
    assert all(step.calls and step.thinking for step in working)
    assert not last.calls
    assert last.text
    assert sum(len(step.calls) > 1 for step in working) >= 5
    assert {call.name for step in working for call in step.calls} <= ARGUMENTS.keys()
    (when,) = job.interjections
    assert 20 <= when <= 35


def test_the_instruction_given_on_the_way_is_followed(played):
    job, *_, files = played
    (instruction,) = job.interjections.values()
    assert "4.2.1" in instruction
    assert "## 4.2.1" in files["CHANGELOG.md"]


def test_two_workspaces_give_the_same_answers(played):
    job, _, _, results, _ = played
    with Workspace() as workspace:
        for step, row in zip(job.steps[:40], results[:40], strict=True):
            assert [workspace.call(call.name, call.input) for call in step.calls] == row
