"""What the tests of all agent programs have in common: a long session, and what came of it."""

import json
import subprocess
from itertools import pairwise

from cuesta.testing.simulator import ListScript, Step, ToolCall

ROUNDS = 44
MORE = 6
CLIFFS = 3
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


def run(cuesta, environment, home, options, command, *, seconds=240):
    """Run an agent through `cuesta run` to its end."""
    return subprocess.run(
        [cuesta, "run", *options, "--", *map(str, command)],
        cwd=home / "work",
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def ended_well(done, words):
    """Check a run's end."""
    assert done.returncode == 0, done.stderr
    assert words in done.stdout, (done.stdout, done.stderr)


def turns_of(cuesta, environment):
    """Return the trace events of conversations' turns, the oldest first."""
    done = subprocess.run(
        [cuesta, "explain", "-n", "500", "--json"],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    events = sorted(json.loads(done.stdout), key=lambda event: event["at"])
    assert [e for e in events if e["action"] == "failed"] == []
    return [e for e in events if e["dialect"] and e["action"] != "pass"]


def resumes(turns):
    """Count the runs that go on with the whole history that the run before ended with."""
    runs = dict.fromkeys(e["run"] for e in turns)
    return sum(
        min(e["messages"] for e in turns if e["run"] == after) > _longest(turns, before)
        for before, after in pairwise(runs)
    )


def _longest(turns, run):
    """Return how long the history became that a run ended with."""
    of_run = [e for e in turns if e["run"] == run]
    last = of_run[-1]["conversation"]
    return max(e["messages"] for e in of_run if e["conversation"] == last)


def refusals(simulator):
    """Return what the provider refused of its API's requests, as paths, rules and messages."""
    calls = [call for call in simulator.calls if not call.path.startswith("/-/")]
    return [(c.path, c.refusal.rule, c.refusal.message) for c in calls if c.refusal]


def tell_row(name, simulator, turns):
    """Print a session's line of the table of all clients."""
    row = (
        f"{name:<42}",
        f"{len(turns):>3} rounds",
        f"{sum(e['new_cliff'] for e in turns):>2} cliffs",
        f"{resumes(turns)} resume",
        f"{len(refusals(simulator))} refused",
        f"usage {sum(e['usage'] is not None for e in turns)}/{len(turns)}",
        f"raw {max(e['raw_tokens'] for e in turns):>6}",
        f"sent {max(e['sent_tokens'] for e in turns):>6}",
    )
    print(f"\n| {' | '.join(row)} |")  # noqa: T201 - the figures are the point


def check_session(name, simulator, turns, *, dialect, path, model, conversations=1):
    """Print what was seen in a session of two runs, and check it.

    Args:
        name: What its line of the table begins with.
        simulator: The provider.
        turns: The trace's turns, the oldest first.
        dialect: The wire that all of them take.
        path: The path that they go to.
        model: The model that they ask.
        conversations: One, which a resume goes on with, and one for each sub-agent.
    """
    tell_row(name, simulator, turns)
    calls = [call for call in simulator.calls if call.path == path]
    assert refusals(simulator) == []
    assert sum(e["usage"] is not None for e in turns) == len(turns) == len(calls)
    assert len(turns) >= ROUNDS + MORE
    assert sum(e["new_cliff"] for e in turns) >= CLIFFS
    assert resumes(turns) == 1
    assert {e["dialect"] for e in turns} == {dialect}
    assert {e["model"] for e in turns} == {model}
    assert len({e["conversation"] for e in turns}) == conversations
