"""What the scaffolds that are programs of their own have in common."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from cuesta.core.errors import CuestaError, RequestError
from cuesta.experiments.account import early_end
from cuesta.experiments.needs import Need, key
from cuesta.experiments.record import DONE, ERROR, NATIVE, SECONDS, STEPS
from cuesta.experiments.running import LOOPBACK, Performed, Run
from cuesta.experiments.scaffolds.process import Command, execute
from cuesta.harnesses.saved.files import find, read_file
from cuesta.lab.activity import activity
from cuesta.lab.prepared import prepare

if TYPE_CHECKING:
    from cuesta.experiments.models import Endpoint
    from cuesta.experiments.spec import Block
    from cuesta.trace.event import TraceEvent

_CHECK_SECONDS = 3600
PLACE = "PROXY"
"""Stands for the proxy's address where a command is only shown."""


def by_adapter(run: Run, usual: str) -> bool:
    """Tell whether a run's strategy works inside the scaffold.

    Args:
        run: The run.
        usual: The scaffold's usual way for `cliff`; all other strategies go through the proxy.
    """
    return run.cell.strategy == "cliff" and (run.block.via or usual) == "adapter"


def model_needs(endpoint: Endpoint, *, anthropic: bool = False) -> tuple[Need, ...]:
    """Return the needs of a model's key, if it has one, and of an address on the agent's wire.

    Args:
        endpoint: How the model is reached.
        anthropic: Whether the agent speaks Anthropic's Messages; else OpenAI's Chat Completions.
    """
    wire, name = (
        ("Anthropic's Messages", "anthropic-url")
        if anthropic
        else ("OpenAI's Chat Completions", "base-url")
    )
    address = Need(
        f"an address where {endpoint.name} speaks {wire}",
        bool(endpoint.anthropic_url if anthropic else endpoint.base_url),
        f'[models."{endpoint.name}"] with {name} = "https://..." in the spec',
    )
    return (*((key(endpoint.key),) if endpoint.key else ()), address)


def adapter_need(block: Block, usual: str, module: str) -> tuple[Need, ...]:
    """Return the need of Cuesta's own adapter, where a block uses it."""
    if "cliff" not in block.strategies or (block.via or usual) != "adapter":
        return ()
    there = find_spec("cuesta.integrations") is not None and find_spec(module) is not None
    how = 'a Cuesta that has it; or write `via = "proxy"` into the block'
    return (Need(f"the adapter {module}", there, how),)


def secret(endpoint: Endpoint) -> str:
    """Return a model's key; engines that ask for none get a word."""
    return os.environ.get(endpoint.key, "") if endpoint.key else "none"


@dataclass(frozen=True, slots=True)
class Plan:
    """How one run of a program is done.

    Attributes:
        agent: The commands that let the agent work, from the proxy's address; the last one is the
            agent itself.
        check: The commands behind it that check what it did.
        resolved: Tells from the run's folder whether the task is resolved; None: it is not known.
        sessions: Tells where the agent saved its session, to read what it did.
        adapter: Whether the strategy works inside the scaffold, so that the proxy only measures.
        host: The address that the proxy listens on.
        window: The effective window in tokens.
        out_of_time: Says in words that the task's own limit of time ended the agent, or nothing.
        harness: Whose plain text stands for calls; empty: it makes calls, or the beginning tells.
        packages: Those whose versions are kept.
    """

    agent: Callable[[str], tuple[Command, ...]]
    check: tuple[Command, ...]
    resolved: Callable[[], bool | None]
    sessions: Callable[[], Iterable[Path]]
    adapter: bool
    window: int
    host: str = LOOPBACK
    out_of_time: Callable[[], str] = str
    harness: str = ""
    packages: tuple[str, ...] = ()

    def shown(self) -> tuple[str, ...]:
        """Return the commands as a person would type them."""
        return tuple(command.shown() for command in (*self.agent(PLACE), *self.check))


class External(ABC):
    """A scaffold that is a program of its own; see `running.Scaffold`."""

    @abstractmethod
    def plan(self, run: Run) -> Plan:
        """Return how a run is done."""

    def describe(self, run: Run) -> tuple[str, ...]:
        """Return the commands of a run."""
        return self.plan(run).shown()

    def perform(self, run: Run) -> Performed:
        """Do one run, and check it; see `running.Scaffold`."""
        return perform(run, self.plan(run))


def perform(run: Run, plan: Plan) -> Performed:
    """Do a run behind a proxy of its own, to its end or its limits, and check it.

    Where a program fails, the run ends in `error` with what was billed until then.

    Raises:
        CuestaError: If the proxy cannot be started.
        OSError: If a file cannot be read or written.
    """
    in_time, failure = True, ""
    options = run.gate_options(compacts=not plan.adapter, host=plan.host, harness=plan.harness)
    with run.open_gate(options) as gate:
        began = time.monotonic()
        try:
            in_time = all(
                execute(command, run.folder, run.limits.minutes * 60)
                for command in plan.agent(gate.url)
            )
        except CuestaError as error:
            failure = str(error)
        seconds = time.monotonic() - began
        events = tuple(gate.events())
    failure = failure or _check(run, plan, events)
    late = plan.out_of_time() if in_time else f"{run.limits.minutes:g} minutes"
    end, reason = (SECONDS, late) if late else _end(run, events, plan.window)
    return Performed(
        resolved=None if failure else plan.resolved(),
        end=ERROR if failure else end,
        reason=failure or reason,
        events=events,
        seconds=round(seconds, 3),
        cliffs_told=not plan.adapter and run.cell.strategy != NATIVE,
        kinds=_kinds(plan.sessions()),
        window=plan.window,
        versions={name: _version(name) for name in ("cuesta", *plan.packages)},
    )


def _check(run: Run, plan: Plan, events: Sequence[TraceEvent]) -> str:
    """Check what the agent did; return what failed, or nothing."""
    if not any(event.dialect for event in events):
        return f"the agent asked its model nothing; see the logs in {run.folder}"
    try:
        for command in plan.check:
            execute(command, run.folder, _CHECK_SECONDS)
    except CuestaError as error:
        return str(error)
    return ""


def _end(run: Run, events: Sequence[TraceEvent], window: int) -> tuple[str, str]:
    early = early_end(events, window)
    if early is not None:
        return early
    answered = sum(event.usage is not None and event.status == 200 for event in events)
    return (STEPS, f"{run.limits.steps} steps") if answered >= run.limits.steps else (DONE, "")


def _kinds(paths: Iterable[Path]) -> str:
    """Return what the agent did at each step, as far as its saved session can be read."""
    letters = ""
    for path in find(paths):
        for saved in read_file(path):
            for session in saved.sessions:
                with suppress(RequestError):
                    letters += activity(prepare(session))
    return letters


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not in this environment"
