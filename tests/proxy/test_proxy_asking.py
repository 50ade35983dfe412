"""A question of our own goes where the request goes, with its credentials, and is read whole."""

from __future__ import annotations

import json

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
    trace_event,
)

from cuesta.core.usage import Usage
from cuesta.exchange.events import Accepted, Ask, Record, Relay, Send, Told

ANSWER = {
    "type": "message", "role": "assistant", "content": [{"type": "text", "text": "All is well."}],
    "stop_reason": "end_turn", "usage": {"input_tokens": 70, "output_tokens": 4},
}  # fmt: skip
BODY = json.dumps(ANSWER).encode()
TOLD = Told("All is well.", Usage(input=70, output=4))


class Asking(Engine):
    """Asks first, keeps what came of it, and sends the request."""

    def __init__(self):
        super().__init__(self.asking)
        self.told = None

    def asking(self, arrived):
        event = trace_event(arrived)
        try:
            self.told = yield Ask(b'{"a question": 1}', "anthropic")
        except Exception as error:  # noqa: BLE001 - whatever it is
            self.told = error
        head = yield Send(None, "")
        assert isinstance(head, Accepted)
        yield Relay("asked")
        yield Record(event)


def answering(raw):
    """Answer the question with these bytes, and the request with a short text."""

    async def answer(message, writer):
        writer.write(raw if b"a question" in message.body else response(b"ok"))
        await writer.drain()
        if b"Connection: close" in raw and b"a question" in message.body:
            writer.close()

    return answer


def asked(run, raw):
    """Return what came of a question answered with these bytes, and what the upstream saw."""

    async def main():
        engine = Asking()
        async with Upstream(answering(raw)) as upstream, proxy_to(upstream, engine) as proxy:
            headers = (b"X-Api-Key: secret", b"Idempotency-Key: 7", b"Accept-Encoding: gzip")
            answer = await ask(proxy, request("/v1/messages?beta=true", *headers, body=b"{}"))
            assert answer.body == b"ok"
            await eventually(lambda: len(upstream.requests) == 2)
            return engine.told, upstream.requests

    return run(main())


def test_it_goes_out_before_the_request_with_the_clients_own_credentials(run):
    told, (question, sent) = asked(run, response(BODY, b"Content-Type: application/json"))
    assert told == TOLD
    assert question.line == sent.line
    assert question.body == b'{"a question": 1}'
    assert question.one(b"x-api-key") == b"secret"
    assert question.one(b"content-length") == b"%d" % len(question.body)
    assert question.all(b"idempotency-key") == []
    assert sent.one(b"idempotency-key") == b"7"


def test_a_compressed_answer_is_read_too(run):
    raw = response(gzipped(BODY), b"Content-Type: application/json", b"Content-Encoding: gzip")
    assert asked(run, raw)[0] == TOLD


@pytest.mark.parametrize(
    "raw",
    [
        response(BODY, status=b"429 Too Many Requests"),
        response(BODY, status=b"500 Oh"),
        response(BODY, b"Content-Encoding: nonsense"),
        b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\nConnection: close\r\n\r\n" + BODY,
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n" + b" " * 9_000_000,
    ],
    ids=["429", "500", "coding", "cut", "no HTTP", "too long"],
)
def test_what_cannot_be_read_whole_is_an_error_that_costs_the_client_nothing(run, raw):
    told, requests = asked(run, raw)
    assert isinstance(told, Exception)
    assert len(requests) == 2
