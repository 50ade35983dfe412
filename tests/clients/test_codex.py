"""Codex, headless, through `cuesta run`: its built-in provider with a key and with a ChatGPT login,
and a provider of the person's own.

The provider is the strict simulator; the tool calls are Codex's own and really executed.
"""

import base64
import json
import time

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

from conftest import program
from cuesta.testing.simulator import Simulator, ToolCall

pytestmark = pytest.mark.clients

MODEL = "gpt-5.5-codex"
SHELL = tool("exec_command", "cmd")
CODE_MODEL = "gpt-6.2-sol"
EXEC = ("exec", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check")


def code(command):
    """Return a call as models make it that write programs around their tools."""
    program_text = f"text((await tools.exec_command({{cmd: {json.dumps(command)}}})).output)"
    return ToolCall("exec", {"input": program_text}, kind="custom_tool_call")


@pytest.fixture
def codex(environment, home):
    """Return a function that runs `codex exec` through a proxy."""
    path = program("Codex", ".bin/codex")

    def run_codex(cuesta, *words, options=(), model=MODEL, **variables):
        command = [path, *EXEC, "-m", model, *words]
        return run(cuesta, {**environment, **variables}, home, options, command)

    return run_codex


def configure(home, text):
    """Write the person's configuration; nothing goes to the real back end."""
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(
        f'chatgpt_base_url = "http://127.0.0.1:9/backend-api/"\n{text}'
    )


@pytest.mark.parametrize(("model", "shell"), [(MODEL, SHELL), (CODE_MODEL, code)])
def test_the_built_in_provider_with_a_key(cuesta, codex, environment, home, model, shell):
    configure(home, "")
    with Simulator(session(shell, 1200)).in_thread() as simulator:
        keywords = {
            "options": ("--threshold", "30000", "--openai-upstream", simulator.url),
            "model": model,
            "CODEX_API_KEY": "sk-dummy",
        }
        first = codex(cuesta, "Look at everything.", **keywords)
        ended_well(first, FIRST_WORDS)
        resumed = codex(cuesta, "resume", "--last", "Go on.", **keywords)
        ended_well(resumed, LAST_WORDS)
        assert "saved" in first.stderr
        assert not [call.path for call in simulator.calls if call.upgrade]
        check_session(
            f"Codex, built-in provider, {model}", simulator, turns_of(cuesta, environment),
            dialect="openai_responses", path="/v1/responses", model=model,
        )  # fmt: skip


def test_a_provider_of_one_s_own(cuesta, codex, environment, home):
    with Simulator(session(SHELL, 1200)).in_thread() as simulator:
        text = f"""
            model_provider = "mine"
            [model_providers.mine]
            name = "mine"
            base_url = "{simulator.url}/v1"
            wire_api = "responses"
            env_key = "MY_KEY"
        """
        configure(home, text)
        options = ("--threshold", "30000")
        first = codex(cuesta, "Look at everything.", options=options, MY_KEY="sk-mine")
        ended_well(first, FIRST_WORDS)
        assert "provider: mine" in first.stderr
        resumed = codex(cuesta, "resume", "--last", "Go on.", options=options, MY_KEY="sk-mine")
        ended_well(resumed, LAST_WORDS)
        check_session(
            "Codex, one's own provider", simulator, turns_of(cuesta, environment),
            dialect="openai_responses", path="/v1/responses", model=MODEL,
        )  # fmt: skip


def token(account):
    """Return a token such as a login leaves: good in form only."""
    claims = {
        "exp": int(time.time()) + 1_000_000,
        "email": "someone@example.com",
        "https://api.openai.com/auth": {
            "chatgpt_account_id": account,
            "chatgpt_plan_type": "pro",
            "chatgpt_user_id": "user-1",
        },
    }
    parts = (json.dumps(part).encode() for part in ({"alg": "none"}, claims))
    return ".".join([*(base64.urlsafe_b64encode(p).rstrip(b"=").decode() for p in parts), "c2ln"])


def test_the_built_in_provider_with_a_chatgpt_login(cuesta, codex, environment, home):
    configure(home, "")
    login = {
        "auth_mode": "chatgpt",
        "OPENAI_API_KEY": None,
        "tokens": {
            "id_token": token("account-1"),
            "access_token": token("account-1"),
            "refresh_token": "refresh",
            "account_id": "account-1",
        },
        "last_refresh": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    (home / ".codex" / "auth.json").write_text(json.dumps(login))
    with Simulator(session(SHELL, 1200)).in_thread() as simulator:
        options = ("--threshold", "30000")
        options += ("--chatgpt-upstream", f"{simulator.url}/backend-api/codex")
        first = codex(cuesta, "Look at everything.", options=options)
        ended_well(first, FIRST_WORDS)
        resumed = codex(cuesta, "resume", "--last", "Go on.", options=options)
        ended_well(resumed, LAST_WORDS)
        check_session(
            "Codex, ChatGPT login", simulator, turns_of(cuesta, environment),
            dialect="openai_responses", path="/backend-api/codex/responses", model=MODEL,
        )  # fmt: skip
