"""The proxy's own pages."""

from __future__ import annotations

import dataclasses
import json

from proxy_rig import (
    Engine,
    Upstream,
    ask,
    connection,
    page,
    proxy_to,
    read_head,
    request,
    response,
    sends,
    sent,
    trace_event,
    within,
)

from cuesta.exchange.events import Record
from cuesta.store.memory import MemoryStore


def test_status_sums_and_explain_tells(run):
    def exchange(arrived):
        event = trace_event(arrived, "replace" if b"cut" in arrived.body else "keep")
        answered = yield from sent(None, "", "test")
        cut = event.action == "replace"
        yield Record(
            dataclasses.replace(
                event,
                usage=answered.usage,
                new_cliff=cut,
                raw_tokens=10,
                sent_tokens=4 if cut else 10,
            )
        )

    async def main():
        upstream = Upstream(sends(response(b'{"usage": 1000000}')))
        async with upstream, proxy_to(upstream, Engine(exchange)) as proxy:
            for body in (b"a", b"cut", b"cut"):
                await ask(proxy, request("/-/run/r1/v1/messages", body=body))
            status = await page(proxy, "status")
            assert status["requests"] == {"keep": 1, "replace": 2}
            assert status["cliffs"] == 2
            assert status["started_at"] > 1_700_000_000
            assert status["degraded"] == ""
            assert status["upstream"] == upstream.url
            model = status["models"]["claude-opus-5"]
            assert model["usage"]["input"] == 3_000_000
            assert model["dollars"] == 15.0
            assert (model["raw_tokens"], model["sent_tokens"]) == (30, 18)
            newest_two = await page(proxy, "explain?n=2")
            assert [event["action"] for event in newest_two] == ["replace", "replace"]
            assert newest_two[0]["run"] == "r1"
            assert len(await page(proxy, "explain")) == 3
            assert await page(proxy, "health") == {"ok": True}
            assert len(upstream.requests) == 3

    run(main())


def test_status_says_when_less_is_kept_than_promised(run):
    async def main():
        store = MemoryStore(degraded="the disk is gone")
        async with Upstream() as upstream, proxy_to(upstream, store=store) as proxy:
            assert (await page(proxy, "status"))["degraded"] == "the disk is gone"

    run(main())


def test_what_a_client_calls_things_is_kept_only_so_far(run):
    def exchange(arrived):
        long = {"model": "m" * 5_000_000, "reason": "r" * 5_000_000}
        event = dataclasses.replace(trace_event(arrived), **long)
        yield from sent(None, "", "test")
        yield Record(event)

    async def main():
        store = MemoryStore()
        async with Upstream() as upstream, proxy_to(upstream, Engine(exchange), store) as proxy:
            await ask(proxy, request("/" + "p" * 100_000, body=b"{}"))
            (event,) = await page(proxy, "explain")
            assert event["path"] == "/" + "p" * 116 + "..."
            assert event["model"] == "m" * 97 + "..."
            assert event["reason"] == "r" * 197 + "..."
            assert list((await page(proxy, "status"))["models"]) == [event["model"]]
            (kept,) = store.events(1)
            assert kept.to_dict() == event

    run(main())


def test_status_tells_why_no_answer_came(run):
    def exchange(arrived):
        answered = yield from sent(None, "", "test")
        yield Record(trace_event(arrived, status=answered.status))

    async def main():
        async with proxy_to("http://127.0.0.1:1", Engine(exchange)) as proxy:
            answer = await ask(proxy, request(body=b"{}"))
            status = await page(proxy, "status")
            assert (status["unanswered"], status["refused"]) == (1, 0)
            assert answer.error == f"cuesta: {status['trouble']}"
        async with (
            Upstream(sends(response(b"{}", status=b"429 Too Many"))) as upstream,
            proxy_to(upstream, Engine(exchange)) as proxy,
        ):
            await ask(proxy, request(body=b"{}"))
            status = await page(proxy, "status")
            assert (status["unanswered"], status["refused"], status["trouble"]) == (0, 1, "")

    run(main())


def test_our_pages_leave_the_connection_open(run):
    async def main():
        async with (
            Upstream() as upstream,
            proxy_to(upstream) as proxy,
            connection(proxy) as (reader, writer),
        ):
            for method in ("GET", "HEAD", "GET"):
                writer.write(request("/-/cuesta/health", method=method))
                answer = await read_head(reader)
                if method == "GET":
                    body = await within(reader.readexactly(int(answer.one(b"content-length"))))
                    assert json.loads(body) == {"ok": True}
            assert not upstream.requests

    run(main())
