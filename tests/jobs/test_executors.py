"""Where tasks run: all of them once, nothing left behind, and every failure by its task's name."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from job_support import die, endless, pid, spin, square, stumble, unpicklable

from cuesta.core.errors import ConfigError
from cuesta.jobs.errors import TaskError, WorkerError
from cuesta.jobs.executors import Here, LocalPool, cores
from cuesta.jobs.ray import RayPool
from watching import alive, wait_for

HERE = Path(__file__).parent
LINUX = pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads processes from /proc")


@pytest.mark.parametrize("executor", [Here(), LocalPool(1), LocalPool(3)])
def test_every_task_is_done_once(executor):
    results = dict(executor.map(square, range(20)))
    assert results == {number: number * number for number in range(20)}


@pytest.mark.parametrize("executor", [Here(), LocalPool(2)])
def test_no_tasks_are_no_work(executor):
    assert list(executor.map(square, [])) == []


def test_a_pool_works_in_other_processes_and_has_no_more_than_it_was_told():
    pids = {found for _, found in LocalPool(2).map(pid, range(12))}
    assert os.getpid() not in pids
    assert 1 <= len(pids) <= 2


def test_a_pool_has_a_worker_a_core_by_default():
    assert LocalPool().workers == cores() >= 1


@pytest.mark.parametrize("executor", [Here(), LocalPool(2)])
def test_tasks_are_taken_only_when_a_worker_is_free(executor):
    taken = []

    def tasks():
        for number in count():
            taken.append(number)
            yield number

    with closing(executor.map(square, tasks())) as results:
        for _ in range(5):
            next(results)
    assert len(taken) <= 5 + 2


@pytest.mark.parametrize("executor", [Here(), LocalPool(2)])
def test_a_task_that_raises_is_named(executor):
    with pytest.raises(TaskError, match="task 3: ValueError: three is too many") as caught:
        list(executor.map(stumble, range(10)))
    assert caught.value.index == 3
    cause = caught.value.__cause__
    assert isinstance(cause, ValueError if isinstance(executor, Here) else WorkerError)
    assert "three is too many" in str(cause)


def test_a_worker_that_dies_is_named_by_its_task_among_several():
    with pytest.raises(TaskError, match="task 3: its worker was killed by signal 9") as caught:
        list(LocalPool(3).map(die, range(10)))
    assert caught.value.index == 3


def test_a_result_that_cannot_come_back_is_named():
    with pytest.raises(TaskError, match=r"task 0: .*[Pp]ickle"):
        list(LocalPool(1).map(unpicklable, [0]))


@LINUX
def test_a_map_that_is_closed_in_the_middle_of_a_task_leaves_no_process(tmp_path):
    told = tmp_path / "pid"
    with closing(LocalPool(2).map(endless_after_one, [(0, ""), (1, str(told))])) as results:
        next(results)
        worker = int(wait_for(lambda: told.exists() and told.read_text()))
        assert alive(worker)
    assert not alive(worker)


def endless_after_one(task):
    number, path = task
    return endless(path) if number else number


PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from job_support import endless
from cuesta.jobs.executors import LocalPool
if __name__ == "__main__":
    list(LocalPool(2).map(endless, sys.argv[2:]))
"""


@LINUX
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_a_parent_that_is_interrupted_or_killed(tmp_path, number):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    told = [tmp_path / "one", tmp_path / "two"]
    with subprocess.Popen(
        [sys.executable, program, HERE, *told], stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        workers = [int(wait_for(lambda t=t: t.exists() and t.read_text())) for t in told]
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does
        else:
            process.send_signal(number)
        process.wait(30)
    for worker in workers:
        wait_for(lambda worker=worker: not alive(worker))


def test_a_pool_works_from_a_thread_of_a_program_too():
    found = []
    thread = threading.Thread(target=lambda: found.extend(LocalPool(1).map(square, [7])))
    thread.start()
    thread.join()
    assert found == [(0, 49)]


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"cuesta\[ray\]"):
        RayPool()


@pytest.mark.filterwarnings("default")
def test_tasks_run_on_ray(monkeypatch):
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'cuesta[ray]'")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]))
    pool = RayPool(2)
    assert dict(pool.map(square, range(20))) == {n: n * n for n in range(20)}
    assert dict(pool.map(spin, [1])) == {0: spin(1)}
    with pytest.raises(TaskError, match="task 3: ValueError: three is too many"):
        list(pool.map(stumble, range(5)))
    with pytest.raises(TaskError, match="task 3: its worker died"):
        list(pool.map(die, range(5)))
