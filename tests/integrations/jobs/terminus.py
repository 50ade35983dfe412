"""Harbor's Terminus-2 by import path, at a terminal that answers at once."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from harbor.agents.factory import AgentFactory
from harbor.models.agent.context import AgentContext
from work import TASK, Job, job, look

from cuesta.core.digest import OPENING

_PAGES = 32


class _Terminal:
    """Shows a page for each command that names one, as the agent's own session shows a screen."""

    def __init__(self) -> None:
        self._shown = "Current Terminal Screen:\n$ "

    async def is_session_alive(self) -> bool:
        return True

    async def send_keys(self, keys: str, **_: Any) -> None:
        page = re.search(r"page-(\d+)", keys)
        output = look(int(page[1])) if page else ""
        self._shown = f"New Terminal Output:\n\n$ {keys.strip()}\n{output}\n$ "

    async def get_incremental_output(self) -> str:
        shown, self._shown = self._shown, "Current Terminal Screen:\n$ "
        return shown

    async def capture_pane(self, **_: Any) -> str:
        return self._shown


def _agent(asked: Job) -> Any:
    settings: dict[str, Any] = {
        "api_base": f"{asked.url}/v1",
        "record_terminal_session": False,
        "model_info": {
            "max_input_tokens": 200_000,
            "max_output_tokens": 8_000,
            "input_cost_per_token": 0,
            "output_cost_per_token": 0,
        },
    }
    path = "harbor.agents.terminus_2.terminus_2:Terminus2"
    if asked.options is not None:
        path = "cuesta.integrations.harbor:CuestaTerminus2"
        settings |= {key: value for key, value in asked.options.items() if key != "harness"}
    return AgentFactory.create_agent_from_import_path(
        path, logs_dir=Path(), model_name="openai/mock-model", **settings
    )


def _seen(asked: Job) -> Any:
    """Return what the trajectory says of Cuesta; see that it holds every step."""
    trajectory = json.loads(Path("trajectory.json").read_text())
    assert OPENING not in json.dumps(trajectory["steps"])
    assert len(trajectory["steps"]) > _PAGES
    if asked.options is None:
        return None
    kept = trajectory["extra"]["cuesta"]
    assert kept["threshold"] == asked.options["threshold"]
    return SimpleNamespace(cliffs=len(kept["cliffs"]), failures=kept["failures"])


def main() -> None:
    """Do a row's job."""
    asked = job()
    agent = _agent(asked)
    agent._session = _Terminal()
    asyncio.run(agent.run(TASK, SimpleNamespace(), AgentContext()))
    asked.done(_seen(asked))


if __name__ == "__main__":
    main()
