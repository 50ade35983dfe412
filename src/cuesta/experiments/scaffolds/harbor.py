"""Harbor runs an agent in a task's container and checks what it did there.

Sources: Harbor 0.26's `harbor run --help` and its `TrialResult`, 2026-11. A task is run from a
folder that `harbor datasets download` fetched once, so that a run names exactly one task.
"""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuesta.core.errors import ConfigError, CuestaError
from cuesta.experiments.needs import Need, docker, program
from cuesta.experiments.running import LOOPBACK, Run
from cuesta.experiments.scaffolds.external import External, Plan, model_needs, secret
from cuesta.experiments.scaffolds.process import Command, execute
from cuesta.experiments.tasksets import TASK_SETS

if TYPE_CHECKING:
    from cuesta.experiments.models import Endpoint
    from cuesta.experiments.spec import Block

_KEY = "CUESTA_EXPERIMENT_KEY"
_DOWNLOAD_SECONDS = 1800
_SECONDS = 10
_TIMEOUT = "AgentTimeoutError"
_BRIDGE = "{{(index .IPAM.Config 0).Gateway}}"


def needs(endpoint: Endpoint, *, anthropic: bool = False) -> tuple[Need, ...]:
    """Return what every run by Harbor needs; see `external.model_needs`."""
    how = "pip install 'cuesta[harbor]' (Python 3.12 or newer)"
    return (program("harbor", how), docker(), *model_needs(endpoint, anthropic=anthropic))


def tasks(block: Block, folder: Path) -> tuple[str, ...]:
    """Return the names of a set's tasks, downloaded if they are not there yet.

    Raises:
        ConfigError: If Harbor cannot fetch them.
    """
    place = _place(block.task_set, folder)
    if not any(place.glob("**/task.toml")):
        place.mkdir(parents=True, exist_ok=True)
        dataset = TASK_SETS[block.task_set].harbor
        fetch = Command(("harbor", "datasets", "download", dataset, "-o", str(place)))
        try:
            execute(fetch, place, _DOWNLOAD_SECONDS)
        except CuestaError as error:
            raise ConfigError(f"the tasks of {block.task_set} cannot be fetched: {error}") from None
    return tuple(sorted(path.parent.name for path in place.glob("**/task.toml")))


class ByHarbor(External):
    """A scaffold that Harbor runs and checks; see `running.Scaffold`."""

    def tasks(self, block: Block, folder: Path) -> tuple[str, ...]:
        """Return the set's tasks, by Harbor."""
        return tasks(block, folder)


def plan_of(run: Run, agent: Callable[[str], Command]) -> Plan:
    """Return how Harbor does a run whose agent works on this machine and compacts nothing itself.

    Args:
        run: The run.
        agent: The command that lets the agent work, from the proxy's address.
    """
    return Plan(
        agent=lambda url: (agent(url),),
        check=(),
        resolved=lambda: resolved(run),
        sessions=lambda: sessions(run),
        out_of_time=lambda: out_of_time(run),
        adapter=False,
        window=run.window,
        packages=("harbor",),
    )


def command(run: Run, url: str, agent: str, model: str, options: dict[str, object]) -> Command:
    """Return the command that runs one task.

    Args:
        run: The run.
        url: What the agent is told to be its provider.
        agent: Harbor's name of the agent, or an import path.
        model: The model as Harbor names it, with its provider before a slash.
        options: The agent's own.
    """
    return Command(
        (
            "harbor", "run", "--yes", "--quiet",
            "--path", str(_task(run)),
            "--jobs-dir", str(run.folder / "jobs"),
            "--job-name", "run",
            "--n-concurrent", "1",
            "--agent", agent,
            "--model", model,
            "--base-url", url,
            "--api-key-name", _KEY,
            *_options(options),
        ),
        {_KEY: secret(run.endpoint)},
    )  # fmt: skip


def resolved(run: Run) -> bool | None:
    """Read from the job's folder whether the task's tests passed: all rewards are 1."""
    for trial in _trials(run):
        rewards = (trial.get("verifier_result") or {}).get("rewards")
        if rewards:
            return all(value >= 1 for value in rewards.values())
    return None


def out_of_time(run: Run) -> str:
    """Read from the job's folder whether the task's own limit of time ended the agent, and how."""
    for trial in _trials(run):
        trouble = trial.get("exception_info") or {}
        if trouble.get("exception_type") == _TIMEOUT:
            return str(trouble.get("exception_message") or "the task's own limit of time")
    return ""


def sessions(run: Run) -> Iterable[Path]:
    """Return where the agent's trajectory is, if it saved one."""
    return (run.folder / "jobs").glob("run/*/agent/trajectory.json")


@functools.cache
def host() -> str:
    """Return an address of this machine that containers reach: Docker's own bridge on Linux.

    Docker Desktop leads `host.docker.internal` to the loopback.
    """
    found = shutil.which("docker")
    if found is None or not sys.platform.startswith("linux"):
        return LOOPBACK
    words = [found, "network", "inspect", "bridge", "--format", _BRIDGE]
    try:
        done = subprocess.run(words, capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603 - fixed words
    except (OSError, subprocess.TimeoutExpired):
        return LOOPBACK
    return done.stdout.decode().strip() or LOOPBACK


def from_container(url: str) -> str:
    """Return a proxy's address as a container names it."""
    return url.replace(LOOPBACK, "host.docker.internal")


def _trials(run: Run) -> Iterator[dict[str, Any]]:
    for path in sorted((run.folder / "jobs").glob("run/*/result.json")):
        yield json.loads(path.read_text(encoding="utf-8"))


def _options(options: dict[str, object]) -> Iterable[str]:
    for name, value in options.items():
        yield from (
            "--agent-kwarg",
            f"{name}={json.dumps(value) if not isinstance(value, str) else value}",
        )


def _place(task_set: str, folder: Path) -> Path:
    return folder / "tasks" / task_set


def _task(run: Run) -> Path:
    """Return the folder of a run's task; where it is not fetched yet, where it will be."""
    place = _place(run.cell.task_set, run.folder.parent.parent)
    found = [path.parent for path in place.glob(f"**/{run.cell.task}/task.toml")]
    return found[0] if found else place / run.cell.task
