"""Where tasks run: in this process, in several of this machine, or (`jobs.ray`) on a Ray cluster.

An executor runs one function over many tasks. Beyond this process, function, tasks and results are
pickled, and the function is found by its name: one at the top of a module. A task is taken when a
worker is free for it, so tasks may be made while others run, and never lie about in numbers.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Generator, Iterable
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext
from typing import Any, Protocol, TypeVar

from cuesta.jobs.errors import TaskError, WorkerError

Task = TypeVar("Task")
Result = TypeVar("Result")


class Executor(Protocol):
    """Runs tasks."""

    def map(
        self, function: Callable[[Task], Result], tasks: Iterable[Task]
    ) -> Generator[tuple[int, Result], None, None]:
        """Yield each task's number, from 0 on, and its result, as they finish.

        Closed early, or interrupted, it leaves nothing running.

        Args:
            function: What is done with a task.
            tasks: The tasks; the next one is taken when a worker is free.

        Raises:
            TaskError: If a task raises, or its worker dies.
        """


class Here:
    """Runs tasks one after another in this process."""

    def map(
        self, function: Callable[[Task], Result], tasks: Iterable[Task]
    ) -> Generator[tuple[int, Result], None, None]:
        """See `Executor.map`."""
        for index, task in enumerate(tasks):
            try:
                result = function(task)
            except Exception as error:
                raise TaskError(index, in_words(error)) from error
            yield index, result


class LocalPool:
    """Runs tasks in processes of this machine, which end with this one however it ends.

    The standard library's pools cannot say which task a worker died with, and their workers
    outlive a parent that is killed.

    Args:
        workers: How many processes; 0: one a core that this process may use.
    """

    def __init__(self, workers: int = 0) -> None:
        self.workers = workers or cores()

    def map(
        self, function: Callable[[Task], Result], tasks: Iterable[Task]
    ) -> Generator[tuple[int, Result], None, None]:
        """See `Executor.map`."""
        context = multiprocessing.get_context("spawn")
        numbered = enumerate(tasks)
        free: list[_Worker] = []
        busy: dict[Any, tuple[int, _Worker]] = {}
        with contextlib.ExitStack() as workers:
            while True:
                while len(busy) < self.workers and (taken := next(numbered, None)) is not None:
                    worker = free.pop() if free else _Worker(context, function, workers)
                    worker.pipe.send(taken[1])
                    busy[worker.pipe] = taken[0], worker
                if not busy:
                    return
                for pipe in wait([*busy]):
                    index, worker = busy.pop(pipe)
                    result = worker.result(index)
                    free.append(worker)
                    yield index, result


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_words(error: BaseException) -> str:
    """Return an error's kind and message."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


class _Worker:
    """A process that does one task after another.

    Args:
        context: Makes it.
        function: What is done with a task.
        workers: Ends it.
    """

    def __init__(
        self,
        context: SpawnContext,
        function: Callable[[Any], Any],
        workers: contextlib.ExitStack,
    ) -> None:
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, function), daemon=True)
        try:
            self._process.start()
        finally:
            theirs.close()  # so that the pipe ends when the process does
        workers.callback(self._end)

    def result(self, index: int) -> Any:  # noqa: ANN401 - the function's own
        """Return the result of the task that it was given.

        Raises:
            TaskError: If the task raised, or the process is dead.
        """
        try:
            result, trouble = self.pipe.recv()
        except (EOFError, OSError):
            self._process.join()
            raise TaskError(index, f"its worker {_death(self._process.exitcode)}") from None
        if trouble is not None:
            reason, trace = trouble
            raise TaskError(index, reason) from WorkerError(trace)
        return result

    def _end(self) -> None:
        self.pipe.close()
        self._process.kill()
        self._process.join()
        self._process.close()


def _death(status: int | None) -> str:
    """Say how a process died."""
    return f"was killed by signal {-status}" if status and status < 0 else f"ended with {status}"


def _work(pipe: Connection, function: Callable[[Any], Any]) -> None:
    """Do tasks until the pipe ends; a signal from the terminal is the parent's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        while True:
            answer = _answer(function, pipe.recv)
            try:
                pipe.send(answer)
            except OSError:
                raise
            except Exception as error:  # noqa: BLE001 - a result that cannot be pickled
                pipe.send((None, (in_words(error), traceback.format_exc())))


def _answer(function: Callable[[Any], Any], receive: Callable[[], Any]) -> tuple[Any, Any]:
    """Receive a task and do it; return its result and None, or None and what went wrong."""
    task = receive()
    try:
        return function(task), None
    except Exception as error:  # noqa: BLE001 - the parent raises it
        return None, (in_words(error), traceback.format_exc())


def _end_with_parent() -> None:
    """End at once when the parent does, in the middle of a task too."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
