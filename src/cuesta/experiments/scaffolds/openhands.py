"""OpenHands' SDK by Harbor. It runs in the task's container, so Cuesta stands before it as a proxy.

The proxy knows the signatures of its tools (the paper's Table 12). Cuesta's condenser does the same
inside the SDK, for those who start it themselves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cuesta.experiments.needs import Need
from cuesta.experiments.running import Run
from cuesta.experiments.scaffolds import harbor
from cuesta.experiments.scaffolds.external import Plan

if TYPE_CHECKING:
    from cuesta.experiments.models import Endpoint
    from cuesta.experiments.spec import Block

_AGENT = "openhands-sdk"


class OpenHands(harbor.ByHarbor):
    """See `running.Scaffold`."""

    name = "openhands"

    def needs(self, block: Block, endpoint: Endpoint) -> tuple[Need, ...]:
        """Return Harbor, Docker and the key."""
        del block
        return harbor.needs(endpoint)

    def plan(self, run: Run) -> Plan:
        """See `External.plan`."""
        options: dict[str, object] = {"max_iterations": run.limits.steps}
        model = f"openai/{run.endpoint.name}"
        planned = harbor.plan_of(
            run,
            lambda url: harbor.command(
                run, f"{harbor.from_container(url)}/v1", _AGENT, model, options
            ),
        )
        return replace(planned, host=harbor.host())
