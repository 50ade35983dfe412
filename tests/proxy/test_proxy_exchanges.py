"""The exchange decides; the proxy carries out, and whatever fails, the request goes out."""

from __future__ import annotations

import asyncio
import threading

import pytest
from proxy_rig import (
    SECONDS,
    Engine,
    Upstream,
    ask,
    connection,
    eventually,
    gzipped,
    page,
    proxy_to,
    read_body,
    read_head,
    request,
    response,
    sends,
    sent,
    trace_event,
)

from cuesta.core.ledger import Entry
from cuesta.core.policy import Policy
from cuesta.core.usage import Usage
from cuesta.exchange.events import (
    Answered,
    Commit,
    Done,
    Found,
    LookUp,
    Record,
    Refused,
    Send,
)
from cuesta.store.memory import MemoryStore

ENTRY = Entry(Policy("default"), "cliff", 1, ())
KEY = b"k" * 32
BODY = b'{"messages": "long"}'


def test_commands_are_carried_out_and_answered(run):
    answers = []

    def exchange(arrived):
        event = trace_event(arrived)
        answers.append((yield LookUp((KEY,))))
        answers.append((yield Commit(KEY, ENTRY)))
        answers.append((yield LookUp((b"x" * 32, KEY))))
        answered = yield from sent(None, "", "test")
        answers.append(answered)
        answers.append((yield Record(event)))

    async def main():
        store = MemoryStore()
        upstream = Upstream(sends(response(b'{"usage": 5}')))
        async with upstream, proxy_to(upstream, Engine(exchange), store) as proxy:
            sent = request("/v1/messages?q=1", b"X-Api-Key: k", body=BODY)
            await ask(proxy, sent)
            await eventually(lambda: len(answers) == 5)
            assert store.look_up([KEY]) == (KEY, ENTRY)
            assert len(store.events(9)) == 1

    run(main())
    assert answers[:3] == [Found(None, None), Done(), Found(KEY, ENTRY)]
    assert (answers[3].status, answers[3].usage) == (200, Usage(input=5))
    assert answers[4] == Done()


def test_the_exchange_is_told_what_arrived(run):
    async def main():
        engine = Engine()
        async with Upstream() as upstream, proxy_to(upstream, engine) as proxy:
            await ask(proxy, request("/v1/messages?q=1", b"X-Api-Key: K", body=BODY))
        (arrived,) = engine.arrived
        assert (arrived.method, arrived.path, arrived.body) == ("POST", "/v1/messages", BODY)
        assert ("x-api-key", "K") in arrived.headers
        assert arrived.at > 1_700_000_000

    run(main())


class BrokenStore(MemoryStore):
    """A store whose disk is gone."""

    def look_up(self, _keys):
        raise OSError("gone")

    commit = look_up


def test_a_command_that_fails_is_thrown_into_the_exchange(run):
    caught = []

    def exchange(arrived):
        event = trace_event(arrived)
        for command in (LookUp((KEY,)), Commit(KEY, ENTRY)):
            try:
                yield command
            except OSError as error:
                caught.append(error)
        yield from sent(b"[open]", "failed open", "")
        yield Record(event)

    class Store(BrokenStore):
        def commit(self, key, entry):  # noqa: ARG002 - as the protocol says
            raise OSError("gone")

    async def main():
        engine = Engine(exchange)
        async with Upstream() as upstream, proxy_to(upstream, engine, Store()) as proxy:
            assert (await ask(proxy, request(body=BODY))).status == 200
            assert upstream.requests[0].body == b"[open]"
            assert (await page(proxy, "status"))["failures"] == 0

    run(main())
    assert [str(error) for error in caught] == ["gone", "gone"]


def raising_at_once(_arrived):
    raise ValueError("a secret from the body")
    yield


def raising_later(_arrived):
    yield LookUp((KEY,))
    raise ValueError("a secret from the body")


def not_catching(_arrived):
    yield LookUp((KEY,))
    yield from sent(b"[ours]", "", "")


def ending_early(_arrived):
    yield LookUp((KEY,))


