"""What `cuesta run` says at its end about going on without Cuesta."""

import json
import subprocess
from pathlib import Path

import pytest
from cli_support import CUESTA, started

from cuesta.cli.run import parting_lines
from cuesta.harnesses import find_harness
from cuesta.trace.leaving import Obstacles

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="reads process states from /proc"
)

COMPACT = "cuesta run -- claude --continue -p /compact"


def history(model, turns=8):
    """A request with a history of calls, each with a long output."""
    messages = [{"role": "user", "content": "the task"}]
    for n in range(turns):
        use = {"type": "tool_use", "id": f"toolu_{n}", "name": "bash", "input": {"command": f"{n}"}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": "a line\n" * 200}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    tools = [{"name": "bash", "input_schema": {"type": "object"}}]
    return {"model": model, "max_tokens": 99, "messages": messages, "tools": tools}


def summarised(body):
    """The same history, and the demand to summarise it."""
    demand = {"role": "user", "content": "CRITICAL: Respond with TEXT ONLY."}
    return {**body, "messages": [*body["messages"], demand]}


@pytest.fixture
def run(agent, environment, upstream):
    """Return a function that runs an agent named `claude` and tells what was said at its end."""
    program = agent.folder / "claude"
    program.write_text(f'#!/bin/sh\nexec {agent.command} "$@"\n')
    program.chmod(0o700)

    def run_agent(*bodies, options=("--threshold", "2000")):
        argv = [*CUESTA, "run", "--upstream", upstream.address, *options, "--", str(program)]
        with started(argv, env=environment, stderr=subprocess.PIPE, text=True) as process:
            agent.started_by(process)
            for body in bodies:
                assert "good day" in agent.ask("post", f"/v1/messages {json.dumps(body)}")
            agent.order("exit", "0")
            return process.communicate(timeout=60)[1].splitlines()

    return run_agent


def test_thinking_that_would_be_refused(run):
    first, *lines = run(history("claude-opus-5-5"))
    assert "1 cliff" in first
    assert lines == [
        "cuesta: to go on without Cuesta (thinking would be refused), first:",
        COMPACT,
    ]


def test_a_history_that_would_not_fit(run):
    options = ("--threshold", "2000", "--window", "4000")
    _, *lines = run(history("claude-sonnet-4-5", turns=30), options=options)
    assert lines[0].startswith("cuesta: to go on without Cuesta (")
    assert lines[0].endswith("K tokens would not fit 4K), first:")
    assert lines[1:] == [COMPACT]


def test_nothing_where_nothing_is_in_the_way(run):
    lines = run(history("claude-sonnet-4-5"))
    assert len(lines) == 1
    assert "1 cliff" in lines[0]


def test_nothing_before_the_first_cliff(run):
    assert len(run(history("claude-opus-5-5", turns=1))) == 1


def test_nothing_once_the_history_was_summarised(run):
    body = history("claude-opus-5-5")
    lines = run(body, summarised(body))
    assert len(lines) == 1
    assert "1 cliff" in lines[0]


def test_nothing_of_an_earlier_run(run, agent):
    assert len(run(history("claude-opus-5-5"))) == 3
    (agent.folder / "state.json").unlink()
    lines = run(history("claude-sonnet-4-5", turns=9))
    assert len(lines) == 1


@pytest.mark.parametrize("command", ["claude", "codex", "pi", "my-agent"])
def test_every_agent_s_words_fit_a_terminal(command):
    leaving = find_harness([command]).leaving
    thinking = parting_lines(Obstacles(thinking=True), leaving)
    assert bool(thinking) is (command != "pi")
    for found in (Obstacles(thinking=True), Obstacles(tokens=281_300, window=200_000)):
        lines = f"cuesta: {parting_lines(found, leaving)}".splitlines()
        assert len(lines) <= 2
        assert max(map(len, lines)) <= 80


def test_both_reasons_are_told():
    words = parting_lines(Obstacles(True, 281_300, 200_000), find_harness(["claude"]).leaving)
    assert "(thinking would be refused, 281K tokens would not fit 200K), first:\n" in words
