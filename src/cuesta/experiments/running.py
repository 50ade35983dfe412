"""What a scaffold is given to run one cell, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cuesta.experiments.record import NATIVE, Cell

if TYPE_CHECKING:
    from cuesta.experiments.models import Endpoint
    from cuesta.experiments.needs import Need
    from cuesta.experiments.own.crew import Crew
    from cuesta.experiments.spec import Block, Limits
    from cuesta.trace.event import TraceEvent

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class GateOptions:
    """How the proxy before one run is set up.

    Attributes:
        strategy: One of Cuesta's.
        threshold: In tokens.
        profile: What is kept, cut and dropped.
        window: The longest prompt that the model takes here, in tokens.
        reclaim: Tokens of old results that pile up before microcompaction clears them.
        upstream: Where Anthropic's requests go; empty: the official host.
        openai_upstream: Where OpenAI's go; likewise.
        host: The address to listen on.
        harness: Whose plain text stands for calls; empty: the conversation's beginning tells.
    """

    strategy: str
    threshold: int
    profile: str
    window: int
    reclaim: int
    upstream: str = ""
    openai_upstream: str = ""
    host: str = LOOPBACK
    harness: str = ""


class Gate(Protocol):
    """A proxy that stands before one run."""

    @property
    def url(self) -> str:
        """Its base URL, without a path."""

    def events(self) -> list[TraceEvent]:
        """Close it, and return what went through, the oldest first."""


OpenGate = Callable[[GateOptions], AbstractContextManager[Gate]]
"""Runs a proxy while a context lasts; whoever starts an experiment gives it."""


@dataclass(frozen=True, slots=True)
class Run:
    """One cell, and all that decides how it is run.

    Attributes:
        cell: Its place in the matrix.
        block: The block of the spec that it stems from.
        endpoint: Where its model is asked.
        limits: When to stop.
        folder: For whatever the run leaves; empty at its start.
        open_gate: Starts the proxy.
        crew: Plays the model and the agent of `own` tasks.
    """

    cell: Cell
    block: Block
    endpoint: Endpoint
    limits: Limits
    folder: Path
    open_gate: OpenGate
    crew: Crew | None = None

    @property
    def window(self) -> int:
        """The longest prompt that the model takes, in tokens."""
        return self.block.window or self.endpoint.window

    def gate_options(
        self, *, compacts: bool = True, host: str = LOOPBACK, harness: str = ""
    ) -> GateOptions:
        """Return how the proxy is set up.

        Args:
            compacts: Whether the proxy is what compacts; else it measures only.
            host: The address that it listens on.
            harness: Whose plain text stands for calls.
        """
        compacts = compacts and self.cell.strategy != NATIVE
        return GateOptions(
            strategy=self.cell.strategy if compacts else "keep_all",
            threshold=self.cell.threshold if compacts else 0,
            profile=self.block.profile,
            window=self.window,
            reclaim=self.block.reclaim,
            upstream=self.endpoint.anthropic_url,
            openai_upstream=self.endpoint.base_url,
            host=host,
            harness=harness,
        )


@dataclass(frozen=True, slots=True)
class Performed:
    """How a run went.

    Attributes:
        resolved: Whether the task's own check passed; None: it was not checked.
        end: One of `record.ENDS`.
        reason: The end in words, or empty.
        events: What went through the proxy, the oldest first.
        seconds: Wall time, the check left out.
        cliffs_told: Whether the proxy made the cliffs, and so tells of them.
        kinds: One letter for each of the agent's steps, or empty.
        window: The effective window in tokens.
        versions: Packages that took part -> version.
    """

    resolved: bool | None
    end: str
    reason: str
    events: tuple[TraceEvent, ...]
    seconds: float
    cliffs_told: bool
    kinds: str
    window: int
    versions: dict[str, str]


class Scaffold(Protocol):
    """An agent program on its benchmark."""

    name: str
    """What specs call it."""

    def needs(self, block: Block, endpoint: Endpoint) -> tuple[Need, ...]:
        """Return what a block's runs need on this machine."""

    def tasks(self, block: Block, folder: Path) -> tuple[str, ...]:
        """Return the names of all tasks of a block's set.

        Args:
            block: The block.
            folder: Where a data set may be kept.

        Raises:
            ConfigError: If they cannot be found out.
        """

    def describe(self, run: Run) -> tuple[str, ...]:
        """Return the commands of a run as they are shown, `PROXY` for the proxy's address."""

    def perform(self, run: Run) -> Performed:
        """Do one run, to its end or to its limits.

        Raises:
            CuestaError: If anything but the agent failed; the run is tried again another time.
            OSError: Likewise.
        """
