"""`cuesta run` in front of the real Claude Code: its requests arrive, whatever its settings say."""

import json
from pathlib import Path

import pytest
from cli_support import cuesta

CLAUDE = (
    Path(__file__).parents[2] / ".clients/node_modules/@anthropic-ai/claude-code/bin/claude.exe"
)

pytestmark = [
    pytest.mark.clients,
    pytest.mark.skipif(not CLAUDE.exists(), reason=f"Claude Code is not installed at {CLAUDE}"),
]


@pytest.fixture
def home(tmp_path, environment):
    environment.update(
        ANTHROPIC_API_KEY="sk-dummy",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        IS_SANDBOX="1",
        TERM="dumb",
    )
    (tmp_path / ".claude").mkdir()
    return tmp_path


def test_requests_arrive_in_spite_of_a_settings_file(home, environment, upstream):
    """The file names the upstream, and without `--settings` Claude Code would go there directly."""
    settings = {"env": {"ANTHROPIC_BASE_URL": upstream.address}}
    (home / ".claude" / "settings.json").write_text(json.dumps(settings))
    result = cuesta("run", "--", str(CLAUDE), "-p", "hi", env=environment, cwd=home)
    assert "/v1/messages?beta=true" in upstream.paths
    assert "no request came through" not in result.stderr
    told = json.loads(cuesta("explain", "--json", env=environment).stdout)
    assert "/v1/messages" in {event["path"] for event in told}


def test_a_settings_file_of_a_project_is_refused_as_a_guide(home, environment, upstream):
    project = home / "project" / ".claude" / "settings.json"
    project.parent.mkdir(parents=True)
    project.write_text(json.dumps({"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}}))
    folder = project.parents[1]
    command = ("--", str(CLAUDE), "-p", "hi")
    assert cuesta("run", *command, env=environment, cwd=folder).returncode == 2
    cuesta("run", "--upstream", upstream.address, *command, env=environment, cwd=folder)
    assert "/v1/messages?beta=true" in upstream.paths
