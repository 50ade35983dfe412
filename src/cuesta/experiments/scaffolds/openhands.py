"""OpenHands' SDK by Harbor. It runs in the task's container, so Cuesta stands before it as a proxy.

The proxy knows the signatures of its tools (the paper's Table 12). Cuesta's condenser does the same
inside the SDK, for those who start it themselves.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cuesta.experiments.needs import Need
from cuesta.experiments.running import Performed, Run
from cuesta.experiments.scaffolds import harbor
from cuesta.experiments.scaffolds.external import Plan, perform

if TYPE_CHECKING:
    from cuesta.experiments.models import Endpoint
    from cuesta.experiments.spec import Block

_AGENT = "openhands-sdk"


class OpenHands:
    """See `running.Scaffold`."""

    name = "openhands"

    def needs(self, block: Block, endpoint: Endpoint) -> tuple[Need, ...]:
        """Return Harbor, Docker and the key."""
        del block
        return harbor.needs(endpoint)

    def tasks(self, block: Block, folder: Path) -> tuple[str, ...]:
        """Return the set's tasks, by Harbor."""
        return harbor.tasks(block, folder)

    def describe(self, run: Run) -> tuple[str, ...]:
        """Return the command of a run."""
        return self._plan(run).shown()

    def perform(self, run: Run) -> Performed:
        """Run one task."""
        return perform(run, self._plan(run))

    def _plan(self, run: Run) -> Plan:
        options: dict[str, object] = {"max_iterations": run.limits.steps}
        model = f"openai/{run.endpoint.name}"
        return Plan(
            agent=lambda url: (
                harbor.command(run, f"{harbor.from_container(url)}/v1", _AGENT, model, options),
            ),
            check=(),
            resolved=lambda: harbor.resolved(run),
            sessions=lambda: harbor.sessions(run),
            out_of_time=lambda: harbor.out_of_time(run),
            adapter=False,
            host=harbor.host(),
            window=run.window,
            packages=("harbor",),
        )
