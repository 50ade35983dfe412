"""Terminus-2 by Harbor, on Terminal-Bench. The agent runs on this machine, its commands in Docker.

Its own summarisation stays on for `native` only. It begins when fewer than 8,000 tokens of the
window are free, so a threshold means a window that is as much larger.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cuesta.experiments.needs import Need
from cuesta.experiments.record import NATIVE
from cuesta.experiments.running import Run
from cuesta.experiments.scaffolds import harbor
from cuesta.experiments.scaffolds.external import Plan, adapter_need, by_adapter

if TYPE_CHECKING:
    from cuesta.experiments.models import Endpoint
    from cuesta.experiments.scaffolds.process import Command
    from cuesta.experiments.spec import Block

ADAPTER = "cuesta.integrations.harbor"
CLASS = "CuestaTerminus2"
_USUAL = "adapter"
_FREE = 8_000
_LONGEST_ANSWER = 65_536


class Terminus2(harbor.ByHarbor):
    """See `running.Scaffold`."""

    name = "terminus-2"

    def needs(self, block: Block, endpoint: Endpoint) -> tuple[Need, ...]:
        """Return Harbor, Docker, the key, and Cuesta's adapter."""
        return (*harbor.needs(endpoint), *adapter_need(block, _USUAL, ADAPTER))

    def plan(self, run: Run) -> Plan:
        """See `External.plan`."""
        return replace(
            harbor.plan_of(run, lambda url: self._agent(run, url)),
            adapter=by_adapter(run, _USUAL),
            window=_window(run),
            harness=self.name,
        )

    def _agent(self, run: Run, url: str) -> Command:
        adapter = by_adapter(run, _USUAL)
        cell, window = run.cell, _window(run)
        options: dict[str, object] = {
            "max_turns": run.limits.steps,
            "model_info": {
                "max_input_tokens": window,
                "max_output_tokens": _LONGEST_ANSWER,
                "input_cost_per_token": 0,
                "output_cost_per_token": 0,
            },
        }
        if adapter:
            profile = run.block.profile
            options |= {"threshold": cell.threshold, "profile": profile, "window": window}
        elif cell.strategy != NATIVE:
            options["enable_summarize"] = False
        agent = f"{ADAPTER}:{CLASS}" if adapter else "terminus-2"
        return harbor.command(run, f"{url}/v1", agent, f"openai/{run.endpoint.name}", options)


def _window(run: Run) -> int:
    cell = run.cell
    return cell.threshold + _FREE if cell.strategy == NATIVE and cell.threshold else run.window
