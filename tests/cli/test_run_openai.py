"""`cuesta run` with OpenAI's API: the environment, Codex and Pi, and where their requests go."""

import json
import sys
from pathlib import Path

import pytest
from cli_support import CUESTA, cuesta, started

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="reads process states from /proc"
)


@pytest.fixture
def told(environment, tmp_path):
    """Return a function that runs a program of any name, and tells how it was started."""

    def run_named(name):
        program = tmp_path / name
        told = tmp_path / "told.json"
        program.write_text(
            f"#!{sys.executable}\nimport json, os, sys\n"
            f"json.dump([sys.argv[1:], dict(os.environ)], open({str(told)!r}, 'w'))\n"
        )
        program.chmod(0o700)
        assert cuesta("run", "--", str(program), "hi", env=environment).returncode == 0
        return json.loads(told.read_text())

    return run_named


def test_an_openai_address_of_the_environment_is_the_upstream(agent, environment, upstream):
    environment["OPENAI_BASE_URL"] = f"{upstream.address}/api/openai/v1"
    with started([*CUESTA, "run", *agent.command.split()], env=environment) as process:
        agent.started_by(process)
        seen = agent.state["environment"]
        assert seen["OPENAI_BASE_URL"] == f"{seen['ANTHROPIC_BASE_URL']}/v1"
        assert "good day" in agent.ask("post", '/v1/chat/completions {"model": "m"}')
        assert upstream.paths[-1] == "/api/openai/v1/chat/completions"
        agent.order("exit", "0")
        assert process.wait(timeout=60) == 0


@pytest.mark.parametrize("option", ["--openai-upstream", "--chatgpt-upstream"])
def test_an_upstream_that_makes_no_sense_is_named(option, environment):
    result = cuesta("run", option, "nonsense", "--", "true", env=environment)
    assert result.returncode == 2
    assert option in result.stderr
    assert "must be a URL" in result.stderr


def test_another_cuesta_is_refused_as_openai_s_upstream(serving, environment):
    environment["OPENAI_BASE_URL"] = f"{serving.address}/v1"
    result = cuesta("run", "--", "true", env=environment)
    assert result.returncode == 2
    assert "is a Cuesta proxy already" in result.stderr
    assert "OPENAI_BASE_URL" in result.stderr
    assert "--openai-upstream" in result.stderr


def test_an_http_proxy_that_cannot_be_used_for_openai_stops_no_other_agent(environment, upstream):
    environment["ALL_PROXY"] = "socks5://127.0.0.1:1080"
    command = ("run", "--upstream", upstream.address, "--", "true")
    assert cuesta(*command, env=environment).returncode == 0


def test_codex_is_started_with_another_address(told, environment, upstream):
    folder = Path(environment["HOME"]) / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(f'openai_base_url = "{upstream.address}/v1"')
    (flag, value, prompt), _ = told("codex")
    assert (flag, prompt) == ("-c", "hi")
    assert value.startswith('openai_base_url="http://127.0.0.1:')
    assert upstream.address not in value


def test_pi_is_started_with_an_extension(told):
    (flag, extension, prompt), environment = told("pi")
    assert (flag, prompt) == ("--extension", "hi")
    assert Path(extension).is_file()
    addresses = json.loads(environment["CUESTA_PI_PROVIDERS"])
    assert addresses["openai"].startswith("http://127.0.0.1:")
