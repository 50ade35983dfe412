"""Claude Code in its own screen, through `cuesta run`, with `/compact` and a resume.

The whole history does not fit the provider's window; what Cuesta sends always does.
"""

import pytest
from claude_rig import OUTPUT, Tasks, be_known, claude, on_a_screen
from client_rig import ROUNDS, refusals, resumes, tell_row, turns_of

from cuesta.testing.simulator import Conditions, Simulator

pytestmark = pytest.mark.clients

WINDOW = 60_000
BYTES_A_TOKEN = 4
"""The simulator counts so."""


def work(screen, task):
    """Have a task done."""
    screen.type(f"please do {task}")
    screen.wait_for(f"{task} is finished.")


@pytest.mark.parametrize(
    ("model", "options", "overflows"),
    [
        ("claude-opus-5-5", ("--window", str(WINDOW)), 0),
        ("claude-sonnet-4-6", (), 1),
    ],
    ids=["a model that checks prefixes, a known window", "another model, an unknown window"],
)
def test_a_session_on_a_screen_with_compact_and_a_resume(
    cuesta, environment, home, model, options, overflows
):
    be_known(home)
    tasks = Tasks({"task-one": ROUNDS, "task-two": 10, "task-three": 6})
    assert ROUNDS * len(OUTPUT) > WINDOW * BYTES_A_TOKEN
    with Simulator(tasks, Conditions(window=WINDOW)).in_thread() as simulator:
        run = [cuesta, "run", "--threshold", "30000", *options, "--upstream", simulator.url, "--"]
        agent = claude("--model", model)
        with on_a_screen([*run, *agent], environment, home) as screen:
            work(screen, "task-one")
            screen.type("/compact")
            screen.wait_for("Compacted")
            work(screen, "task-two")
            status, text = screen.end()
            assert status == 0
            assert "cuesta: " in text
            assert "saved" in text
        with on_a_screen([*run, *agent, "--continue"], environment, home) as screen:
            work(screen, "task-three")
            assert screen.end()[0] == 0
        turns = turns_of(cuesta, environment)
        tell_row(f"Claude Code, screen, {model}", simulator, turns)
        assert [rule for _, rule, _ in refusals(simulator)] == ["window"] * overflows
        check(turns, model)


def check(turns, model):
    """Check the trace: one summary in the middle, a history that begins anew, and goes on."""
    assert {e["model"] for e in turns} == {model}
    assert {e["status"] for e in turns} == {200}
    assert all(e["usage"] is not None for e in turns)
    assert resumes(turns) == 1
    (place,) = [n for n, e in enumerate(turns) if e["reason"].startswith("a summary")]
    before, summary, after = turns[:place], turns[place], turns[place + 1 :]
    assert len(before) >= ROUNDS
    assert sum(e["new_cliff"] for e in before) >= 3
    assert summary["reason"] == "a summary; all of it would not fit"
    assert summary["conversation"] in {e["conversation"] for e in before}
    assert summary["sent_tokens"] < summary["raw_tokens"] / 3
    assert len(after) >= 16
    assert after[0]["cliffs"] == 0
    assert after[0]["raw_tokens"] < summary["raw_tokens"] / 3
    assert {e["conversation"] for e in after}.isdisjoint({e["conversation"] for e in before})
    assert sum(e["new_cliff"] for e in after) >= 1