class RaisingEngine(Engine):
    """An engine that fails before there is an exchange."""

    def exchange(self, _arrived):
        raise ValueError("a secret from the body")


@pytest.mark.parametrize(
    ("engine", "store"),
    [
        (Engine(raising_at_once), MemoryStore()),
        (Engine(raising_later), MemoryStore()),
        (Engine(not_catching), BrokenStore()),
        (Engine(ending_early), MemoryStore()),
        (RaisingEngine(), MemoryStore()),
    ],
    ids=["at once", "later", "a store's error", "no send", "no exchange"],
)
def test_when_the_exchange_fails_the_original_goes_out_and_that_is_counted(
    run, engine, store, caplog
):
    async def main():
        async with Upstream() as upstream, proxy_to(upstream, engine, store) as proxy:
            coded = gzipped(BODY)
            answer = await ask(proxy, request("/x", b"Content-Encoding: gzip", body=coded))
            assert answer.status == 200
            assert not answer.all(b"x-cuesta")
            assert upstream.requests[0].body == coded
            status = await page(proxy, "status")
            assert status["failures"] == 1
            assert status["requests"] == {"failed": 1}

    run(main())
    assert "an exchange failed" in caplog.text
    assert "secret" not in caplog.text


def failing_afterwards(_arrived):
    yield from sent(None, "", "")
    raise ValueError("a secret from the answer")


def sending_twice(_arrived):
    yield from sent(None, "", "")
    yield from sent(None, "", "")


@pytest.mark.parametrize("exchange", [failing_afterwards, sending_twice])
def test_a_failure_after_the_answer_is_counted_and_harms_nothing(run, exchange, caplog):
    async def main():
        async with Upstream() as upstream, proxy_to(upstream, Engine(exchange)) as proxy:
            answer = await ask(proxy, request(body=BODY))
            assert (answer.status, answer.body) == (200, b"{}")
            assert len(upstream.requests) == 1
            async with asyncio.timeout(SECONDS):
                while (await page(proxy, "status"))["failures"] != 1:
                    pass

    run(main())
    assert "secret" not in caplog.text


@pytest.mark.parametrize(("size", "in_a_thread"), [(1_000_000, False), (1_000_001, True)])
def test_large_bodies_are_planned_in_one_thread_beside_the_event_loop(run, size, in_a_thread):
    threads = []

    def exchange(_arrived):
        threads.append(threading.current_thread())
        yield LookUp((KEY,))
        threads.append(threading.current_thread())
        yield from sent(None, "", "")

    async def main():
        async with Upstream() as upstream, proxy_to(upstream, Engine(exchange)) as proxy:
            for _ in range(2):
                await ask(proxy, request(body=b"x" * size))
        assert len(threads) == 4
        assert len(set(threads)) == 1
        assert (threads[0] is not threading.current_thread()) == in_a_thread

    run(main())


def test_the_event_loop_goes_on_while_a_large_body_is_planned(run):
    planning = threading.Event()
    go_on = threading.Event()

    def exchange(arrived):
        if len(arrived.body) > 1_000_000:
            planning.set()
            assert go_on.wait(SECONDS)
        yield from sent(None, "", "")

    async def main():
        async with Upstream() as upstream, proxy_to(upstream, Engine(exchange)) as proxy:
            large = asyncio.create_task(ask(proxy, request(body=b"x" * 2_000_000)))
            await eventually(planning.is_set)
            assert (await ask(proxy, request(body=b"{}"))).status == 200
            assert not large.done()
            go_on.set()
            assert (await large).status == 200

    run(main())


def test_a_client_that_leaves_while_its_request_is_planned_sends_nothing(run):
    planning = threading.Event()
    go_on = threading.Event()
    answered = []

    def exchange(_arrived):
        planning.set()
        assert go_on.wait(SECONDS)
        yield Commit(KEY, ENTRY)
        answered.append((yield from sent(None, "", "")))

    async def main():
        store = MemoryStore()
        async with Upstream() as upstream, proxy_to(upstream, Engine(exchange), store) as proxy:
            async with connection(proxy) as (_, writer):
                writer.write(request(body=b"x" * 2_000_000))
                await eventually(planning.is_set)
            await eventually(lambda: any(visit._left for visit in proxy._visits.values()))
            go_on.set()
            await eventually(lambda: answered)
            assert store.look_up([KEY])[0] == KEY, "an abort takes nothing back"
            assert not upstream.requests
        assert (answered[0].status, answered[0].aborted) == (0, True)

    run(main())


