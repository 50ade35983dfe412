"""Our own tasks: a crew plays model and agent, with real tools, through the real proxy."""

from __future__ import annotations

import time
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING

from cuesta.core.errors import CuestaError
from cuesta.experiments.needs import Need, program
from cuesta.experiments.own.crew import Assignment
from cuesta.experiments.own.repository import make, resolved
from cuesta.experiments.own.tasks import OWN_TASKS
from cuesta.experiments.running import Performed, Run

if TYPE_CHECKING:
    from pathlib import Path

    from cuesta.experiments.models import Endpoint
    from cuesta.experiments.spec import Block


class Own:
    """See `running.Scaffold`."""

    name = "own"

    def needs(self, block: Block, endpoint: Endpoint) -> tuple[Need, ...]:
        """Return git: neither key nor Docker is needed."""
        del block, endpoint
        return (program("git", "install git from your system's packages"),)

    def tasks(self, block: Block, folder: Path) -> tuple[str, ...]:
        """Return the six tasks."""
        del block, folder
        return tuple(OWN_TASKS)

    def describe(self, run: Run) -> tuple[str, ...]:
        """Return what is done in words: no command is started."""
        return (f"a scripted agent repairs {run.cell.task} through PROXY, on this machine",)

    def perform(self, run: Run) -> Performed:
        """Make the repository, let the crew work in it, and check it."""
        if run.crew is None:
            raise CuestaError("nobody plays the agent of the own tasks")
        cell, task = run.cell, OWN_TASKS[run.cell.task]
        repository = run.folder / "repository"
        repository.mkdir(parents=True)
        make(task, cell.seed, repository)
        with (
            run.crew.provider(cell.task, cell.seed, run.window) as upstream,
            run.open_gate(replace(run.gate_options(), upstream=upstream)) as gate,
        ):
            began = time.monotonic()
            played = run.crew.play(
                Assignment(
                    task=task,
                    folder=repository,
                    url=gate.url,
                    model=cell.model,
                    seed=cell.seed,
                    steps=run.limits.steps,
                    minutes=run.limits.minutes,
                )
            )
            seconds = time.monotonic() - began
            events = tuple(gate.events())
        return Performed(
            resolved=resolved(task, cell.seed, repository),
            end=played.end,
            reason=played.reason,
            events=events,
            seconds=round(seconds, 3),
            cliffs_told=True,
            kinds=played.kinds,
            window=run.window,
            versions={"cuesta": version("cuesta")},
        )
