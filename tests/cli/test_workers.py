"""`cuesta serve --workers`: several processes behind one port, and what becomes of them."""

import json
import os
import signal
import subprocess
import urllib.request

import pytest
from cli_support import CALL, CUESTA, cuesta, started

from watching import alive, wait_for


@pytest.fixture
def serving(environment, upstream):
    argv = [*CUESTA, "serve", "--port", "0", "--workers", "2", "--upstream", upstream.address]
    pipe = subprocess.PIPE
    with started(argv, env=environment, stdout=pipe, stderr=pipe, text=True) as process:
        process.block = "".join(iter(process.stdout.readline, "\n"))
        process.address = process.block.split()[3]
        yield process


def status(process):
    with urllib.request.urlopen(f"{process.address}/-/cuesta/status", timeout=30) as answer:
        return json.load(answer)


def call(process):
    request = urllib.request.Request(f"{process.address}/v1/messages", CALL.encode())
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.status


def pids(process, count=2):
    """Wait until so many workers have answered and return their pids."""
    found = set()

    def enough():
        found.add(status(process)["process"])
        return len(found) >= count and found

    return wait_for(enough)


def test_several_processes_share_the_port_and_say_so(serving):
    assert "workers   2" in serving.block
    assert status(serving)["workers"] == 2
    assert len(pids(serving)) == 2
    assert serving.pid not in pids(serving)


def test_a_worker_that_dies_is_replaced_while_the_other_serves(serving):
    first = pids(serving)
    victim = min(first)
    os.kill(victim, signal.SIGKILL)
    assert call(serving) == 200
    wait_for(lambda: not alive(victim))
    wait_for(lambda: status(serving)["process"] not in first)
    assert call(serving) == 200


def test_all_workers_go_with_a_parent_that_is_killed(serving):
    workers = pids(serving)
    serving.kill()
    serving.wait()
    for pid in workers:
        wait_for(lambda pid=pid: not alive(pid))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_all_of_them_in_order(serving, number):
    workers = pids(serving)
    serving.send_signal(number)
    assert serving.wait(30) == 0
    assert not any(map(alive, workers))
    assert "error" not in serving.stderr.read()


def test_what_all_workers_did_is_kept_in_one_place(serving, environment):
    for _ in range(6):
        assert call(serving) == 200
    serving.send_signal(signal.SIGTERM)
    assert serving.wait(30) == 0
    kept = json.loads(cuesta("status", "--json", env=environment).stdout)
    assert sum(kept["requests"].values()) == 6


def test_several_without_a_shared_ledger_are_refused(environment):
    done = cuesta("serve", "--workers", "2", "--ephemeral", env=environment)
    assert done.returncode == 2
    assert "several need the ledger on disk" in done.stderr


def test_a_port_in_use_is_said_once_and_by_name(serving, environment):
    port = serving.address.rpartition(":")[2]
    done = cuesta("serve", "--workers", "2", "--port", port, env=environment)
    assert done.returncode == 2
    assert f"port {port} on 127.0.0.1 is in use" in " ".join(done.stderr.split())
