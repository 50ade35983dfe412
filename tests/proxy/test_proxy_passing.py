"""What passes the proxy passes unchanged, both ways."""

from __future__ import annotations

import asyncio

import brotli
import pytest
import zstandard
from proxy_rig import (
    Engine,
    Upstream,
    ask,
    connection,
    gzipped,
    proxy_to,
    raw_deflated,
    read_body,
    read_head,
    request,
    response,
    sends,
    within,
)

from cuesta.core.usage import Usage


def test_a_request_goes_on_with_the_case_order_and_duplicates_of_its_headers(run):
    async def main():
        async with Upstream() as upstream, proxy_to(upstream) as proxy:
            sent = request(
                "/v1/messages?beta=true&x=%2F%20a+b&&y",
                b"x-API-key: secret",
                b"X-Dup: 1",
                b"Connection: keep-alive, X-Mine",
                b"X-Mine: for this hop only",
                b"x-dup: 2",
                b"TE: trailers",
                b"Keep-Alive: timeout=5",
                b"Proxy-Authorization: Basic c2VjcmV0",
                b"Accept-Encoding: gzip, br",
                "X-Name: Zoë".encode(),
                body=b'{"a": 1}',
            )
            await ask(proxy, sent)
            (seen,) = upstream.requests
            assert seen.line == b"POST /v1/messages?beta=true&x=%2F%20a+b&&y HTTP/1.1"
            assert seen.headers[:-1] == [
                (b"Host", f"127.0.0.1:{upstream.port}".encode()),
                (b"x-API-key", b"secret"),
                (b"X-Dup", b"1"),
                (b"x-dup", b"2"),
                (b"Accept-Encoding", b"gzip, br"),
                (b"X-Name", "Zoë".encode()),
                (b"Content-Length", b"8"),
            ]
            assert seen.headers[-1][0] == b"x-cuesta-hop", "for an upstream on this machine"
            assert seen.body == b'{"a": 1}'

    run(main())


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "DELETE", "PATCH", "PUT", "TRACE"])
def test_any_method_and_path_goes_on(run, method):
    async def main():
        async with Upstream() as upstream, proxy_to(upstream) as proxy:
            target = "//a/../b/%2e%2e/c;d=1?q"
            assert (await ask(proxy, request(target, method=method))).status == 200
            assert upstream.requests[0].line == f"{method} {target} HTTP/1.1".encode()

    run(main())


def test_a_path_in_the_upstream_goes_in_front(run):
    async def main():
        async with Upstream() as upstream, proxy_to(f"{upstream.url}/gate/way/") as proxy:
            await ask(proxy, request("/v1/messages?beta=true"))
            assert upstream.requests[0].line == b"POST /gate/way/v1/messages?beta=true HTTP/1.1"

    run(main())


def test_a_chunked_request_goes_on_with_a_length(run):
    async def main():
        async with Upstream() as upstream, proxy_to(upstream) as proxy:
            chunked = b"3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\n\r\n"
            await ask(proxy, request("/x", b"Transfer-Encoding: chunked") + chunked)
            (seen,) = upstream.requests
            assert seen.body == b"abcde"
            assert seen.one(b"content-length") == b"5"
            assert not seen.all(b"transfer-encoding")

    run(main())


def test_a_body_of_many_megabytes_arrives_whole(run):
    async def main():
        async with Upstream() as upstream, proxy_to(upstream) as proxy:
            body = bytes(range(256)) * (20 << 12)
            answer = await ask(proxy, request(body=body))
            assert answer.status == 200
            assert upstream.requests[0].body == body

    run(main())


def test_an_answer_comes_with_its_own_headers_and_one_of_ours(run):
    raw = response(
        b"hello",
        b"Set-Cookie: a=1",
        b"set-COOKIE: b=2",
        b"X-Bytes: caf\xe9",
        b"Connection: X-Hop",
        b"X-Hop: for this hop only",
        b"request-id: req_1",
        status=b"200 Fine By Me",
    )

    async def main():
        async with Upstream(sends(raw)) as upstream, proxy_to(upstream) as proxy:
            answer = await ask(proxy, request())
            assert answer.line == b"HTTP/1.1 200 Fine By Me"
            assert answer.headers == [
                (b"Set-Cookie", b"a=1"),
                (b"set-COOKIE", b"b=2"),
                (b"X-Bytes", b"caf\xe9"),
                (b"request-id", b"req_1"),
                (b"Content-Length", b"5"),
                (b"x-cuesta", b"kept: below the threshold"),
            ]
            assert answer.body == b"hello"

    run(main())


def test_our_header_can_be_left_out(run):
    async def main():
        async with Upstream() as upstream, proxy_to(upstream, header=False) as proxy:
            answer = await ask(proxy, request())
            assert not answer.all(b"x-cuesta")

    run(main())


@pytest.mark.parametrize(
    ("method", "raw"),
    [
        ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n"),
        ("GET", b"HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n"),
        ("GET", b'HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n\r\n'),
    ],
)
def test_answers_without_a_body_have_none(run, method, raw):
    async def main():
        async with (
            Upstream(sends(raw)) as upstream,
            proxy_to(upstream, header=False) as proxy,
            connection(proxy) as (reader, writer),
        ):
            for _ in range(2):
                writer.write(request(method=method))
                got = await within(reader.readuntil(b"\r\n\r\n"))
                assert got == raw

    run(main())


def test_an_answer_without_a_length_is_chunked(run):
    async def main():
        raw = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        async with Upstream(sends(raw)) as upstream, proxy_to(upstream) as proxy:
            answer = await ask(proxy, request())
            assert answer.all(b"transfer-encoding") == [b"chunked"]
            assert (answer.body, answer.complete) == (b"abc", True)

    run(main())


