"""The real agent programs go on without Cuesta, at once and after the step of docs/leaving.md.

They run through `cuesta run` past three cliffs, and then straight against the strict simulator.
"""

import json
import subprocess

import pytest
from claude_rig import Tasks, claude, headless
from client_rig import CLIFFS, refusals, run, tool, turns_of
from screen_rig import Screen

from conftest import program
from cuesta.testing.simulator import Conditions, Simulator

pytestmark = pytest.mark.clients

CHECKING = "claude-opus-5-5"
OTHER = "claude-sonnet-4-6"
WORK = 24
"""Rounds: enough for three cliffs."""
LARGE, SMALL = 400_000, 45_000
TO_LEAVE = "to go on without Cuesta"


class Left:
    """Claude Code with a task behind it, and what its provider refused since it left.

    Args:
        cuesta: The command.
        environment: The account's environment.
        home: Its home.
        model: The model.
        simulator: The provider.
    """

    def __init__(self, cuesta, environment, home, model, simulator):
        self._behind = (cuesta, "run", "--threshold", "35000")
        self._behind += ("--window", str(simulator.judge.conditions.window))
        self._behind += ("--upstream", simulator.url, "--")
        self._environment, self._home, self._model = environment, home, model
        self._simulator = simulator

    def through(self, *words):
        """Run it through Cuesta; return what Cuesta said at the end."""
        command = [*self._behind, *claude("--model", self._model, *words)]
        return headless(command, self._environment, self._home).stderr

    def directly(self, task):
        """Go on with a task without Cuesta; return the rules that requests broke."""
        before = len(refusals(self._simulator))
        environment = {**self._environment, "ANTHROPIC_BASE_URL": self._simulator.url}
        command = claude("--model", self._model, "--continue", "-p", f"please do {task}")
        done = headless(command, environment, self._home)
        assert f"{task} is finished." in done.stdout
        return [rule for _, rule, _ in refusals(self._simulator)[before:]]


@pytest.fixture
def left(cuesta, environment, home):
    """Return a function that gives a Claude Code which is past three cliffs."""

    def make(simulator, model):
        agent = Left(cuesta, environment, home, model, simulator)
        words = agent.through("-p", "please do task-one")
        turns = turns_of(cuesta, environment)
        assert turns[-1]["cliffs"] >= CLIFFS
        assert refusals(simulator) == []
        return agent, words

    return make


def tasks(**given):
    return Tasks({"task-one": WORK, "task-two": 3, "task-three": 3}, **given)


@pytest.mark.parametrize(
    ("model", "window", "refused"),
    [
        (CHECKING, LARGE, ["prefix"]),
        (CHECKING, SMALL, ["prefix", "window"]),
        (OTHER, LARGE, []),
        (OTHER, SMALL, ["window"]),
    ],
)
def test_claude_code_at_once(left, model, window, refused):
    """It finds a way by itself; the run has said that the first request will be refused."""
    with Simulator(tasks(), Conditions(window=window)).in_thread() as simulator:
        agent, words = left(simulator, model)
        assert (TO_LEAVE in words) is bool(refused)
        found = agent.directly("task-two")
        print(f"\nClaude Code left at once, {model}, {window}: refused {found}")  # noqa: T201 - the figures are the point
        assert list(dict.fromkeys(found)) == refused
        assert agent.directly("task-three") == []


@pytest.mark.parametrize("model", [CHECKING, OTHER])
def test_claude_code_after_the_step(left, model):
    with Simulator(tasks(), Conditions(window=SMALL)).in_thread() as simulator:
        agent, words = left(simulator, model)
        (step,) = [line for line in words.splitlines() if line.startswith("cuesta run -- claude")]
        assert TO_LEAVE not in agent.through(*step.split()[4:])
        assert agent.directly("task-two") == agent.directly("task-three") == []
        assert refusals(simulator) == []


def test_claude_code_keeps_its_last_thinking_with_and_without_cuesta(left, environment, home):
    """Its own `/compact` leaves the last answer as it was; that is refused once, and taken out."""
    with Simulator(tasks(thoughtful=True), Conditions(window=SMALL)).in_thread() as simulator:
        agent, _ = left(simulator, CHECKING)
        agent.through("--continue", "-p", "/compact")
        assert agent.directly("task-two") == ["prefix"]
        plain = {**environment, "ANTHROPIC_BASE_URL": simulator.url}
        headless(claude("--model", CHECKING, "--continue", "-p", "/compact"), plain, home)
        assert agent.directly("task-three") == ["prefix"]


