"""Claude Code, headless, on its default model, through `cuesta run`.

The provider is the strict simulator; the tool calls are Claude Code's own and really executed.
"""

import json
import subprocess

import pytest

from conftest import program
from cuesta.testing.simulator import ChosenScript, ListScript, Simulator, Step, ToolCall

pytestmark = pytest.mark.clients

ROUNDS = 44
PROMPT = "Look at everything."
DEFAULT_MODEL = "claude-opus-5-5"


def bash(command, thinking):
    return Step(
        thinking=thinking,
        calls=(ToolCall("Bash", {"command": command, "description": "look around"}),),
    )


def main_script(lines):
    """Some forty rounds with a sub-agent in the middle, an end, and some more after a resume."""
    looking = [
        bash(f"seq {n} {n + lines}", f"Round {n}: what is in here?" + " Think." * 20)
        for n in range(ROUNDS)
    ]
    looking[10] = Step(
        thinking="Somebody else should count.",
        calls=(
            ToolCall(
                "Agent",
                {
                    "description": "count lines",
                    "prompt": "SUBAGENT: count",
                    "subagent_type": "general-purpose",
                },
            ),
        ),
    )
    looking[20] = Step(
        thinking="Two at once.",
        calls=(
            ToolCall("Bash", {"command": "seq 1 300", "description": "one"}),
            ToolCall("Bash", {"command": "echo short", "description": "two"}),
        ),
    )
    more = [bash(f"seq {n} {n + lines}", "And again.") for n in range(6)]
    return ListScript([*looking, Step(text="First part done."), *more, Step(text="All done.")])


def script(lines):
    helper = ListScript([bash(f"seq {n} {n + 50}", "Count.") for n in range(4)], "Counted.")
    mine = main_script(lines)
    return ChosenScript(lambda text: mine if PROMPT in text else helper)


def run(cuesta, environment, home, upstream, *options, prompt, resume=False):
    claude = program("Claude Code", "@anthropic-ai/claude-code/bin/claude.exe")
    command = [cuesta, "run", "--upstream", upstream, *options, "--", str(claude), "-p", prompt]
    command += ["--dangerously-skip-permissions", *(["--continue"] if resume else [])]
    return subprocess.run(
        command,
        cwd=home / "work",
        env={
            **environment,
            "ANTHROPIC_API_KEY": "sk-dummy",
            "IS_SANDBOX": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def explained(cuesta, environment):
    done = subprocess.run(
        [cuesta, "explain", "-n", "500", "--json"],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def refused(simulator):
    """Return the provider's refusals of requests to its API."""
    calls = [c for c in simulator.calls if c.path.startswith("/v1/")]
    return [(c.refusal.rule, c.refusal.message) for c in calls if c.refusal]


def summary(name, simulator, events):
    """Print what was seen, and return the main conversations' events."""
    turns = [e for e in events if e["dialect"] and e["action"] != "pass"]
    figures = {
        "requests": len(events),
        "turns": len(turns),
        "cliffs": sum(e["new_cliff"] for e in turns),
        "external": sum(e["external"] for e in turns),
        "invalid": len(refused(simulator)),
        "failed": sum(e["action"] == "failed" for e in events),
        "usage read": sum(e["usage"] is not None for e in turns),
        "largest raw": max(e["raw_tokens"] for e in turns),
        "largest sent": max(e["sent_tokens"] for e in turns),
    }
    print(f"\n{name}: " + ", ".join(f"{key} {value}" for key, value in figures.items()))  # noqa: T201 - the figures are the point
    return turns, figures


def check(simulator, turns, figures):
    assert refused(simulator) == []
    assert figures["failed"] == 0
    assert figures["usage read"] == figures["turns"]
    assert all(e["model"] == DEFAULT_MODEL for e in turns)


@pytest.mark.parametrize(
    ("options", "lines", "cliffs"),
    [(("--threshold", "30000"), 1200, 3), ((), 3000, 1)],
    ids=["fixed threshold", "automatic threshold"],
)
def test_a_long_session_with_a_subagent_and_a_resume(
    cuesta, environment, home, options, lines, cliffs
):
    with Simulator(script(lines)).in_thread() as simulator:
        first = run(cuesta, environment, home, simulator.url, *options, prompt=PROMPT)
        assert first.returncode == 0, first.stderr
        assert "First part done." in first.stdout
        resumed = run(
            cuesta, environment, home, simulator.url, *options, prompt="Go on.", resume=True
        )
        assert resumed.returncode == 0, resumed.stderr
        assert "All done." in resumed.stdout
        assert "saved" in first.stderr, first.stderr
        turns, figures = summary("Claude Code", simulator, explained(cuesta, environment))
        print(first.stderr, resumed.stderr)  # noqa: T201 - likewise
        check(simulator, turns, figures)
        assert figures["turns"] >= ROUNDS + 6
        assert figures["cliffs"] >= cliffs
        names = {e["conversation"] for e in turns}
        assert len(names) == 3, "the session, its sub-agent, and the session in a second run"
