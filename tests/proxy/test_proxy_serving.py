"""The proxy as a process: signals, draining, inherited descriptors, start-up time."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from proxy_rig import (
    Engine,
    Process,
    Upstream,
    ask,
    connection,
    eventually,
    proxy_to,
    read_body,
    read_chunk,
    read_head,
    request,
    within,
)

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Gate:
    """An upstream's answer that ends when the test says so."""

    def __init__(self):
        self.more = asyncio.Event()

    async def answer(self, _request, writer):
        writer.write(CHUNKED + b"5\r\nbegun\r\n")
        await self.more.wait()
        writer.write(b"4\r\ndone\r\n0\r\n\r\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_running_answers_finish_and_takes_no_new_ones(run, number):
    async def main():
        gate = Gate()
        async with (
            Upstream(gate.answer) as upstream,
            Process(upstream) as process,
            connection(process) as (reader, writer),
            connection(process) as (idle_reader, _),
        ):
            writer.write(request(body=b"{}"))
            await read_head(reader)
            assert await read_chunk(reader) == b"begun"
            process.child.send_signal(number)
            assert await within(idle_reader.read()) == b"", "an idle connection is closed"
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", process.port)
            gate.more.set()
            assert await read_chunk(reader) == b"done"
            assert await read_chunk(reader) == b""
            assert await process.ended() == 0

    run(main())


def test_a_stop_tells_for_how_many_answers_it_waits(run):
    async def main():
        gate = Gate()
        told = []
        async with (
            Upstream(gate.answer) as upstream,
            proxy_to(upstream, drain_s=7) as proxy,
            connection(proxy) as (one, one_writer),
            connection(proxy) as (two, two_writer),
            connection(proxy),
        ):
            proxy.on_drain = lambda *words: told.append(words)
            for reader, writer in ((one, one_writer), (two, two_writer)):
                writer.write(request(body=b"{}"))
                await read_head(reader)
            stopping = asyncio.create_task(proxy.stop())
            await eventually(lambda: told)
            gate.more.set()
            await within(stopping)
        assert told == [(2, 7)]
        async with Upstream() as upstream, proxy_to(upstream) as proxy:
            proxy.on_drain = lambda *words: told.append(words)
            await proxy.stop()
        assert told == [(2, 7)], "there was nothing to wait for"

    run(main())


def test_a_second_signal_cuts_running_answers(run):
    async def main():
        gate = Gate()
        async with (
            Upstream(gate.answer) as upstream,
            Process(upstream) as process,
            connection(process) as (reader, writer),
            connection(process) as (idle_reader, _),
        ):
            writer.write(request(body=b"{}"))
            answer = await read_head(reader)
            process.child.send_signal(signal.SIGTERM)
            await within(idle_reader.read())
            process.child.send_signal(signal.SIGTERM)
            assert await process.ended() == 0
            await read_body(reader, answer)
            assert not answer.complete
            await within(upstream.gone.wait())

    run(main())


def test_answers_that_outlast_the_deadline_are_cut(run):
    async def main():
        gate = Gate()
        engine = Engine()
        async with (
            Upstream(gate.answer) as upstream,
            proxy_to(upstream, engine) as proxy,
            connection(proxy) as (reader, writer),
            connection(proxy) as (silent_reader, silent_writer),
        ):
            writer.write(request(body=b"{}"))
            answer = await read_head(reader)
            silent_writer.write(request("/x", b"Content-Length: 10"))
            await eventually(lambda: len(proxy._busy) == 2)
            started = time.monotonic()
            await within(proxy.stop(0.3))
            assert 0.25 < time.monotonic() - started < 5
            await read_body(reader, answer)
            assert (answer.body, answer.complete) == (b"begun", False)
            await within(silent_reader.read())
        assert engine.answered[0].aborted

    run(main())


def test_a_request_whose_body_is_still_arriving_is_answered_before_the_end(run):
    async def main():
        async with (
            Upstream() as upstream,
            proxy_to(upstream) as proxy,
            connection(proxy) as (reader, writer),
        ):
            writer.write(request("/x", b"Content-Length: 10") + b"12345")
            await eventually(lambda: proxy._busy)
            stopping = asyncio.create_task(proxy.stop(5))
            await eventually(lambda: proxy._stopping)
            writer.write(b"67890")
            answer = await read_head(reader)
            assert answer.status == 200
            assert answer.one(b"connection") == b"close"
            await within(stopping)
            assert upstream.requests[0].body == b"1234567890"

    run(main())


def test_an_inherited_socket_and_the_end_of_the_parent(run):
    async def main():
        listener = socket.create_server(("127.0.0.1", 0))
        read_end, write_end = os.pipe()
        descriptors = {"fd": listener.fileno(), "parent_fd": read_end}
        async with Upstream() as upstream, Process(upstream, descriptors, port=1) as process:
            os.close(read_end)
            assert process.port == listener.getsockname()[1]
            listener.close()
            assert (await ask(process, request())).status == 200
            process.child.send_signal(signal.SIGINT)
            os.write(write_end, b"alive")
            assert (await ask(process, request())).status == 200
            os.close(write_end)
            assert await process.ended() == 0

    run(main())


def test_it_keeps_its_state_in_the_folder_it_is_told(run, tmp_path):
    async def main():
        async with Upstream() as upstream:
            options = {"ephemeral": False, "state_dir": str(tmp_path / "state")}
            async with Process(upstream, **options) as process:
                assert (await ask(process, request())).status == 200
                assert process.degraded == b"''"
                process.child.terminate()
                assert await process.ended() == 0
        assert [path.name for path in (tmp_path / "state").iterdir() if path.suffix == ".db"]

    run(main())


def test_a_folder_that_cannot_be_used_does_not_stop_it(run, tmp_path):
    (tmp_path / "file").write_text("in the way")

    async def main():
        async with Upstream() as upstream:
            options = {"ephemeral": False, "state_dir": str(tmp_path / "file" / "x")}
            async with Process(upstream, **options) as process:
                assert b"nothing" in process.degraded
                assert (await ask(process, request())).status == 200

    run(main())


def test_the_package_itself_imports_nothing_heavy():
    code = (
        "import sys, cuesta.proxy, cuesta.store, cuesta.proxy.options;"
        "heavy = {'aiohttp', 'asyncio', 'sqlite3', 'brotli', 'zstandard', 'platformdirs'};"
        "print(heavy & set(sys.modules))"
    )
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", code]
    out = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert out.stdout.strip() == "set()"
