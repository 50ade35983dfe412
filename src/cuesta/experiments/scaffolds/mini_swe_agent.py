"""mini-swe-agent on SWE-bench Verified, by its own runner; SWE-bench's own evaluation checks it.

Sources: mini-swe-agent 2.4.6 (`mini-extra swebench --help`) and SWE-bench's evaluation guide,
2026-11. The agent runs on this machine, its commands in the task's container.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from cuesta.core.errors import ConfigError
from cuesta.experiments.needs import Need, docker, package
from cuesta.experiments.running import Run
from cuesta.experiments.scaffolds.external import (
    External,
    Plan,
    adapter_need,
    by_adapter,
    model_needs,
    secret,
)
from cuesta.experiments.scaffolds.process import Command
from cuesta.experiments.tasksets import TASK_SETS

if TYPE_CHECKING:
    from cuesta.experiments.models import Endpoint
    from cuesta.experiments.spec import Block

ADAPTER = "cuesta.integrations.mini_swe_agent"
CLASS = "CuestaModel"
_USUAL = "adapter"
_RUN_ID = "cuesta"


class MiniSweAgent(External):
    """See `running.Scaffold`."""

    name = "mini-swe-agent"

    def needs(self, block: Block, endpoint: Endpoint) -> tuple[Need, ...]:
        """Return the packages, Docker, the key, and Cuesta's adapter."""
        return (
            package("minisweagent", "mini-swe-agent>=2.4"),
            package("datasets", "datasets"),
            package("swebench", "swebench>=4"),
            docker(),
            *model_needs(endpoint),
            *adapter_need(block, _USUAL, ADAPTER),
        )

    def tasks(self, block: Block, folder: Path) -> tuple[str, ...]:
        """Return the names of all instances.

        Raises:
            ConfigError: If the data set cannot be read.
        """
        del folder
        try:
            rows = import_module("datasets").load_dataset(_dataset(block), split="test")
        except Exception as error:  # noqa: BLE001 - the package's own, of many kinds
            raise ConfigError(f"the tasks of {block.task_set} cannot be fetched: {error}") from None
        return tuple(sorted(rows["instance_id"]))

    def plan(self, run: Run) -> Plan:
        """See `External.plan`."""
        return Plan(
            agent=lambda url: (_agent(run, url),),
            check=(_evaluation(run),),
            resolved=lambda: _resolved(run),
            sessions=lambda: run.folder.glob("out/*/*.traj.json"),
            adapter=by_adapter(run, _USUAL),
            window=run.window,
            packages=("mini-swe-agent", "swebench"),
        )


def _agent(run: Run, url: str) -> Command:
    configs = ("swebench.yaml", *_settings(run, url))
    return Command(
        (
            sys.executable, "-m", "minisweagent.run.benchmarks.swebench",
            "--subset", "verified",
            "--split", "test",
            "--filter", f"^{re.escape(run.cell.task)}$",
            "--model", f"openai/{run.endpoint.name}",
            "--output", str(run.folder / "out"),
            "--workers", "1",
            *(word for config in configs for word in ("--config", config)),
        ),
        {
            "OPENAI_API_KEY": secret(run.endpoint),
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
        },
    )  # fmt: skip


def _settings(run: Run, url: str) -> Iterator[str]:
    yield f"model.model_kwargs.api_base={url}/v1"
    yield f"agent.step_limit={run.limits.steps}"
    yield "agent.cost_limit=0"
    if by_adapter(run, _USUAL):
        options = {"threshold": run.cell.threshold, "profile": run.block.profile}
        yield f"model.model_class={ADAPTER}.{CLASS}"
        yield f"model.cuesta={json.dumps(options)}"


def _evaluation(run: Run) -> Command:
    return Command(
        (
            sys.executable, "-m", "swebench.harness.run_evaluation",
            "--dataset_name", _dataset(run.block),
            "--predictions_path", str(run.folder / "out" / "preds.json"),
            "--instance_ids", run.cell.task,
            "--max_workers", "1",
            "--run_id", _RUN_ID,
        ),
    )  # fmt: skip


def _resolved(run: Run) -> bool | None:
    """Read SWE-bench's report: `MODEL.RUN_ID.json` in the folder of the command."""
    for path in run.folder.glob(f"*.{_RUN_ID}.json"):
        report = json.loads(path.read_text(encoding="utf-8"))
        return run.cell.task in report.get("resolved_ids", ())
    return None


def _dataset(block: Block) -> str:
    return TASK_SETS[block.task_set].dataset
