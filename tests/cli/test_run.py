"""`cuesta run` as people use it: the real proxy, a provider on this machine, a watched agent."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_support import CALL, CUESTA, cuesta, started

from cuesta.cli.run import saving_line
from watching import alive, wait_for

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="reads process states from /proc"
)


@pytest.fixture
def running(agent, environment, upstream):
    """An agent beside its proxy, without a terminal."""
    argv = [*CUESTA, "run", "--upstream", upstream.address, "--", *agent.command.split()]
    with started(
        argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        agent.started_by(process)
        yield process


def proxy_of(launcher):
    """Return the pid of a launcher's proxy: the child that is no agent."""
    children = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
    return next(
        int(pid) for pid in children if b"--run-id" in Path(f"/proc/{pid}/cmdline").read_bytes()
    )


def said(process):
    """Return what the launcher and its agent printed to the end."""
    out, err = process.communicate(timeout=60)
    return out, err


def test_requests_go_through_and_the_end_says_what_it_was_worth(running, agent, upstream):
    assert "good day" in agent.ask("post", f"/v1/messages {CALL}")
    assert upstream.paths[-1] == "/v1/messages"
    agent.order("exit", "3")
    assert said(running) == ("", "cuesta: 1 call, 0 cliffs\n")
    assert running.returncode == 3


def test_the_agent_is_told_by_its_environment(running, agent):
    environment = agent.state["environment"]
    assert environment["ANTHROPIC_BASE_URL"].startswith("http://127.0.0.1:")
    assert environment["NO_PROXY"] == environment["no_proxy"] == "127.0.0.1,localhost,::1"
    assert not [name for name in environment if name.startswith("CUESTA_")]
    agent.order("exit", "0")
    _, err = said(running)
    assert err.startswith("cuesta: no request came through the proxy.")


def test_an_address_that_was_set_is_the_upstream(agent, environment, upstream):
    environment["ANTHROPIC_BASE_URL"] = upstream.address
    with started(
        [*CUESTA, "run", *agent.command.split()], env=environment, stderr=subprocess.DEVNULL
    ) as process:
        agent.started_by(process)
        assert "good day" in agent.ask("get", "/any/path?query=1")
        assert upstream.paths[-1] == "/any/path?query=1"
        agent.order("exit", "0")
        assert process.wait(timeout=60) == 0


def test_a_killed_proxy_is_back_for_the_next_request(running, agent):
    first = proxy_of(running.pid)
    assert "good day" in agent.ask("get", "/one")
    os.kill(first, signal.SIGKILL)
    assert "good day" in agent.ask("get", "/two")
    assert proxy_of(running.pid) != first
    agent.order("exit", "0")
    out, err = said(running)
    assert out == ""
    assert err == "cuesta: 1 request came, none was a conversation\n"


def test_the_proxy_ends_with_a_killed_launcher(running, agent):
    assert "good day" in agent.ask("get", "/one")
    proxy = proxy_of(running.pid)
    running.kill()
    wait_for(lambda: not alive(proxy))


def test_on_a_terminal_only_the_agent_is_seen_until_its_end(shell, agent, upstream):
    command = f"{' '.join(CUESTA)} run --upstream {upstream.address} -- {agent.command}"
    shell.start(command)
    agent.ask("post", f"/v1/messages {CALL}")
    agent.ask("say", "hello")
    shell.press("c")
    wait_for(lambda: agent.signals == ["SIGINT"])
    shell.press("z")
    assert "Stopped" in shell.prompt()
    shell.start("fg")
    assert "good day" in agent.ask("post", f"/v1/messages {CALL}")
    agent.order("exit", "5")
    printed = shell.prompt()
    assert printed.endswith("cuesta: 2 calls, 0 cliffs\n")
    assert printed.count("cuesta: ") == 1
    assert shell.last_status == 5


def test_each_request_is_recorded_under_the_run(running, agent, environment):
    agent.ask("post", f"/v1/messages {CALL}")
    agent.order("exit", "0")
    said(running)
    told = json.loads(cuesta("explain", "--json", env=environment).stdout)
    assert [event["action"] for event in told] == ["keep"]
    assert told[0]["run"]


