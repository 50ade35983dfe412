"""A run: killed and resumed it comes to the same records; limits stop it between tasks."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from job_support import IDENTITY, TASKS, children, die, spin, square, stumble

from cuesta.jobs.errors import TaskError
from cuesta.jobs.executors import Here, LocalPool
from cuesta.jobs.records import Records
from cuesta.jobs.run import Limits, run
from watching import alive, wait_for

HERE = Path(__file__).parent


def kept(folder):
    with Records(folder, IDENTITY) as records:
        return dict(records)


def lines(folder):
    path = folder / "records.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def started(folder):
    return subprocess.Popen(
        [sys.executable, HERE / "job_support.py", folder], stdout=subprocess.PIPE, text=True
    )


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads processes from /proc")
@pytest.mark.parametrize("enough", [1, 7, 25])
def test_a_run_that_was_killed_goes_on_to_the_same_records(tmp_path, enough):
    with started(tmp_path) as process:
        wait_for(lambda: lines(tmp_path) >= enough)
        workers = children(process.pid)
        process.send_signal(signal.SIGKILL)
    for worker in workers:
        wait_for(lambda worker=worker: not alive(worker))
    before = kept(tmp_path)
    assert enough <= len(before) < len(TASKS)
    with started(tmp_path) as process:
        out, _ = process.communicate(timeout=60)
    assert json.loads(out) == [len(TASKS), len(TASKS)]
    after = kept(tmp_path)
    assert after == {key: spin(task) for key, task in TASKS.items()}
    assert lines(tmp_path) == len(TASKS)
    assert list(after)[: len(before)] == list(before)


def test_a_worker_that_is_killed_ends_the_run_by_its_tasks_name_and_nothing_is_lost(tmp_path):
    tasks = {f"task-{number}": number for number in range(10)}
    with Records(tmp_path, IDENTITY) as records:
        with pytest.raises(TaskError, match="task task-3: its worker was killed by signal 9"):
            run(die, tasks, records, LocalPool(2))
        before = records.done()
        assert run(square, tasks, records, LocalPool(2)).done == 10
        assert before <= records.done() == {*tasks}


def test_a_task_that_fails_is_named_by_its_key(tmp_path):
    tasks = {f"task-{number}": number for number in range(5)}
    with Records(tmp_path, IDENTITY) as records:
        with pytest.raises(TaskError, match="task task-3: ValueError: three is too many"):
            run(stumble, tasks, records, Here())
        assert records.done() == {"task-0", "task-1", "task-2"}


def test_progress_counts_what_was_done_before(tmp_path):
    told = []
    with Records(tmp_path, IDENTITY) as records:
        run(square, {"a": 1}, records, Here())
        run(square, {"a": 1, "b": 2, "c": 3}, records, Here(), progress=lambda *n: told.append(n))
    assert told == [(1, 3, ""), (2, 3, "b"), (3, 3, "c")]


def dollars(record):
    return record["number"] / 100


def test_money_of_earlier_runs_counts(tmp_path):
    limits = Limits(money=0.10, cost=dollars)
    tasks = dict(list(TASKS.items())[1:])
    with Records(tmp_path, IDENTITY) as records:
        outcome = run(spin, tasks, records, Here(), limits=limits)
        assert (outcome.done, outcome.total, outcome.stopped_by) == (4, 39, "money")
        assert outcome.cost == pytest.approx(0.10)
        again = run(spin, tasks, records, Here(), limits=limits)
        assert (again.done, again.stopped_by) == (4, "money")
        more = run(spin, tasks, records, Here(), limits=Limits(money=0.15, cost=dollars))
        assert (more.done, more.stopped_by) == (5, "money")


def test_what_has_begun_when_a_limit_is_reached_is_kept(tmp_path):
    with Records(tmp_path, IDENTITY) as records:
        outcome = run(spin, TASKS, records, LocalPool(2), limits=Limits(money=0.01, cost=dollars))
        assert outcome.stopped_by == "money"
        assert 2 <= outcome.done <= 4
        assert len(records.done()) == outcome.done


def test_no_time_left_is_no_task_begun(tmp_path):
    with Records(tmp_path, IDENTITY) as records:
        outcome = run(square, TASKS, records, Here(), limits=Limits(seconds=0.0))
        assert (outcome.done, outcome.total, outcome.stopped_by) == (0, len(TASKS), "seconds")


def test_time_that_runs_out_stops_between_tasks(tmp_path):
    with Records(tmp_path, IDENTITY) as records:
        outcome = run(spin, TASKS, records, Here(), limits=Limits(seconds=0.05))
        assert 0 < outcome.done < len(TASKS)
        assert outcome.stopped_by == "seconds"


def test_a_run_that_is_done_does_nothing(tmp_path):
    with Records(tmp_path, IDENTITY) as records:
        run(square, {"a": 1}, records, Here())
        outcome = run(os.kill, {"a": 1}, records, Here())
        assert (outcome.done, outcome.stopped_by) == (1, "")
