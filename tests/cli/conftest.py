"""A command that can be watched, and a real interactive shell to start it from."""

import contextlib
import os
import signal
import subprocess

import pytest
from cli_support import CUESTA, SOURCES, Agent, Shell, Upstream, started


@pytest.fixture
def agent(tmp_path):
    folder = tmp_path / "agent"
    folder.mkdir()
    agent = Agent(folder)
    yield agent
    if (folder / "state.json").exists():
        with contextlib.suppress(ProcessLookupError):
            os.kill(agent.state["pid"], signal.SIGKILL)


@pytest.fixture
def environment(tmp_path):
    """Variables for a command that must not see the person's own files."""
    return {
        "PYTHONPATH": str(SOURCES),
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "PATH": os.environ["PATH"],
        "COLUMNS": "80",
    }


@pytest.fixture
def upstream():
    upstream = Upstream()
    yield upstream
    upstream.close()


@pytest.fixture
def serving(environment, upstream):
    """A proxy that was started by hand, with the block it printed."""
    argv = [*CUESTA, "serve", "--port", "0", "--upstream", upstream.address]
    with started(argv, env=environment, stdout=subprocess.PIPE, text=True) as process:
        block = "".join(iter(process.stdout.readline, "\n"))
        block += process.stdout.readline() + process.stdout.readline()
        process.address = block.split()[3]
        process.port = process.address.rpartition(":")[2]
        process.block = block
        yield process


@pytest.fixture
def shell(environment):
    shell = Shell(environment)
    yield shell
    shell.process.close(force=True)
