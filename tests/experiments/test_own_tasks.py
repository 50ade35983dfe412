"""Our own tasks: each fails before its repair and passes behind it, and habits do as they are."""

from __future__ import annotations

import subprocess

import pytest
from experiment_support import means, own

from cuesta.experiments.matrix import run_matrix
from cuesta.experiments.own.repository import files, make, resolved
from cuesta.experiments.own.tasks import OWN_TASKS, Edit
from cuesta.experiments.record import DONE, STEPS, WINDOW, read_records
from cuesta.testing.habits import HABITS, habit_of
from cuesta.testing.workspace import ToolResult

TASKS = list(OWN_TASKS)


def change(folder, edit: Edit) -> None:
    path = folder / edit.path
    text = path.read_text()
    assert text.count(edit.old) == 1
    path.write_text(text.replace(edit.old, edit.new))


def git(folder, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.mark.parametrize("name", TASKS)
def test_a_task_fails_before_its_repair_and_passes_behind_it(tmp_path, name):
    task = OWN_TASKS[name]
    make(task, 0, tmp_path)
    assert git(tmp_path, "status", "--porcelain") == ""
    assert not resolved(task, 0, tmp_path)
    change(tmp_path, task.repair)
    assert resolved(task, 0, tmp_path)


@pytest.mark.parametrize("name", TASKS)
def test_a_test_that_was_spoilt_resolves_nothing(tmp_path, name):
    from cuesta.testing.crew import Checkout  # noqa: PLC0415 - the agent's own tools

    task = OWN_TASKS[name]
    make(task, 0, tmp_path)
    workspace = Checkout(tmp_path)
    assert not workspace.tests_pass()
    change(tmp_path, task.spoilt)
    assert workspace.tests_pass()
    assert not resolved(task, 0, tmp_path)


def test_code_that_is_gone_resolves_nothing(tmp_path):
    task = OWN_TASKS[TASKS[0]]
    make(task, 0, tmp_path)
    (tmp_path / task.module).unlink()
    assert not resolved(task, 0, tmp_path)


def test_a_repository_is_the_same_for_a_seed_and_another_for_another(tmp_path):
    task = OWN_TASKS[TASKS[0]]
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        (tmp_path / name).mkdir()
        make(task, seed, tmp_path / name)
    first, again, other = (git(tmp_path / name, "rev-parse", "HEAD") for name in "abc")
    assert first == again != other
    assert files(task, 0)[task.module] == files(task, 1)[task.module]


def test_the_shell_is_a_real_one_in_the_repository(tmp_path):
    from cuesta.testing.crew import Checkout  # noqa: PLC0415 - the agent's own tools

    make(OWN_TASKS[TASKS[0]], 0, tmp_path)
    told = Checkout(tmp_path).call("bash", {"command": "git log --oneline | wc -l; pwd; exit 3"})
    assert told == ToolResult("1\n/workspace\n", is_error=True)


def test_every_habit_works_once_a_seed_and_elsewhere_with_the_next():
    for seed in (0, 1):
        assert {habit_of(name, seed) for name in TASKS} == set(HABITS)
    assert all(habit_of(name, 0) != habit_of(name, 1) for name in TASKS)


EXPECTED = {
    "steady": (True, DONE),
    "forgetful": (True, DONE),
    "sloppy": (False, DONE),
    "spoiler": (False, DONE),
    "verbose": (True, DONE),
    "looping": (False, WINDOW),
}


def test_each_habit_ends_as_it_is_meant_to(tmp_path):
    run_matrix(own(tasks="[]", window="24_000"), means(tmp_path))
    records = {habit_of(r.cell.task, 0): r for r in read_records(tmp_path)}
    assert {habit: (r.resolved, r.end) for habit, r in records.items()} == EXPECTED
    assert records["looping"].early
    assert all(len(r.calls.kinds) == len(r.calls.prompt) == r.steps for r in records.values())
    assert all(r.prompts == tuple(sorted(r.prompts)) for r in records.values())
    assert "R" in records["looping"].calls.kinds


def test_a_cliff_makes_the_forgetful_agent_read_again(tmp_path):
    spec = own(strategies='["cliff"]', thresholds="[16_000]", tasks='["span-merger"]')
    run_matrix(spec, means(tmp_path / "cliff"))
    run_matrix(own(tasks='["span-merger"]'), means(tmp_path / "all"))
    (cut,), (whole,) = (read_records(tmp_path / name) for name in ("cliff", "all"))
    assert cut.cliffs
    assert cut.resolved
    assert whole.cliffs == ()
    assert cut.peak < whole.peak
    assert cut.calls.kinds.count("R") > whole.calls.kinds.count("R")


def test_a_limit_of_steps_ends_a_run(tmp_path):
    run_matrix(own(steps="3"), means(tmp_path))
    (record,) = read_records(tmp_path)
    assert (record.end, record.steps, record.early) == (STEPS, 3, False)


def test_two_runs_of_a_cell_differ_in_nothing_but_time(tmp_path):
    spec = own(strategies='["summary"]', thresholds="[16_000]", tasks='["slug-maker"]')
    for name in "ab":
        run_matrix(spec, means(tmp_path / name))
    (one,), (two,) = (read_records(tmp_path / name) for name in "ab")
    assert one.asked.prompt > 0
    timeless = [
        (r.usage, r.perfect, r.cliffs, r.calls.prompt, r.calls.output, r.calls.kinds, r.resolved)
        for r in (one, two)
    ]
    assert timeless[0] == timeless[1]
