"""Runs Harbor's Terminus-2 on this machine: python terminus_2.py PARSER FOLDER.

Harbor's environments are containers; this one is a folder and the machine's own shell.
"""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

from harbor.agents.terminus_2 import Terminus2
from harbor.environments.base import ExecResult
from harbor.models.agent.context import AgentContext


class Here:
    """What Terminus-2 asks of an environment, as long as it records nothing and has no skills."""

    session_id = "here"
    default_user = None

    def __init__(self, folder):
        self.trial_paths = SimpleNamespace(agent_dir=folder)

    async def exec(self, command, **_):
        done = await asyncio.to_thread(
            subprocess.run, ["bash", "-c", command], capture_output=True, text=True, check=False
        )
        return ExecResult(stdout=done.stdout, stderr=done.stderr, return_code=done.returncode)


async def main(url, parser, folder):
    """Let it do its task; the model ends it."""
    agent = Terminus2(
        logs_dir=folder,
        model_name="openai/my-model",
        api_base=url,
        parser_name=parser,
        record_terminal_session=False,
        proactive_summarization_threshold=0,
        model_info={
            "max_input_tokens": 1_000_000,
            "max_output_tokens": 8_000,
            "input_cost_per_token": 0,
            "output_cost_per_token": 0,
        },
    )
    here = Here(folder)
    await agent.setup(here)
    try:
        await agent.run("Look at everything.", here, AgentContext())
    finally:
        await here.exec("tmux kill-server")


if __name__ == "__main__":
    kind, logs = sys.argv[1:]
    asyncio.run(main(os.environ["OPENAI_BASE_URL"], kind, Path(logs)))
