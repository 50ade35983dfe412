"""Who plays model and agent on our own tasks; `cuesta.testing` has a crew that follows scripts."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cuesta.experiments.own.tasks import OwnTask


@dataclass(frozen=True, slots=True)
class Assignment:
    """What an agent is asked to do.

    Attributes:
        task: The task.
        folder: The repository that it works in.
        url: Where it asks its model, on Anthropic's wire.
        model: The model.
        seed: The number of the repetition.
        steps: How many calls it may make.
        minutes: How long it may work.
    """

    task: OwnTask
    folder: Path
    url: str
    model: str
    seed: int
    steps: int
    minutes: float


@dataclass(frozen=True, slots=True)
class Played:
    """How an agent ended.

    Attributes:
        end: One of `record.ENDS`.
        reason: In words, or empty.
        kinds: One letter a step, as in `lab.activity`.
    """

    end: str
    reason: str
    kinds: str


class Crew(Protocol):
    """Plays a model and an agent; it is sent to other processes by its name."""

    def provider(self, task: str, seed: int, window: int) -> AbstractContextManager[str]:
        """Run a provider while the context lasts; gives its base URL.

        Args:
            task: The task's name.
            seed: The number of the repetition.
            window: The longest prompt that its model takes, in tokens.
        """

    def play(self, assignment: Assignment) -> Played:
        """Work on a task to its end.

        Raises:
            CuestaError: If anything but the agent and its model failed.
        """
