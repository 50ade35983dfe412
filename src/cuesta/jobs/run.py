"""A run: many tasks, each done once, kept when done, until all are done or a limit is reached."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from cuesta.jobs.errors import TaskError
from cuesta.jobs.executors import Executor
from cuesta.jobs.records import Records

Task = TypeVar("Task")


class Progress(Protocol):
    """Told how far a run has come."""

    def __call__(self, done: int, total: int, label: str) -> None:
        """Take the news.

        Args:
            done: How many tasks have a record, those of earlier runs included.
            total: How many tasks there are.
            label: The key of the task that was done last; empty at the start.
        """


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop; looked at before a task is begun. What has begun is finished and kept.

    Attributes:
        seconds: From this run's start; None: any time.
        money: The sum of all costs, those of earlier runs included, in the unit of `cost`; None:
            any sum.
        cost: Tells from a record what its task has cost.
    """

    seconds: float | None = None
    money: float | None = None
    cost: Callable[[Any], float] = lambda _: 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended.

    Attributes:
        done: How many tasks have a record.
        total: How many tasks there are.
        cost: The sum of all costs.
        stopped_by: `seconds` or `money`, or empty: all tasks were done.
    """

    done: int
    total: int
    cost: float
    stopped_by: str


NO_LIMITS = Limits()


def run(  # noqa: PLR0913 - each is one thing that whoever starts a run decides
    function: Callable[[Task], Any],
    tasks: Mapping[str, Task],
    records: Records,
    executor: Executor,
    *,
    limits: Limits = NO_LIMITS,
    progress: Progress | None = None,
) -> Outcome:
    """Do all tasks that have no record yet, and keep a record of each as soon as it is done.

    Args:
        function: What is done with a task; it returns the record, as JSON's plain values.
        tasks: The tasks by their keys.
        records: Where records are kept.
        executor: Where tasks run.
        limits: When to stop.
        progress: Told after each task.

    Raises:
        TaskError: If a task raises, or its worker dies, naming its key. What was done before is
            kept.
    """
    course = _Course(tasks, records, limits)
    tell = progress or _nobody
    tell(course.done, len(tasks), "")
    keys: list[str] = []
    try:
        with closing(executor.map(function, course.next_tasks(keys))) as results:
            for index, record in results:
                course.keep(keys[index], record)
                tell(course.done, len(tasks), keys[index])
    except TaskError as error:
        raise TaskError(error.index, error.reason, keys[error.index]) from error
    return Outcome(course.done, len(tasks), course.cost, course.stopped_by)


def _nobody(done: int, total: int, label: str) -> None:
    """Tell nobody."""
    del done, total, label


class _Course:
    """How far a run has come."""

    def __init__(self, tasks: Mapping[str, Any], records: Records, limits: Limits) -> None:
        self._tasks = tasks
        self._records = records
        self._limits = limits
        self._began = time.monotonic()
        self._before = records.done()
        self.done = sum(key in self._before for key in tasks)
        self.cost = sum(limits.cost(record) for key, record in records if key in tasks)
        self.stopped_by = ""

    def next_tasks(self, keys: list[str]) -> Iterator[Any]:
        """Yield tasks while no limit is reached, and append the key of each."""
        for key, task in self._tasks.items():
            if key in self._before:
                continue
            self.stopped_by = self._reached()
            if self.stopped_by:
                return
            keys.append(key)
            yield task

    def keep(self, key: str, record: Any) -> None:  # noqa: ANN401 - any JSON
        self._records.add(key, record)
        self.done += 1
        self.cost += self._limits.cost(record)

    def _reached(self) -> str:
        limits = self._limits
        if limits.seconds is not None and time.monotonic() - self._began >= limits.seconds:
            return "seconds"
        return "money" if limits.money is not None and self.cost >= limits.money else ""
