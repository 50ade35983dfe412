"""Tasks on a Ray cluster, or on a small one that is started on this machine for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable
from importlib import import_module
from typing import Any, TypeVar

from cuesta.core.errors import ConfigError
from cuesta.jobs.errors import TaskError
from cuesta.jobs.executors import cores, in_words

Task = TypeVar("Task")
Result = TypeVar("Result")

_STORE_BYTES = 200 << 20


class RayPool:
    """Runs tasks on Ray, which comes with the extra `ray`. See `executors.Executor`.

    Args:
        workers: How many tasks run at once; 0: one a core that this process may use.
        address: A running cluster, as Ray names them (`auto`, `ray://host:10001`); empty: one is
            started on this machine, reports nothing to anybody, and ends with `map`.

    Raises:
        ConfigError: If Ray is not installed.
    """

    def __init__(self, workers: int = 0, address: str = "") -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            self._ray: Any = import_module("ray")
        except ImportError as error:
            raise ConfigError("Ray is not installed: pip install 'cuesta[ray]'") from error
        self._address = address
        self.workers = workers or cores()

    def map(
        self, function: Callable[[Task], Result], tasks: Iterable[Task]
    ) -> Generator[tuple[int, Result], None, None]:
        """See `Executor.map`."""
        begun = not self._ray.is_initialized()
        if begun:
            self._begin()
        remote = self._ray.remote(max_retries=0)(function)
        numbered = enumerate(tasks)
        running: dict[Any, int] = {}
        try:
            while True:
                while len(running) < self.workers and (taken := next(numbered, None)) is not None:
                    running[remote.remote(taken[1])] = taken[0]
                if not running:
                    return
                (reference,), _ = self._ray.wait([*running], num_returns=1)
                index = running.pop(reference)
                yield index, self._result(index, reference)
        finally:
            for reference in running:
                self._ray.cancel(reference, force=True)
            if begun:
                self._ray.shutdown()

    def _begin(self) -> None:
        if self._address:
            self._ray.init(address=self._address, log_to_driver=False)
            return
        os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # else a token is left in the home
        self._ray.init(
            num_cpus=self.workers,
            include_dashboard=False,
            _node_ip_address="127.0.0.1",
            object_store_memory=_STORE_BYTES,
            log_to_driver=False,
        )

    def _result(self, index: int, reference: Any) -> Any:  # noqa: ANN401 - the function's own
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.RayTaskError as error:
            cause = getattr(error, "cause", None)
            raise TaskError(index, in_words(cause or error)) from error
        except errors.RayError as error:
            raise TaskError(index, f"its worker died: {type(error).__name__}") from error