def test_the_proxy_s_log_is_private_and_leaves_when_it_is_empty(running, agent, tmp_path):
    agent.ask("get", "/one")
    (log,) = (tmp_path / "state" / "cuesta" / "logs").iterdir()
    assert log.stat().st_mode & 0o777 == 0o600
    agent.order("exit", "0")
    said(running)
    assert not log.exists()


def test_a_state_folder_that_cannot_be_used_stops_no_agent(agent, environment, upstream, tmp_path):
    (tmp_path / "file").write_text("in the way")
    argv = [*CUESTA, "run", "--upstream", upstream.address, "--state-dir", tmp_path / "file"]
    with started(
        [*argv, "--", *agent.command.split()], env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        agent.started_by(process)
        assert "good day" in agent.ask("post", f"/v1/messages {CALL}")
        agent.order("exit", "0")
        _, err = said(process)
    assert err.startswith("cuesta: 1 call, 0 cliffs\ncuesta: warning: ")


def test_another_cuesta_is_refused_as_the_upstream(serving, agent, environment):
    environment["ANTHROPIC_BASE_URL"] = serving.address
    result = cuesta("run", "--", *agent.command.split(), env=environment)
    assert result.returncode == 2
    assert f"{serving.address} is a Cuesta proxy already" in result.stderr
    assert "--upstream" in result.stderr
    assert not (agent.folder / "state.json").exists()


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["run", "--", "no-such-agent"], 127, "no-such-agent: command not found"),
        (["run", "--", "/"], 126, "/: cannot be started: Permission denied"),
        (["run"], 2, "which command? For example: cuesta run -- claude"),
        (["run", "--"], 2, "which command?"),
        (["run", "--threshold", "x", "--", "true"], 2, "argument --threshold: expected a whole"),
        (["run", "--profile", "loud", "--", "true"], 2, "loud"),
        (["run", "--port", "1", "--", "true"], 2, "unrecognized arguments: --port"),
        (["serve", "--upstream", "nonsense"], 2, "must be a URL like https://host, not 'nonsense'"),
        (["run", "--upstream", "nonsense", "--", "true"], 2, "must be a URL like https://host"),
        (["serve", "--port", "70000"], 2, "port 70000 does not exist"),
        (["demo", "--threshold", "5"], 2, "argument --threshold: expected 0 or at least 1000"),
        (["demo", "--out", "/dev/null/x"], 1, "/dev/null/x: Not a directory"),
        (["frobnicate"], 2, "there is no verb `frobnicate`; see `cuesta --help`."),
        (["statsu"], 2, "did you mean `cuesta status`?"),
    ],
)
def test_mistakes_are_told_in_words(words, status, message, environment):
    result = cuesta(*words, env=environment)
    assert result.returncode == status
    assert "cuesta: error: " in result.stderr
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr
    assert max(map(len, result.stderr.splitlines())) <= 80


@pytest.mark.parametrize("variable", ["ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"])
@pytest.mark.parametrize("address", ["http://127.0.0.1:99999", "http://[::1", "http://h h/"])
def test_an_address_of_the_environment_that_makes_no_sense_is_named(variable, address, environment):
    environment[variable] = address
    result = cuesta("run", "--", "echo", "started", env=environment)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"cuesta: error: {variable}: ")
    assert "Traceback" not in result.stderr


def test_an_unknown_variable_is_a_warning(environment):
    environment["CUESTA_UPSTREM"] = "x"
    result = cuesta("run", "--", "echo", "started", env=environment)
    assert result.stdout == "started\n"
    told = " ".join(result.stderr.split())
    assert told.startswith("cuesta: warning: the environment variable CUESTA_UPSTREM is no option")
    assert "did you mean CUESTA_UPSTREAM?" in told


def test_an_http_proxy_that_cannot_be_used_is_told_before_the_start(environment):
    environment["ALL_PROXY"] = "socks5://127.0.0.1:1080"
    result = cuesta("run", "--", "echo", "started", env=environment)
    assert result.returncode == 2
    assert "socks5" in result.stderr
    assert result.stdout == ""


