"""Answers stream: at once, at the client's pace, and no longer than both ends want."""

from __future__ import annotations

import asyncio
import gc
import json
import time
import tracemalloc

import pytest
from proxy_rig import (
    Engine,
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

from cuesta.core.usage import Usage
from cuesta.exchange.events import Relay, Send

CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def test_each_event_arrives_before_the_next_is_made(run):
    events = [b"event: message_start\ndata: {}\n\n", b"event: ping\ndata: {}\n\n"] * 10
    seen = asyncio.Queue()

    async def one_by_one(_request, writer):
        writer.write(CHUNKED)
        assert await within(seen.get()) == "head"
        for event in events:
            writer.write(chunk(event))
            assert await within(seen.get()) == event
        writer.write(b"0\r\n\r\n")

    async def main():
        async with (
            Upstream(one_by_one) as upstream,
            proxy_to(upstream) as proxy,
            connection(proxy) as (reader, writer),
        ):
            writer.write(request(body=b"{}"))
            await read_head(reader)
            seen.put_nowait("head")
            for event in events:
                started = time.monotonic()
                assert await read_chunk(reader) == event
                assert time.monotonic() - started < 1
                seen.put_nowait(event)
            assert await read_chunk(reader) == b""

    run(main())


@pytest.mark.parametrize("body", [b'{"stream": true}', b'{"stream": false}', b""])
def test_a_client_that_leaves_before_the_first_byte_ends_the_upstreams_work(run, body):
    async def never(_request, _writer):
        await asyncio.Event().wait()

    async def main():
        engine = Engine()
        async with Upstream(never) as upstream, proxy_to(upstream, engine) as proxy:
            async with connection(proxy) as (_, writer):
                writer.write(request(body=body))
                await eventually(lambda: upstream.requests)
                started = time.monotonic()
            await within(upstream.gone.wait())
            assert time.monotonic() - started < 1
            await eventually(lambda: engine.answered)
        (answered,) = engine.answered
        assert (answered.status, answered.usage, answered.aborted) == (0, None, True)

    run(main())


def test_a_client_that_leaves_mid_stream_ends_it_and_what_was_read_is_kept(run):
    async def endless(_request, writer):
        writer.write(CHUNKED + chunk(b'{"usage": 7}'))
        while True:
            await asyncio.sleep(0.01)
            writer.write(chunk(b" "))
            await writer.drain()

    async def main():
        engine = Engine()
        async with Upstream(endless) as upstream, proxy_to(upstream, engine) as proxy:
            async with connection(proxy) as (reader, writer):
                writer.write(request(body=b"{}"))
                await read_head(reader)
                await read_chunk(reader)
            await within(upstream.gone.wait())
            await eventually(lambda: engine.answered)
        (answered,) = engine.answered
        assert (answered.status, answered.usage, answered.aborted) == (200, Usage(input=7), True)
        assert answered.at > 0

    run(main())


CUT_SHORT = {
    "chunked": CHUNKED + chunk(b"half of it") + b"5\r\nab",
    "between chunks": CHUNKED + chunk(b"half of it"),
    "sized": b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf of it",
}


@pytest.mark.parametrize("how", CUT_SHORT)
@pytest.mark.parametrize("version", [b"1.1", b"1.0"])
def test_an_answer_that_breaks_off_breaks_off_for_the_client_too(run, how, version):
    async def cut(_request, writer):
        writer.write(CUT_SHORT[how])
        await writer.drain()
        writer.close()

    async def main():
        engine = Engine()
        async with (
            Upstream(cut) as upstream,
            proxy_to(upstream, engine) as proxy,
            connection(proxy) as (reader, writer),
        ):
            writer.write(request(body=b"{}").replace(b"HTTP/1.1", b"HTTP/" + version))
            answer = await read_head(reader)
            if version == b"1.0" and how != "sized":
                # Without chunks an orderly close would mean the end: it must be a reset.
                with pytest.raises(ConnectionResetError):
                    await within(reader.read())
            else:
                await read_body(reader, answer)
                assert not answer.complete
                assert answer.body.startswith(b"half of it")
                assert await within(reader.read()) == b""
            await eventually(lambda: engine.answered)
        assert not engine.answered[0].aborted

    run(main())


def test_a_client_that_reads_slowly_slows_the_upstream_down(run):
    sent = 0

    async def flood(_request, writer):
        nonlocal sent
        writer.write(CHUNKED)
        for _ in range(400):
            writer.write(chunk(b"x" * 100_000))
            await writer.drain()
            sent += 100_000
        writer.write(b"0\r\n\r\n")

    async def main():
        async with Upstream(flood) as upstream, proxy_to(upstream) as proxy:
            reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
            writer.write(request(body=b"{}"))
            before = -1
            while before != sent:
                before = sent
                await asyncio.sleep(0.5)
            assert 0 < sent < 25_000_000
            received = 0
            while piece := await within(reader.read(1 << 20)):
                received += len(piece)
                if piece.endswith(b"0\r\n\r\n"):
                    break
            assert received > 40_000_000
            writer.close()
            await writer.wait_closed()

    run(main())


def test_150_streams_at_once(run):
    barrier = asyncio.Event()

    async def together(message, writer):
        writer.write(CHUNKED)
        await within(barrier.wait())
        for number in range(20):
            writer.write(chunk(b"data: %d %s\n\n" % (number, message.body)))
            await asyncio.sleep(0.005)
        writer.write(b"0\r\n\r\n")

    async def main():
        async with Upstream(together) as upstream, proxy_to(upstream) as proxy:
            asks = [
                asyncio.create_task(ask(proxy, request(body=b"%d" % number)))
                for number in range(150)
            ]
            await eventually(lambda: len(upstream.requests) == 150)
            barrier.set()
            for number, answer in enumerate(await asyncio.gather(*asks)):
                assert answer.complete
                assert answer.body.count(b" %d\n" % number) == 20

    run(main())


@pytest.mark.parametrize("replaced", [False, True])
def test_bodies_are_let_go_of_while_their_answers_stream(run, replaced):
    """Ten bodies of two megabytes are gone once they are sent, though the answers go on."""
    more = asyncio.Event()

    async def wait_for_more(message, writer):
        message.body = b""
        writer.write(CHUNKED + chunk(b"begun"))
        await within(more.wait())
        writer.write(b"0\r\n\r\n")

    def letting_go(arrived):
        held = [Send(arrived.body[:-1] + b"!" if replaced else None, "")]
        del arrived
        yield held.pop()
        yield Relay("n")

    async def main():
        body = b"x" * 2_000_000
        data = request(body=body)
        async with (
            Upstream(wait_for_more) as upstream,
            proxy_to(upstream, Engine(letting_go)) as proxy,
        ):
            tracemalloc.start()
            clients = []
            for _ in range(10):
                reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
                writer.write(data)
                await within(writer.drain())
                await read_head(reader)
                assert await read_chunk(reader) == b"begun"
                clients.append((reader, writer))
            gc.collect()
            held, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert held < 4_000_000
            more.set()
            for reader, writer in clients:
                assert await read_chunk(reader) == b""
                writer.close()
                await writer.wait_closed()

    run(main())


def test_an_early_refusal_of_a_large_upload_reaches_the_client(run):
    """An upstream may refuse by the head alone, and never read the body."""
    refusal = json.dumps({"type": "error"}).encode()

    async def main():
        closed = asyncio.Event()

        async def serve(reader, writer):
            await read_head(reader)
            writer.write(
                b"HTTP/1.1 413 Too Large\r\nContent-Length: %d\r\n\r\n%s" % (len(refusal), refusal)
            )
            await writer.drain()
            await reader.read()
            writer.close()
            await writer.wait_closed()
            closed.set()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with proxy_to(f"http://127.0.0.1:{port}") as proxy:
            answer = await ask(proxy, request(body=b"x" * 30_000_000))
            assert (answer.status, answer.body) == (413, refusal)
        await within(closed.wait())
        server.close()

    run(main())


def test_a_long_answer_meets_no_timeout(run):
    """No test can wait five minutes, the default of aiohttp: look at the setting."""

    async def main():
        async with Upstream() as upstream, proxy_to(upstream) as proxy:
            timeout = proxy._house.routes._session.timeout
            assert (timeout.total, timeout.sock_read) == (None, None)

    run(main())
