"""What the tests of all agent programs have in common: a long session, and what came of it."""

import json
import subprocess

from cuesta.testing.simulator import ListScript, Step, ToolCall

ROUNDS = 44
MORE = 6
FIRST_WORDS = "First part done."
LAST_WORDS = "All done."


def session(shell, lines, rounds=ROUNDS):
    """Some forty rounds of shell commands, one with two at once, and some more after a resume.

    Args:
        shell: Makes the call of a tool from a command.
        lines: How many lines each command prints.
        rounds: How many rounds before the resume.
    """
    looking = [
        Step(
            thinking=f"Round {n}: what is in here?" + " Think." * 20,
            calls=(shell(f"seq {n} {n + lines}"),),
        )
        for n in range(rounds)
    ]
    looking[rounds // 2] = Step(
        thinking="Two at once.", calls=(shell("seq 1 300"), shell("echo short"))
    )
    more = [
        Step(thinking="And again.", calls=(shell(f"seq {n} {n + lines}"),)) for n in range(MORE)
    ]
    return ListScript([*looking, Step(text=FIRST_WORDS), *more, Step(text=LAST_WORDS)], LAST_WORDS)


def tool(name, argument):
    """Return what makes the call of a tool with one argument."""
    return lambda command: ToolCall(name, {argument: command})


def run(cuesta, environment, home, options, command):
    """Run an agent through `cuesta run` to its end."""
    return subprocess.run(
        [cuesta, "run", *options, "--", *map(str, command)],
        cwd=home / "work",
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def ended_well(done, words):
    """Check a run's end."""
    assert done.returncode == 0, done.stderr
    assert words in done.stdout, (done.stdout, done.stderr)


def turns_of(cuesta, environment):
    """Return the trace events of conversations' turns."""
    done = subprocess.run(
        [cuesta, "explain", "-n", "500", "--json"],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    events = json.loads(done.stdout)
    assert [e for e in events if e["action"] == "failed"] == []
    return [e for e in events if e["dialect"] and e["action"] != "pass"]


def check_session(name, simulator, turns, *, dialect, path, model, cliffs, rounds=ROUNDS):
    """Print what was seen in a session of two runs, and check it."""
    calls = [call for call in simulator.calls if call.path == path]
    others = [call for call in simulator.calls if not call.path.startswith("/-/")]
    refused = [(c.path, c.refusal.rule, c.refusal.message) for c in others if c.refusal]
    figures = {
        "turns": len(turns),
        "cliffs": sum(e["new_cliff"] for e in turns),
        "external": sum(e["external"] for e in turns),
        "refused": len(refused),
        "usage read": sum(e["usage"] is not None for e in turns),
        "largest raw": max((e["raw_tokens"] for e in turns), default=0),
        "largest sent": max((e["sent_tokens"] for e in turns), default=0),
        "conversations": len({e["conversation"] for e in turns}),
    }
    print(f"\n{name}: " + ", ".join(f"{key} {value}" for key, value in figures.items()))  # noqa: T201 - the figures are the point
    assert refused == [], refused[:3]
    assert figures["usage read"] == figures["turns"] == len(calls)
    assert figures["turns"] >= rounds + MORE
    assert figures["cliffs"] >= cliffs
    assert {e["dialect"] for e in turns} == {dialect}
    assert {e["model"] for e in turns} == {model}
    assert figures["conversations"] == 2, "the session in each of its two runs"