def test_claude_code_is_started_with_its_settings_overridden(tmp_path, environment, upstream):
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        "print(json.dumps([sys.argv[1:], dict(os.environ)]))\n"
    )
    program.chmod(0o755)
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"env": {"ANTHROPIC_BASE_URL": upstream.address}}))
    environment["PATH"] = f"{program.parent}:{environment['PATH']}"
    result = cuesta("run", "--", "claude", "-p", "hi", env=environment)
    argv, seen = json.loads(result.stdout)
    assert json.loads(argv[1]) == {"env": {"ANTHROPIC_BASE_URL": seen["ANTHROPIC_BASE_URL"]}}
    assert argv == ["--settings", argv[1], "-p", "hi"]
    assert "ENABLE_TOOL_SEARCH" not in seen, "the upstream is not the official host"


def test_warnings_stand_before_the_start(tmp_path, environment):
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\necho started >&2\n")
    program.chmod(0o755)
    environment["CLAUDE_CODE_USE_BEDROCK"] = "1"
    result = cuesta("run", "--", str(program), env=environment)
    before, _, after = result.stderr.partition("started\n")
    assert before.startswith("cuesta: warning: CLAUDE_CODE_USE_BEDROCK in the environment makes")
    assert after.startswith("cuesta: no request came through the proxy.")
    assert max(map(len, result.stderr.splitlines())) <= 80


def status(calls=62, cliffs=4, failed=0, account=None, passed=0, unanswered=0, refused=0):
    model = {"requests": calls, "raw_tokens": 31_000_000, "sent_tokens": 12_400_000}
    return {
        "models": {"m": model} if calls else {},
        "cliffs": cliffs,
        "requests": {"keep": calls - failed, "failed": failed, "pass": passed},
        "account": account,
        "unanswered": unanswered,
        "refused": refused,
        "trouble": "no answer from example.com: no connection" if unanswered else "",
    }


def account(cost=0.81, saved=1.23, unpriced=(), subscription=False):
    return {
        "cost_usd": cost,
        "saved_usd": saved,
        "unpriced_models": list(unpriced),
        "subscription": subscription,
    }


IN_TOKENS = "62 calls, 4 cliffs, 18.6M of 31M prompt tokens saved (estimate)"


@pytest.mark.parametrize(
    ("told", "line"),
    [
        (status(account=account()), "62 calls, 4 cliffs, about $1.23 of $2.04 saved (estimate)"),
        (
            status(account=account(saved=-0.1)),
            "62 calls, 4 cliffs, about $0.10 more than without (estimate)",
        ),
        (status(account=account(subscription=True)), IN_TOKENS),
        (
            status(account={**account(cost=2.04), "shadow": True}),
            "62 calls, 4 cliffs, about $1.23 of $2.04 would have been saved (estimate)",
        ),
        (
            status(account={**account(subscription=True), "shadow": True}),
            IN_TOKENS.replace("saved", "would have been saved"),
        ),
        (status(account=account(unpriced=["m"])), IN_TOKENS),
        (status(), IN_TOKENS),
        (status(calls=1, cliffs=0, account=account()), "1 call, 0 cliffs"),
        (status(cliffs=0, failed=2), "62 calls, 0 cliffs, 2 failed open: see `cuesta explain`"),
        (status(calls=0, passed=1), "1 request came, none was a conversation"),
        (status(calls=0, passed=3), "3 requests came, none was a conversation"),
        (
            status(calls=4, cliffs=0, passed=1, unanswered=3, refused=1),
            (
                "4 calls, 0 cliffs\n"
                "3 of 5 requests got no answer; the last: no answer from example.com: "
                "no connection\n"
                "1 of 5 requests got an error for an answer: see `cuesta explain`"
            ),
        ),
    ],
)
def test_the_saving_in_words(told, line):
    assert saving_line(told) == line


def test_an_upstream_that_is_not_there_is_told_at_the_end(agent, environment):
    argv = [*CUESTA, "run", "--upstream", "http://127.0.0.1:1", "--", *agent.command.split()]
    with started(argv, env=environment, stderr=subprocess.PIPE, text=True) as process:
        agent.started_by(process)
        assert "502" in agent.ask("post", f"/v1/messages {CALL}")
        agent.order("exit", "0")
        _, err = said(process)
    assert "1 of 1 request got no answer; the last: no answer from 127.0.0.1" in err
    assert max(map(len, err.splitlines())) <= 80


def test_nothing_saved_because_nothing_came():
    assert "no request came through the proxy" in saving_line(status(calls=0))
