"""Pi, headless, through `cuesta run`, on each of its three wires that Cuesta reads.

The provider is the strict simulator; the tool calls are Pi's own and really executed. Two wires
belong to Pi's own providers, the third to one that `models.json` adds.
"""

import json

import pytest
from client_rig import (
    FIRST_WORDS,
    LAST_WORDS,
    check_session,
    ended_well,
    run,
    session,
    tool,
    turns_of,
)

from conftest import FOLDER, program
from cuesta.testing.simulator import Simulator

pytestmark = pytest.mark.clients

SHELL = tool("bash", "command")


@pytest.fixture
def pi(environment, home):
    """Return a function that runs `pi -p` through a proxy."""
    path = program("Pi", ".bin/pi")
    node = program("node 22, which Pi needs,", "node/bin/node").parent

    def run_pi(cuesta, *words, options=(), **variables):
        env = {
            **environment,
            **variables,
            "PATH": f"{node}:{environment['PATH']}",
            "PI_OFFLINE": "1",
        }
        return run(cuesta, env, home, options, [path, "-p", *words])

    return run_pi


@pytest.mark.parametrize(
    ("model", "option", "dialect", "path"),
    [
        ("anthropic/claude-opus-5-5", "--upstream", "anthropic", "/v1/messages"),
        ("openai/gpt-5.5", "--openai-upstream", "openai_responses", "/v1/responses"),
    ],
    ids=["anthropic-messages", "openai-responses"],
)
def test_a_provider_of_pi_s_own(cuesta, pi, environment, home, model, option, dialect, path):
    assert FOLDER.is_dir()
    with Simulator(session(SHELL, 1200)).in_thread() as simulator:
        options = ("--threshold", "40000", option, simulator.url)
        keys = {"ANTHROPIC_API_KEY": "sk-ant-dummy", "OPENAI_API_KEY": "sk-dummy"}
        words = ("--model", model)
        first = pi(cuesta, *words, "Look at everything.", options=options, **keys)
        ended_well(first, FIRST_WORDS)
        resumed = pi(cuesta, *words, "-c", "Go on.", options=options, **keys)
        ended_well(resumed, LAST_WORDS)
        assert "saved" in first.stderr
        assert not (home / ".pi" / "agent" / "models.json").exists()
        check_session(
            f"Pi, {dialect}", simulator, turns_of(cuesta, environment),
            dialect=dialect, path=path, model=model.partition("/")[2],
        )  # fmt: skip


def test_a_provider_of_one_s_own_on_chat_completions(cuesta, pi, environment, home):
    with Simulator(session(SHELL, 1200)).in_thread() as simulator:
        provider = {
            "baseUrl": f"{simulator.url}/v1",
            "api": "openai-completions",
            "apiKey": "sk-mine",
            "models": [{"id": "my-model", "reasoning": True, "contextWindow": 200_000}],
        }
        models = home / ".pi" / "agent" / "models.json"
        models.parent.mkdir(parents=True)
        models.write_text(json.dumps({"providers": {"mine": provider}}))
        before = models.read_bytes()
        words = ("--provider", "mine", "--model", "my-model")
        options = ("--threshold", "40000")
        first = pi(cuesta, *words, "Look at everything.", options=options)
        ended_well(first, FIRST_WORDS)
        resumed = pi(cuesta, *words, "-c", "Go on.", options=options)
        ended_well(resumed, LAST_WORDS)
        assert models.read_bytes() == before
        check_session(
            "Pi, openai_chat", simulator, turns_of(cuesta, environment),
            dialect="openai_chat", path="/v1/chat/completions", model="my-model",
        )  # fmt: skip
