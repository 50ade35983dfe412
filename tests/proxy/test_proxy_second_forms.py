"""A refusal is shown to the exchange first: it may send another form, or let the client see it."""

from __future__ import annotations

import pytest
from proxy_rig import (
    Engine,
    Upstream,
    ask,
    eventually,
    gzipped,
    proxy_to,
    request,
    response,
    sends,
    trace_event,
)

from cuesta.core.usage import Usage
from cuesta.exchange.events import Accepted, Answered, Record, Refuse, Refused, Relay, Send

REFUSAL = b'{"type": "error", "usage": 3}'


class Script(Engine):
    """Sends these forms, one after each refusal, and keeps what it was told."""

    def __init__(self, *forms, dialect="test"):
        super().__init__(self.trying)
        self.told = []
        self._forms = forms
        self._dialect = dialect

    def trying(self, arrived):
        event = trace_event(arrived)
        for form in self._forms:
            head = yield Send(form, self._dialect)
            self.told.append(head)
            if not isinstance(head, Refused):
                break
        if not isinstance(head, Answered):
            self.told.append((yield Relay("after all")))
        yield Record(event)


def refusing_first(*answers):
    """Give these answers in turn."""
    left = list(answers)

    async def answer(_request, writer):
        writer.write(left.pop(0))
        await writer.drain()

    return answer


@pytest.mark.parametrize("status", [b"400 Bad Request", b"413 Too Large", b"422 Unprocessable"])
@pytest.mark.parametrize("coding", [b"identity", b"gzip"])
def test_a_refusal_that_is_let_through_is_the_upstreams_own_byte_for_byte(run, status, coding):
    async def main():
        body = gzipped(REFUSAL) if coding == b"gzip" else REFUSAL
        raw = response(body, b"Content-Encoding: " + coding, b"request-id: 7", status=status)
        engine = Script(None)
        async with Upstream(sends(raw)) as upstream, proxy_to(upstream, engine) as proxy:
            answer = await ask(proxy, request(body=b"{}"))
            assert answer.line == b"HTTP/1.1 " + status
            assert (answer.body, answer.complete) == (body, True)
            assert answer.one(b"request-id") == b"7"
            assert answer.one(b"x-cuesta") == b"after all"
            await eventually(lambda: len(engine.told) == 2)
        refused, answered = engine.told
        assert refused == Refused(int(status[:3]), REFUSAL)
        assert (answered.status, answered.usage) == (int(status[:3]), Usage(input=3))

    run(main())


def test_another_form_takes_the_place_of_a_refused_one(run):
    async def main():
        refusal = response(REFUSAL, b"X-Which: first", status=b"400 Bad Request")
        success = response(b'{"usage": 8}', b"X-Which: second")
        engine = Script(b"[ours]", None)
        upstream = Upstream(refusing_first(refusal, success))
        async with upstream, proxy_to(upstream, engine) as proxy:
            coded = gzipped(b"{}")
            answer = await ask(proxy, request("/x", b"Content-Encoding: gzip", body=coded))
            assert (answer.status, answer.body) == (200, b'{"usage": 8}')
            assert answer.all(b"x-which") == [b"second"]
            first, second = upstream.requests
            assert (first.body, first.all(b"content-encoding")) == (b"[ours]", [])
            assert (second.body, second.all(b"content-encoding")) == (coded, [b"gzip"])
            assert second.one(b"content-length") == b"%d" % len(coded)
            assert upstream.connections == 1
            await eventually(lambda: len(engine.told) == 3)
        assert engine.told[:2] == [Refused(400, REFUSAL), Accepted()]
        assert (engine.told[2].status, engine.told[2].usage) == (200, Usage(input=8))

    run(main())


@pytest.mark.parametrize(
    ("status", "dialect", "size"),
    [
        (b"429 Too Many Requests", "test", 20),
        (b"529 Overloaded", "test", 20),
        (b"401 Unauthorized", "test", 20),
        (b"400 Bad Request", "", 20),
        (b"400 Bad Request", "test", 3_000_000),
    ],
)
def test_what_no_other_form_would_help_is_relayed_at_once_and_whole(run, status, dialect, size):
    async def main():
        engine = Script(None, b"never", dialect=dialect)
        raw = response(b"x" * size, b"retry-after: 2", status=status)
        async with Upstream(sends(raw)) as upstream, proxy_to(upstream, engine) as proxy:
            answer = await ask(proxy, request(body=b"{}"))
            assert answer.line == b"HTTP/1.1 " + status
            assert answer.body == b"x" * size
            assert len(upstream.requests) == 1
            await eventually(lambda: len(engine.told) == 2)
        assert engine.told[0] == Accepted()

    run(main())


def test_an_upstream_that_is_gone_at_the_second_form_gives_a_502(run):
    async def refuse_then_vanish(message, writer):
        if message.body == b"[ours]":
            writer.write(response(REFUSAL, status=b"400 Bad Request"))
        else:
            writer.close()

    async def main():
        engine = Script(b"[ours]", None)
        async with Upstream(refuse_then_vanish) as upstream, proxy_to(upstream, engine) as proxy:
            assert (await ask(proxy, request(body=b"{}"))).status == 502
            await eventually(lambda: len(engine.told) == 2)
        assert isinstance(engine.told[1], Answered)
        assert engine.told[1].status == 0

    run(main())


def failing(_arrived):
    yield Send(b"[ours]", "test")
    raise ValueError("a secret from the refusal")


def ending(_arrived):
    yield Send(b"[ours]", "test")


@pytest.mark.parametrize("exchange", [failing, ending])
def test_when_the_exchange_fails_over_a_refusal_the_client_gets_the_refusal(run, exchange, caplog):
    async def main():
        raw = response(REFUSAL, status=b"400 Bad Request")
        async with (
            Upstream(sends(raw)) as upstream,
            proxy_to(upstream, Engine(exchange)) as proxy,
        ):
            answer = await ask(proxy, request(body=b"{}"))
            assert (answer.status, answer.body) == (400, REFUSAL)
            assert len(upstream.requests) == 1

    run(main())
    assert "an exchange failed" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize("header", [True, False])
def test_a_request_that_is_refused_by_us_goes_nowhere(run, header):
    class Strict(Engine):
        def __init__(self):
            super().__init__(self.refusing)
            self.told = []

        def refusing(self, arrived):
            self.told.append((yield Refuse(400, b'{"error": 1}', "refuse; too long")))
            yield Record(trace_event(arrived))

    async def main():
        engine = Strict()
        async with Upstream() as upstream, proxy_to(upstream, engine, header=header) as proxy:
            answer = await ask(proxy, request(body=b"{}"))
            assert answer.line == b"HTTP/1.1 400 Bad Request"
            assert answer.body == b'{"error": 1}'
            assert answer.all(b"x-cuesta") == [b"refuse; too long"] * header
            await eventually(lambda: engine.told)
            assert not upstream.requests
        assert engine.told[0].status == 400

    run(main())