def test_a_client_of_http_1_0_gets_a_body_that_ends_with_the_connection(run):
    async def main():
        raw = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        async with Upstream(sends(raw)) as upstream, proxy_to(upstream) as proxy:
            sent = b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n"
            answer = await ask(proxy, sent)
            assert answer.all(b"connection") == [b"close"]
            assert not answer.all(b"transfer-encoding")
            assert answer.body == b"abc"

    run(main())


ANSWER = b'{"usage": 12, "text": "' + b"word " * 20_000 + b'"}'
CODINGS = {
    "identity": ANSWER,
    "gzip": gzipped(ANSWER),
    "deflate": raw_deflated(ANSWER),
    "br": brotli.compress(ANSWER),
    "zstd": zstandard.compress(ANSWER),
}


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("status", [b"200 OK", b"400 Bad Request"])
def test_a_coded_answer_passes_byte_for_byte_and_its_usage_is_read(run, coding, status):
    coded = CODINGS[coding]

    async def in_pieces(_request, writer):
        head = f"Content-Encoding: {coding}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        writer.write(b"HTTP/1.1 " + status + b"\r\n" + head)
        for start in range(0, len(coded), 1500):
            piece = coded[start : start + 1500]
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
            await asyncio.sleep(0)
        writer.write(b"0\r\n\r\n")

    async def main():
        engine = Engine()
        async with Upstream(in_pieces) as upstream, proxy_to(upstream, engine) as proxy:
            answer = await ask(proxy, request())
            assert answer.body == coded
            assert answer.one(b"content-encoding") == coding.encode()
            assert answer.complete
        assert engine.answered[0].usage == Usage(input=12)

    run(main())


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "compress"])
def test_an_answer_that_cannot_be_decoded_passes_all_the_same(run, coding):
    async def main():
        engine = Engine()
        raw = response(b"not what it says " * 99, f"Content-Encoding: {coding}".encode())
        async with Upstream(sends(raw)) as upstream, proxy_to(upstream, engine) as proxy:
            answer = await ask(proxy, request())
            assert (answer.status, answer.body) == (200, b"not what it says " * 99)
        assert engine.answered[0].usage is None

    run(main())


@pytest.mark.parametrize("status", [b"429 Too Many Requests", b"529 Overloaded", b"307 Go"])
def test_refusals_and_redirects_are_the_clients_to_handle(run, status):
    async def main():
        raw = response(b"{}", b"retry-after: 7", b"Location: /elsewhere", status=status)
        async with Upstream(sends(raw)) as upstream, proxy_to(upstream) as proxy:
            answer = await ask(proxy, request())
            assert answer.line == b"HTTP/1.1 " + status
            assert answer.one(b"retry-after") == b"7"
            assert len(upstream.requests) == 1

    run(main())


def test_a_cookie_set_for_one_client_is_not_sent_for_another(run):
    async def main():
        raw = response(b"{}", b"Set-Cookie: session=secret; Path=/")
        async with Upstream(sends(raw)) as upstream, proxy_to(upstream) as proxy:
            await ask(proxy, request())
            await ask(proxy, request("/", b"Cookie: own=1"))
            assert upstream.requests[0].all(b"cookie") == []
            assert upstream.requests[1].all(b"cookie") == [b"own=1"]

    run(main())


def test_a_client_that_waits_to_be_told_to_continue_is_told(run):
    async def main():
        async with (
            Upstream() as upstream,
            proxy_to(upstream) as proxy,
            connection(proxy) as (reader, writer),
        ):
            writer.write(request("/x", b"Expect: 100-continue", b"Content-Length: 3"))
            interim = await within(reader.readuntil(b"\r\n\r\n"))
            assert interim == b"HTTP/1.1 100 Continue\r\n\r\n"
            writer.write(b"abc")
            assert (await read_head(reader)).status == 200
            (seen,) = upstream.requests
            assert seen.body == b"abc"
            assert not seen.all(b"expect")

    run(main())


def test_long_headers_pass_both_ways(run):
    async def main():
        long = b"v" * 60_000
        raw = response(b"{}", b"X-Long: " + long, *[b"X-%d: 1" % n for n in range(300)])
        async with Upstream(sends(raw)) as upstream, proxy_to(upstream) as proxy:
            many = [b"Y-%d: 1" % n for n in range(300)]
            answer = await ask(proxy, request("/" + "p" * 30_000, b"X-Long: " + long, *many))
            assert answer.one(b"x-long") == long
            assert len(answer.headers) == 303
            assert upstream.requests[0].one(b"x-long") == long

    run(main())


def test_both_connections_are_kept_for_the_next_request(run):
    async def main():
        async with (
            Upstream() as upstream,
            proxy_to(upstream) as proxy,
            connection(proxy) as (reader, writer),
        ):
            for _ in range(5):
                writer.write(request(body=b"{}"))
                answer = await read_head(reader)
                await read_body(reader, answer)
            assert len(upstream.requests) == 5
            assert upstream.connections == 1

    run(main())


def test_a_run_prefix_is_taken_off_and_told_to_the_exchange(run):
    async def main():
        engine = Engine()
        async with Upstream() as upstream, proxy_to(upstream, engine) as proxy:
            await ask(proxy, request("/-/run/job_1-a/v1/messages?beta=true"))
            assert upstream.requests[0].line == b"POST /v1/messages?beta=true HTTP/1.1"
        assert engine.arrived[0].run == "job_1-a"
        assert engine.arrived[0].path == "/v1/messages"

    run(main())
