"""`--record`: what is written, who is told, and that nobody is any the worse for it."""

import json
import os
import random
import resource
import signal
import subprocess
import urllib.request

import pytest
from cli_support import CALL, CUESTA, cuesta, started

from cuesta.store.recordings import read_recordings
from watching import wait_for


def call(address, body=CALL):
    headers = {"x-api-key": "sk-very-secret"}
    request = urllib.request.Request(f"{address}/v1/messages?beta=true", body.encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.read()  # who leaves before the end is told no bill
        return answer.status


@pytest.fixture
def serve(environment, upstream, tmp_path):
    """Give a function that starts `cuesta serve --record`."""
    running = []

    def start(*words, **keywords):
        argv = [*CUESTA, "serve", "--port", "0", "--upstream", upstream.address, "--record",
                tmp_path / "there", *words]  # fmt: skip
        pipe = subprocess.PIPE
        context = started(argv, env=environment, stdout=pipe, stderr=pipe, text=True, **keywords)
        process = context.__enter__()
        running.append(context)
        process.block = ""
        while "warning: " not in process.block:
            process.block += process.stdout.readline()
            assert process.poll() is None, process.stderr.read()
        process.address = process.block.split()[3]
        return process

    yield start
    for context in running:
        context.__exit__(None, None, None)


def stop(process):
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    return process.stdout.read() + process.stderr.read()


def test_serve_says_that_it_records_and_does(serve, tmp_path):
    process = serve()
    for _ in range(3):
        assert call(process.address) == 200
    stop(process)
    assert f"warning: whole conversations are recorded in {tmp_path}/there" in process.block
    (path,) = (tmp_path / "there").iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert b"secret" not in path.read_bytes()
    records = list(read_recordings(tmp_path / "there"))
    assert [record.body for record in records] == [CALL.encode()] * 3
    assert [record.sent for record in records] == [CALL.encode()] * 3
    assert {record.event.usage.prompt for record in records} == {2_530}
    assert {record.came.path for record in records} == {"/v1/messages"}
    assert records[0].opened.options["profile"] == "default"


def test_workers_write_a_file_each(serve, tmp_path):
    process = serve("--workers", "2")
    wait_for(lambda: len(list((tmp_path / "there").glob("*.jsonl"))) == 2)
    for _ in range(8):
        assert call(process.address) == 200
    stop(process)
    assert len(list(read_recordings(tmp_path / "there"))) == 8


def test_run_says_that_it_records_and_does(agent, environment, upstream, tmp_path):
    words = ["--record", "there", "--upstream", upstream.address, "--", *agent.command.split()]
    pipe = subprocess.PIPE
    with started(
        [*CUESTA, "run", *words], env=environment, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True
    ) as process:
        agent.started_by(process)
        assert "good day" in agent.ask("post", f"/v1/messages {CALL}")
        agent.order("exit", "0")
        out, err = process.communicate(timeout=60)
    assert out == ""
    assert err.splitlines()[0] == "cuesta: warning: whole conversations are recorded in there"
    (record,) = read_recordings(tmp_path / "there")
    assert record.came.run
    assert record.came.run == record.event.run


def test_without_the_option_nothing_is_written(serving, tmp_path):
    assert "recorded" not in serving.block
    assert call(serving.address) == 200
    assert not list(tmp_path.rglob("*.jsonl"))


@pytest.mark.parametrize("verb", [["serve", "--port", "0"], ["run", "--", "true"]])
def test_a_folder_that_cannot_be_is_said_at_once(environment, tmp_path, verb):
    (tmp_path / "file").write_text("")
    name, *words = verb
    done = cuesta(name, "--record", str(tmp_path / "file"), *words, env=environment)
    assert done.returncode == 2
    assert f"record: {tmp_path}/file: File exists" in " ".join(done.stderr.split())


def test_nothing_on_disk_and_everything_on_disk_is_a_mistake(environment):
    done = cuesta("serve", "--record", "there", "--ephemeral", env=environment)
    assert done.returncode == 2
    assert "record: it keeps everything on disk; leave `ephemeral` out" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="needs limits of file sizes")
def test_a_full_disk_ends_recording_and_no_request(serve, tmp_path):
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

    process = serve("--no-header", preexec_fn=small_files)
    noise = random.Random(1).randbytes(100_000).hex()
    body = json.dumps({**json.loads(CALL), "metadata": {"user_id": noise}})
    for _ in range(6):
        assert call(process.address, body) == 200
    with urllib.request.urlopen(f"{process.address}/-/cuesta/status", timeout=30) as answer:
        assert json.load(answer)["degraded"] == "recording ended: File too large"
    said = " ".join(stop(process).split())
    assert said.count("recording ended: File too large") == 1
    assert 1 <= len(list(read_recordings(tmp_path / "there"))) < 6
