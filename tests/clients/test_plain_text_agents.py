"""Agents that send no tools, the real packages, through `cuesta run` and without it.

mini-swe-agent 1.x on two wires and Harbor's Terminus-2 in both of its formats, against the strict
simulator. Their commands are really executed.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from client_rig import refusals, run, turns_of

from conftest import program_of
from cuesta.testing.simulator import ListScript, Simulator, Step

pytestmark = pytest.mark.clients

ROUNDS = 66
CLIFFS = 3
THRESHOLD = "30000"
BOUND = 20_000
"""Tokens that no prompt passes with Cuesta; without it the last one is far larger."""
SECONDS = 580
"""A run of Terminus-2 waits for its terminal in each round."""
DRIVER = Path(__file__).parent / "terminus_2.py"


def fences(rounds=ROUNDS):
    """Commands as mini-swe-agent 1.x reads them, with a slip that it complains of."""
    steps = [f"THOUGHT: I look at {n}.\n\n```bash\nseq {n} {n + 600}\n```" for n in range(rounds)]
    steps[rounds // 2] = "I forgot to write a command."
    steps.append(
        "THOUGHT: That is all.\n\n```bash\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n```"
    )
    return ListScript([Step(text=text) for text in steps])


def keystrokes(rounds=ROUNDS):
    """Commands as Terminus-2 reads them in JSON, with a slip, and the end, which it asks about."""
    steps = [_keys(n, f"clear; seq {n} {n + 600} | paste -sd' '\n") for n in range(rounds)]
    steps[rounds // 2] = "I forgot to write JSON."
    return ListScript([Step(text=text) for text in [*steps, _done("sure"), _done("quite sure")]])


def _keys(number, keys):
    commands = [{"keystrokes": keys, "duration": 0.05}]
    return json.dumps({"analysis": f"Round {number}.", "plan": "Look.", "commands": commands})


def _done(how):
    return json.dumps({"analysis": how, "plan": "", "commands": [], "task_complete": True})


def tags(rounds=ROUNDS):
    """The same in XML."""
    steps = [
        f"<response>\n<analysis>\nRound {n}.\n</analysis>\n<plan>\nLook.\n</plan>\n<commands>\n"
        f"<keystrokes duration=\"0.05\">clear; seq {n} {n + 600} | paste -sd' '\n</keystrokes>\n"
        "</commands>\n</response>"
        for n in range(rounds)
    ]
    ends = [
        f"<response>\n<analysis>\n{how}\n</analysis>\n<plan>\nNone.\n</plan>\n<commands>\n"
        "</commands>\n<task_complete>true</task_complete>\n</response>"
        for how in ("Sure.", "Quite sure.")
    ]
    return ListScript([Step(text=text) for text in [*steps, *ends]])


@pytest.fixture
def mini(environment, home):
    """Return what runs mini-swe-agent 1.x, and the settings that it needs."""
    program = program_of("mini-swe-agent 1.17", "mini1", "mini")
    environment |= {
        "MSWEA_CONFIGURED": "true",
        "MSWEA_SILENT_STARTUP": "1",
        "MSWEA_COST_TRACKING": "ignore_errors",
        "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "OPENAI_API_KEY": "sk-dummy",
        "ANTHROPIC_API_KEY": "sk-ant-dummy",
    }
    ends = ("-t", "Look at everything.", "-y", "--exit-immediately")
    return lambda model: [program, "-m", model, *ends, "-o", home / "trajectory.json"]


@pytest.fixture
def terminus(environment, home):
    """Return what runs Terminus-2; its terminal is a tmux server of its own."""
    python = program_of("Harbor 0.26", "harbor", "harbor").with_name("python")
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed, and Terminus-2 needs it")
    (home / "tmux").mkdir()
    environment |= {
        "TMUX_TMPDIR": str(home / "tmux"),
        "TERM": "xterm",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "OPENAI_API_KEY": "sk-dummy",
    }
    return lambda parser: [python, DRIVER, parser, home / "logs"]


def without(environment, home, command, simulator):
    """Run an agent without Cuesta; return the tokens of its largest prompt."""
    addresses = {
        "OPENAI_BASE_URL": f"{simulator.url}/v1",
        "ANTHROPIC_BASE_URL": simulator.url,
        "ANTHROPIC_API_BASE": simulator.url,
    }
    done = subprocess.run(
        list(map(str, command)), cwd=home / "work", env=environment | addresses,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3_000:]
    return largest(simulator)


def largest(simulator):
    """Return the tokens of the largest prompt that was billed."""
    return max(call.usage.prompt for call in simulator.calls if call.usage)


def check(name, rig, command, script, *options):
    """Run an agent with and without Cuesta; print its line of the table, and check it."""
    cuesta, environment, home = rig
    with Simulator(script, toolless_beside=False).in_thread() as alone:
        before = without(environment, home, command, alone)
    with Simulator(script, toolless_beside=False).in_thread() as simulator:
        upstreams = ("--openai-upstream", simulator.url, "--upstream", simulator.url)
        given = ("--threshold", THRESHOLD, *upstreams, *options)
        done = run(cuesta, environment, home, given, command, seconds=SECONDS)
        assert done.returncode == 0, done.stderr[-3_000:]
        turns = turns_of(cuesta, environment)
        cliffs = sum(e["new_cliff"] for e in turns)
        row = (
            f"{name:<36}", f"{len(turns):>3} rounds", f"{cliffs:>2} cliffs",
            f"{len(refusals(simulator))} refused", f"largest prompt {before:>6} without",
            f"{largest(simulator):>6} with",
        )  # fmt: skip
        print(f"\n| {' | '.join(row)} |")  # noqa: T201 - the figures are the point
        assert refusals(alone) == refusals(simulator) == []
        assert len([c for c in alone.calls if c.usage]) == len(turns) >= ROUNDS
        assert [c.content for c in alone.calls if c.usage] == [
            c.content for c in simulator.calls if c.usage
        ]
        assert cliffs >= CLIFFS
        assert largest(simulator) < BOUND < before
        return turns


@pytest.mark.parametrize("model", ["openai/my-model", "anthropic/claude-sonnet-4-5"])
def test_mini_swe_agent_1(cuesta, mini, environment, home, model):
    rig = (cuesta, environment, home)
    turns = check(f"mini-swe-agent 1.17, {model.partition('/')[0]}", rig, mini(model), fences())
    assert [e["reason"] for e in turns[:4]] == ["text-protocol"] * 4
    assert not any(e["external"] for e in turns)


def test_mini_swe_agent_1_said_outright(cuesta, mini, environment, home):
    rig = (cuesta, environment, home)
    turns = check(
        "mini-swe-agent 1.17, --harness", rig, mini("openai/my-model"), fences(),
        "--harness", "mini-swe-agent-1",
    )  # fmt: skip
    assert "text-protocol" not in {e["reason"] for e in turns}


@pytest.mark.parametrize(("parser", "script"), [("json", keystrokes), ("xml", tags)])
def test_terminus_2(cuesta, terminus, environment, home, parser, script):
    rig = (cuesta, environment, home)
    turns = check(f"Terminus-2 of Harbor 0.26, {parser}", rig, terminus(parser), script())
    assert [e["reason"] for e in turns[:4]] == ["text-protocol"] * 4
    assert not any(e["external"] for e in turns)
