"""Request bodies that are coded: read decoded, sent as they came, or replaced by plain ones."""

from __future__ import annotations

import brotli
import pytest
import zstandard
from proxy_rig import Engine, Upstream, ask, gzipped, page, proxy_to, raw_deflated, request, sent

BODY = b'{"messages": "long"}'
CODED = {
    "gzip": gzipped(BODY),
    "deflate": raw_deflated(BODY),
    "br": brotli.compress(BODY),
    "zstd": zstandard.compress(BODY),
    "GZIP": gzipped(BODY),
}


def replacing(_arrived):
    yield from sent(b"[ours]", "cut: 3 turns", "")


def test_a_replaced_body_goes_out_plain_with_its_own_length(run):
    async def main():
        async with Upstream() as upstream, proxy_to(upstream, Engine(replacing)) as proxy:
            coded = gzipped(BODY)
            sent = request("/x", b"A: 1", b"Content-Encoding: gzip", b"B: 2", body=coded)
            answer = await ask(proxy, sent)
            assert answer.one(b"x-cuesta") == b"cut: 3 turns"
            (seen,) = upstream.requests
            assert seen.body == b"[ours]"
            assert seen.headers[1:-1] == [(b"A", b"1"), (b"B", b"2"), (b"Content-Length", b"6")]

    run(main())


@pytest.mark.parametrize("coding", CODED)
def test_a_coded_body_is_read_decoded_and_goes_out_as_it_came(run, coding):
    async def main():
        engine = Engine()
        async with Upstream() as upstream, proxy_to(upstream, engine) as proxy:
            header = f"Content-Encoding: {coding}".encode()
            await ask(proxy, request("/x", header, body=CODED[coding]))
            (seen,) = upstream.requests
            assert seen.body == CODED[coding]
            assert seen.one(b"content-encoding") == coding.encode()
        assert engine.arrived[0].body == BODY

    run(main())


@pytest.mark.parametrize(
    ("coding", "body"),
    [("gzip", b"no gzip"), ("zstd", CODED["zstd"][:-3]), ("compress", BODY), ("gzip, br", BODY)],
)
def test_a_body_that_cannot_be_decoded_passes_untouched_and_is_recorded(run, coding, body):
    async def main():
        engine = Engine()
        async with Upstream() as upstream, proxy_to(upstream, engine) as proxy:
            header = f"Content-Encoding: {coding}".encode()
            answer = await ask(proxy, request("/x", header, body=body))
            assert answer.status == 200
            assert upstream.requests[0].body == body
            assert (await page(proxy, "status"))["requests"] == {"pass": 1}
            (event,) = await page(proxy, "explain")
            assert (event["action"], event["path"], event["status"]) == ("pass", "/x", 200)
        assert not engine.arrived

    run(main())


def test_a_body_that_explodes_is_refused(run, monkeypatch):
    monkeypatch.setattr("cuesta.proxy.visit.DECODED_LIMIT", 1 << 20)

    async def main():
        async with Upstream() as upstream, proxy_to(upstream) as proxy:
            bomb = gzipped(b"0" * (2 << 20))
            answer = await ask(proxy, request("/x", b"Content-Encoding: gzip", body=bomb))
            assert answer.status == 413
            assert "decompressed" in answer.error
            assert not upstream.requests

    run(main())
