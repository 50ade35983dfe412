"""The launcher: the command is an ordinary job of a real shell, the proxy is not there.

The proxy here is a stand-in process of a few lines, so that only the launcher is on trial.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_support import HERE, started

from watching import alive, wait_for

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="reads process states from /proc"
)


@pytest.fixture
def log(tmp_path):
    return tmp_path / "proxy.log"


@pytest.fixture
def beside(log):
    return lambda command, *flags: (
        f"{sys.executable} {HERE / 'beside.py'} {log} {' '.join(flags)} -- {command}"
    )


@pytest.fixture
def foreground(shell, agent, beside):
    """A shell with the agent in its foreground."""
    shell.start(beside(agent.command))
    assert agent.state["pid"]
    return shell


def parent_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_the_command_owns_the_terminal(foreground, agent):
    state = agent.state
    assert state["terminals"] == [True, True, True]
    assert state["foreground"] == state["group"]
    assert state["parent"] == state["group"], "the launcher leads the job's group"
    agent.order("exit", "0")
    assert foreground.prompt() == ""


@pytest.mark.usefixtures("foreground")
def test_the_command_starts_with_clean_signals_and_descriptors(agent):
    state = agent.state
    assert set(state["ignored"]).isdisjoint({"SIGINT", "SIGQUIT", "SIGTSTP", "SIGTERM", "SIGHUP"})
    assert state["blocked"] == []
    assert state["descriptors"] == [0, 1, 2]


def test_ctrl_c_reaches_the_command_once_and_the_proxy_not_at_all(foreground, agent):
    proxy = agent.ask("get", "/")
    foreground.press("c")
    wait_for(lambda: agent.signals)
    assert agent.ask("get", "/") == proxy
    agent.order("exit", "0")
    foreground.prompt()
    assert agent.signals == ["SIGINT"]
    assert foreground.last_status == 0


def test_a_command_that_dies_by_ctrl_c_looks_to_the_shell_like_one(shell, beside):
    """A loop of the shell ends with it, as it does without the launcher."""
    command = """sh -c 'echo $((40 + 2)); exec sleep 60'"""
    shell.start(f"for i in 1 2; do {beside(command)}; done; echo then")
    shell.process.expect_exact("42")
    shell.press("c")
    assert "then" not in shell.prompt()
    assert shell.last_status == 128 + signal.SIGINT


def test_ctrl_z_gives_the_terminal_back_and_fg_goes_on_any_number_of_times(foreground, agent):
    for turn in (1, 2):
        foreground.press("z")
        assert "Stopped" in foreground.prompt()
        foreground.start("fg")
        wait_for(lambda: agent.signals.count("SIGCONT") == turn)  # noqa: B023 - read at once
        assert json.loads(agent.ask("state"))["foreground"] == agent.state["group"]
    agent.order("exit", "4")
    foreground.prompt()
    assert agent.signals == ["SIGTSTP", "SIGCONT"] * 2
    assert foreground.last_status == 4


def test_a_stopped_job_can_go_on_in_the_background(foreground, agent):
    foreground.press("z")
    foreground.prompt()
    foreground.run("bg")
    wait_for(lambda: "SIGCONT" in agent.signals)
    assert agent.ask("get", "/").isdigit()
    agent.order("exit", "5")
    assert "Exit 5" in foreground.run("wait %1; jobs")


def test_a_command_that_stops_itself_stops_the_job(foreground, agent):
    os.kill(agent.state["pid"], signal.SIGSTOP)
    assert "Stopped" in foreground.prompt()
    foreground.start("fg")
    agent.order("exit", "0")
    foreground.prompt()
    assert foreground.last_status == 0


def test_window_size_is_the_terminal_s_and_its_changes_arrive(foreground, agent):
    assert agent.state["size"] == [80, 24]
    foreground.process.setwinsize(31, 97)
    wait_for(lambda: "SIGWINCH" in agent.signals)
    assert json.loads(agent.ask("state"))["size"] == [97, 31]
    agent.order("exit", "0")
    foreground.prompt()
    assert agent.signals == ["SIGWINCH"]


@pytest.mark.parametrize(
    ("order", "status"),
    [
        (("exit", "0"), 0),
        (("exit", "3"), 3),
        (("die", str(signal.SIGTERM.value)), 128 + signal.SIGTERM),
        (("die", str(signal.SIGKILL.value)), 128 + signal.SIGKILL),
        (("die", str(signal.SIGSEGV.value)), 128 + signal.SIGSEGV),
    ],
)
def test_the_shell_sees_the_command_s_own_end(foreground, agent, order, status):
    agent.order(*order)
    foreground.prompt()
    assert foreground.last_status == status


def test_nothing_is_printed_but_what_the_command_prints(foreground, agent):
    agent.ask("say", "hello")
    os.kill(int(agent.ask("get", "/")), signal.SIGKILL)
    assert agent.ask("get", "/").isdigit()
    agent.order("exit", "0")
    assert foreground.prompt() == "hello\n"


@pytest.fixture
def spawned(agent, beside, environment):
    """The launcher without a terminal, in a group of its own."""
    with started(
        beside(agent.command).split(), env=environment, process_group=0, stdin=subprocess.DEVNULL
    ) as process:
        agent.started_by(process)
        yield process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_launcher_is_the_command_s(spawned, agent, number):
    spawned.send_signal(number)
    wait_for(lambda: agent.signals)
    agent.order("exit", "6")
    assert spawned.wait(timeout=60) == 6
    assert agent.signals == [number.name]


def test_death_by_signal_is_died_again(spawned, agent):
    agent.order("die", str(signal.SIGTERM.value))
    assert spawned.wait(timeout=60) == -signal.SIGTERM


def test_what_was_ignored_at_the_start_stays_ignored(agent, beside, environment):
    """As under `nohup`, or in the background of a script."""
    script = f"trap '' HUP INT; exec {beside(agent.command)}"
    with started(["bash", "-c", script], env=environment) as process:
        assert {"SIGHUP", "SIGINT"} <= set(agent.state["ignored"])
        process.send_signal(signal.SIGHUP)
        agent.order("exit", "0")
        assert process.wait(timeout=60) == 0


def test_a_dead_proxy_is_replaced_behind_the_same_address(spawned, agent):
    seen = [int(agent.ask("get", "/"))]
    for _ in range(3):
        os.kill(seen[-1], signal.SIGKILL)
        seen.append(int(agent.ask("get", "/")))
    assert len(set(seen)) == 4
    assert parent_of(seen[-1]) == spawned.pid


@pytest.mark.usefixtures("spawned")
def test_the_proxy_is_out_of_the_terminal_s_reach(agent, log):
    proxy = int(agent.ask("get", "/"))
    assert os.getsid(proxy) == proxy
    assert str(Path(f"/proc/{proxy}/fd/0").readlink()) == os.devnull
    assert {Path(f"/proc/{proxy}/fd/{fd}").readlink() for fd in (1, 2)} == {log}
    assert log.stat().st_mode & 0o777 == 0o600


def test_the_proxy_ends_with_the_command(spawned, agent):
    proxy = int(agent.ask("get", "/"))
    agent.order("exit", "0")
    spawned.wait(timeout=60)
    assert not alive(proxy)


def test_the_proxy_ends_when_the_launcher_is_killed(spawned, agent):
    proxy = int(agent.ask("get", "/"))
    spawned.kill()
    wait_for(lambda: not alive(proxy))


def test_a_proxy_that_cannot_live_is_given_up_and_the_command_told(agent, beside, environment, log):
    with started(beside(agent.command, "--fail").split(), env=environment) as process:
        wait_for(lambda: log.exists() and log.read_text().count("started") == 6)
        assert "error: " in agent.ask("get", "/")
        agent.order("exit", "7")
        assert process.wait(timeout=60) == 7


def test_a_stop_that_no_shell_watches_is_over_when_the_command_goes_on(agent, beside, environment):
    """In an orphaned group nobody could continue the launcher, so it must not stop."""
    with started(beside(agent.command).split(), env=environment, start_new_session=True) as process:
        pid = agent.state["pid"]
        os.kill(pid, signal.SIGSTOP)
        wait_for(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
        os.kill(pid, signal.SIGCONT)
        agent.order("exit", "8")
        assert process.wait(timeout=30) == 8