@pytest.mark.parametrize("size", [2, 2_000_000])
def test_a_client_that_leaves_while_a_refusal_is_considered_leaves_the_books_in_order(run, size):
    """The exchange is in a thread, or waits for the disk: it is told of the end after that."""
    considering = threading.Event()
    go_on = threading.Event()
    events = []

    class SlowStore(MemoryStore):
        def commit(self, key, entry):
            considering.set()
            assert go_on.wait(SECONDS)
            super().commit(key, entry)

    def exchange(arrived):
        event = trace_event(arrived)
        del arrived
        events.append((yield Send(None, "test")))
        if size > 2:
            considering.set()
            assert go_on.wait(SECONDS)
        events.append((yield Commit(KEY, ENTRY)))
        events.append((yield Send(b"[other form]", "test")))
        events.append((yield Record(event)))

    async def main():
        store = SlowStore()
        refusing = Upstream(sends(response(b"{}", status=b"400 Bad Request")))
        async with refusing as upstream, proxy_to(upstream, Engine(exchange), store) as proxy:
            async with connection(proxy) as (_, writer):
                writer.write(request(body=b"x" * size))
                await eventually(considering.is_set)
            await eventually(lambda: any(visit._left for visit in proxy._visits.values()))
            go_on.set()
            await eventually(lambda: len(events) == 4)
            assert (await page(proxy, "status"))["failures"] == 0
            assert len(upstream.requests) == 1

    run(main())
    assert [type(event) for event in events] == [Refused, Done, Answered, Done]
    assert events[2].aborted


def test_books_are_closed_after_the_last_byte_and_before_the_next_request(run):
    order = []

    def exchange(arrived):
        order.append("arrived")
        event = trace_event(arrived)
        yield from sent(None, "", "")
        order.append("answered")
        yield Commit(KEY, ENTRY)
        yield Record(event)
        order.append("settled")

    async def main():
        async with (
            Upstream() as upstream,
            proxy_to(upstream, Engine(exchange)) as proxy,
            connection(proxy) as (reader, writer),
        ):
            for _ in range(3):
                writer.write(request(body=b"{}"))
                await read_body(reader, await read_head(reader))
            await eventually(lambda: len(order) == 9)

    run(main())
    assert order == ["arrived", "answered", "settled"] * 3


def test_notes_are_cut_and_cannot_break_out_of_their_header(run):
    def exchange(_arrived):
        yield from sent(None, "a\r\nX-Evil: 1\u00e9" + "b" * 300, "")

    async def main():
        async with Upstream() as upstream, proxy_to(upstream, Engine(exchange)) as proxy:
            answer = await ask(proxy, request())
            assert not answer.all(b"x-evil")
            assert len(answer.one(b"x-cuesta")) == 200
            assert answer.one(b"x-cuesta").startswith(b"a??X-Evil: 1?bbb")

    run(main())


class RaisingTap:
    """A reader of usage with a bug."""

    def __init__(self, _content_type):
        self.usage = None

    def feed(self, _decoded):
        raise ValueError("a secret from the answer")


def test_a_bug_in_reading_usage_never_disturbs_the_answer(run, caplog, monkeypatch):
    monkeypatch.setattr("proxy_rig.Tap", RaisingTap)

    async def main():
        engine = Engine()
        async with Upstream() as upstream, proxy_to(upstream, engine) as proxy:
            answer = await ask(proxy, request())
            assert (answer.body, answer.complete) == (b"{}", True)
        assert engine.answered[0].usage is None

    run(main())
    assert "reading usage failed: ValueError" in caplog.text
    assert "secret" not in caplog.text