OPTIONS = ("--threshold", "25000", "--window", str(SMALL))


@pytest.fixture
def codex(environment, home):
    """Return a function that makes Codex's command line, with a provider of one's own."""
    path = program("Codex", ".bin/codex")
    environment["MY_KEY"] = "sk-mine"

    def make(simulator):
        (home / ".codex").mkdir()
        (home / ".codex" / "config.toml").write_text(f"""
            chatgpt_base_url = "http://127.0.0.1:9/backend-api/"
            check_for_update_on_startup = false
            model = "gpt-5.5-codex"
            model_provider = "mine"
            [model_providers.mine]
            name = "mine"
            base_url = "{simulator.url}/v1"
            wire_api = "responses"
            env_key = "MY_KEY"
            [projects."{home / "work"}"]
            trust_level = "trusted"
        """)
        return (path, "--dangerously-bypass-approvals-and-sandbox")

    return make


def directly(command, environment, home):
    """Run a command without Cuesta."""
    return subprocess.run(
        list(map(str, command)), cwd=home / "work", env=environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("step", [False, True], ids=["at once", "after the step"])
def test_codex(cuesta, codex, environment, home, step):
    shell = tool("exec_command", "cmd")
    with Simulator(tasks(shell=shell), Conditions(window=SMALL)).in_thread() as simulator:
        agent = codex(simulator)
        behind = (cuesta, "run", *OPTIONS, "--")
        once = ("exec", "--skip-git-repo-check")
        first = run(cuesta, environment, home, OPTIONS, [*agent, *once, "please do task-one"])
        assert TO_LEAVE in first.stderr, first.stderr
        assert turns_of(cuesta, environment)[-1]["cliffs"] >= CLIFFS
        if step:
            resume = (*agent, "resume", "--include-non-interactive", "--last")
            folder = home / "work"
            with Screen([*behind, *resume], environment, folder, ready="for shortcuts") as screen:
                screen.wait_for("task-one is finished.")
                screen.type("/compact")
                screen.wait_for("Context compacted")
        command = [*agent, *once, "resume", "--last", "please do task-two"]
        done = directly(command, environment, home)
        if step:
            assert "task-two is finished." in done.stdout
            assert refusals(simulator) == []
        else:
            assert done.returncode == 1
            assert "ran out of room" in done.stderr
            assert [rule for _, rule, _ in refusals(simulator)] == ["window"]


@pytest.fixture
def pi(environment, home):
    """Return a function that makes Pi's command line, with a provider of one's own."""
    path = program("Pi", ".bin/pi")
    node = program("node 22, which Pi needs,", "node/bin/node").parent
    environment |= {"PATH": f"{node}:{environment['PATH']}", "PI_OFFLINE": "1"}

    def make(simulator):
        provider = {
            "baseUrl": f"{simulator.url}/v1",
            "api": "openai-completions",
            "apiKey": "sk-mine",
            "models": [{"id": "my-model", "reasoning": True, "contextWindow": 200_000}],
        }
        models = home / ".pi" / "agent" / "models.json"
        models.parent.mkdir(parents=True)
        models.write_text(json.dumps({"providers": {"mine": provider}}))
        return (path, "--provider", "mine", "--model", "my-model")

    return make


@pytest.mark.parametrize("step", [False, True], ids=["at once", "after the step"])
def test_pi(cuesta, pi, environment, home, step):
    shell = tool("bash", "command")
    with Simulator(tasks(shell=shell), Conditions(window=SMALL)).in_thread() as simulator:
        agent = pi(simulator)
        first = run(cuesta, environment, home, OPTIONS, [*agent, "-p", "please do task-one"])
        assert TO_LEAVE in first.stderr, first.stderr
        assert turns_of(cuesta, environment)[-1]["cliffs"] >= CLIFFS
        if step:
            resumed = [cuesta, "run", *OPTIONS, "--", *agent, "--continue"]
            with Screen(resumed, environment, home / "work", ready="my-model") as screen:
                screen.wait_for("task-one is finished.")
                screen.type("/compact")
                screen.wait_for("Compacted from")
                status, text = screen.end("/quit")
            assert status == 0
            assert TO_LEAVE not in text
        done = directly([*agent, "--continue", "-p", "please do task-two"], environment, home)
        assert "task-two is finished." in done.stdout
        found = [rule for _, rule, _ in refusals(simulator)]
        assert found == ([] if step else ["window"])
