"""Claude Code, headless, on its default model, through `cuesta run`.

The provider is the strict simulator; the tool calls are Claude Code's own and really executed.
"""

import pytest
from claude_rig import claude, headless
from client_rig import FIRST_WORDS, LAST_WORDS, MORE, ROUNDS, check_session, turns_of

from cuesta.testing.simulator import ChosenScript, ListScript, Simulator, Step, ToolCall

pytestmark = pytest.mark.clients

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
    more = [bash(f"seq {n} {n + lines}", "And again.") for n in range(MORE)]
    return ListScript([*looking, Step(text=FIRST_WORDS), *more, Step(text=LAST_WORDS)])


def script(lines):
    helper = ListScript([bash(f"seq {n} {n + 50}", "Count.") for n in range(4)], "Counted.")
    mine = main_script(lines)
    return ChosenScript(lambda text: mine if PROMPT in text else helper)


@pytest.mark.parametrize(
    ("options", "lines"),
    [(("--threshold", "30000"), 1200), ((), 3000)],
    ids=["fixed threshold", "automatic threshold"],
)
def test_a_long_session_with_a_subagent_and_a_resume(cuesta, environment, home, options, lines):
    with Simulator(script(lines)).in_thread() as simulator:
        run = [cuesta, "run", "--upstream", simulator.url, *options, "--"]
        first = headless([*run, *claude("-p", PROMPT)], environment, home)
        assert FIRST_WORDS in first.stdout
        assert "saved" in first.stderr
        resumed = headless([*run, *claude("-p", "Go on.", "--continue")], environment, home)
        assert LAST_WORDS in resumed.stdout
        check_session(
            f"Claude Code, {'fixed' if options else 'automatic'} threshold",
            simulator, turns_of(cuesta, environment), dialect="anthropic", path="/v1/messages",
            model=DEFAULT_MODEL, conversations=2,
        )  # fmt: skip
