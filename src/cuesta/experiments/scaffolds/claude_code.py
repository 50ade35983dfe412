"""Claude Code by Harbor, on Terminal-Bench, through the proxy. It runs in the task's container.

Its own compaction stays on for `native` only: a threshold is the window that it is told to count
with, `CLAUDE_CODE_AUTO_COMPACT_WINDOW`. It compacts some way below, so the report compares what
contexts came to, not what was asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from cuesta.experiments.needs import Need
from cuesta.experiments.record import NATIVE
from cuesta.experiments.running import Run
from cuesta.experiments.scaffolds import harbor
from cuesta.experiments.scaffolds.external import Plan

if TYPE_CHECKING:
    from cuesta.experiments.models import Endpoint
    from cuesta.experiments.scaffolds.process import Command
    from cuesta.experiments.spec import Block

_WINDOW = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"
_OFF = "DISABLE_AUTO_COMPACT"


class ClaudeCode(harbor.ByHarbor):
    """See `running.Scaffold`."""

    name = "claude-code"

    def needs(self, block: Block, endpoint: Endpoint) -> tuple[Need, ...]:
        """Return Harbor, Docker, the key, and an address on Anthropic's wire."""
        del block
        return harbor.needs(endpoint, anthropic=True)

    def plan(self, run: Run) -> Plan:
        """See `External.plan`."""
        native = run.cell.strategy == NATIVE
        return replace(
            harbor.plan_of(run, lambda url: self._agent(run, harbor.from_container(url))),
            host=harbor.host(),
            window=(native and run.cell.threshold) or run.window,
        )

    def _agent(self, run: Run, url: str) -> Command:
        options: dict[str, object] = {"max_turns": run.limits.steps}
        command = harbor.command(run, url, "claude-code", f"anthropic/{run.endpoint.name}", options)
        return replace(command, argv=(*command.argv, *_environment(run)))


def _environment(run: Run) -> Iterator[str]:
    """Yield the flags that set variables for the agent."""
    cell = run.cell
    if cell.strategy != NATIVE:
        yield from ("--agent-env", f"{_OFF}=1")
    elif cell.threshold:
        yield from ("--agent-env", f"{_WINDOW}={cell.threshold}")
