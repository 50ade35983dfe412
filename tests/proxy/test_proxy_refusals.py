"""What the proxy refuses by itself, and that the refusal is clear."""

from __future__ import annotations

import json

import pytest
from proxy_rig import Engine, Upstream, ask, connection, proxy_to, read_head, request, within

from cuesta.core.errors import ConfigError, RequestError
from cuesta.proxy.guard import check, split_run
from cuesta.proxy.options import ProxyOptions

GOOD_HOSTS = [
    b"127.0.0.1", b"127.0.0.1:4141", b"127.9.8.7:1", b"localhost", b"LOCALHOST:80", b"[::1]:4141",
    b"gateway:4141", b"GateWay",
]  # fmt: skip
BAD_HOSTS = [
    b"evil.example", b"127.0.0.1.evil.example", b"localhost.evil.example:4141", b"192.168.1.2",
    b"0.0.0.0", b"", b"user@127.0.0.1", b"[::1", b"127.1", b"127.0.0.1:99:1", b"127.0.0.1:evil",
    b"2130706433", b"::1",
]  # fmt: skip


@pytest.mark.parametrize("host", GOOD_HOSTS)
def test_requests_addressed_to_this_machine_or_an_allowed_name_pass(host):
    check("/v1/messages", [(b"Host", host)], {"gateway"})


@pytest.mark.parametrize("host", BAD_HOSTS)
def test_requests_addressed_elsewhere_are_refused(host):
    with pytest.raises(RequestError, match="--allow-host") as refused:
        check("/v1/messages", [(b"Host", host)], {"gateway"})
    assert refused.value.status == 403


@pytest.mark.parametrize("hosts", [[], [b"localhost", b"localhost"]])
def test_a_request_names_one_host(hosts):
    with pytest.raises(RequestError, match="Host header"):
        check("/", [(b"host", host) for host in hosts], ())


@pytest.mark.parametrize(
    "origin", [b"http://localhost:3000", b"https://127.0.0.1", b"http://[::1]:9", b"http://gateway"]
)
def test_pages_of_this_machine_may_ask(origin):
    check("/", [(b"Host", b"localhost"), (b"Origin", origin)], {"gateway"})


@pytest.mark.parametrize(
    "origin",
    [
        b"https://evil.example", b"null", b"http://localhost.evil.example", b"", b"http://[",
        b"chrome-extension://localhost", b"file://",
    ],
)  # fmt: skip
def test_pages_from_elsewhere_may_not(origin):
    with pytest.raises(RequestError) as refused:
        check("/", [(b"Host", b"localhost"), (b"Origin", origin)], {"gateway"})
    assert refused.value.status == 403


@pytest.mark.parametrize("site", [b"cross-site", b"same-site", b"Cross-Site"])
def test_a_page_from_elsewhere_may_not_even_load_a_picture(site):
    with pytest.raises(RequestError, match="Sec-Fetch-Site") as refused:
        check("/", [(b"Host", b"localhost"), (b"Sec-Fetch-Site", site)], ())
    assert refused.value.status == 403


@pytest.mark.parametrize(
    "headers",
    [
        [(b"Sec-Fetch-Site", b"none")],
        [(b"Sec-Fetch-Site", b"same-origin")],
        [(b"Sec-Fetch-Site", b"cross-site"), (b"Origin", b"http://localhost:3000")],
    ],
)
def test_what_the_person_opened_and_pages_of_this_machine_may(headers):
    check("/", [(b"Host", b"localhost"), *headers], ())


@pytest.mark.parametrize(
    ("data", "status", "words"),
    [
        (request(host=b"evil.example"), 403, "--allow-host"),
        (request("/", b"Origin: https://evil.example"), 403, "web pages"),
        (request("http://evil.example/v1/messages"), 400, "its own upstream"),
        (request("evil.example:443", method="CONNECT"), 400, "its own upstream"),
        (request("*", method="OPTIONS"), 400, "its own upstream"),
        (request("/", b"X-A: \xff"), 400, "UTF-8"),
        (request("/-/run/no spaces/x".replace(" ", "%20")), 400, "run prefix"),
        (request("/-/run/" + "x" * 65 + "/v1"), 400, "run prefix"),
        (request("/x", b"Content-Length: 134217729"), 413, "128 MiB"),
        (request("/x", b"Sec-Fetch-Site: cross-site", method="GET"), 403, "web pages"),
        (b"GET /x HTTP/1.0\r\n\r\n", 400, "there is no Host header"),
        (b"GET /x HTTP/1.1\r\n\r\n", 400, "no valid HTTP"),
        (b"\x16\x03\x01<script>\r\n\r\n", 400, "no valid HTTP"),
        (b"GET /<script> HTTP/9.9.9\r\n\r\n", 400, "no valid HTTP"),
        (request("/x", b"<script>"), 400, "no valid HTTP"),
        (request("/x", b"Content-Length: <script>"), 400, "no valid HTTP"),
        (request("/-/cuesta/nothing", method="GET"), 404, "/-/cuesta/status"),
        (request("/-/cuesta/status", method="POST"), 405, "GET"),
        (request("/-/cuesta/explain?n=0", method="GET"), 400, "1 to 1000"),
        *(
            (request(f"/-/cuesta/explain?n={n}", method="GET"), 400, "1 to 1000")
            for n in (
                "x",
                "-1",
                "1001",
                "10000",
                "0199",
                "0" * 300 + "199",
                "9" * 5000,
                "1_0",
                "+1",
            )
        ),
    ],
)
def test_a_refusal_says_what_and_why_and_nothing_goes_upstream(run, data, status, words):
    async def main():
        engine = Engine()
        async with Upstream() as upstream, proxy_to(upstream, engine) as proxy:
            answer = await ask(proxy, data)
            assert answer.status == status
            assert words in answer.error
            assert not answer.all(b"server")
            assert b"<script>" not in answer.body
            assert not upstream.requests
        assert not engine.arrived

    run(main())


def test_a_websocket_is_told_to_use_http(run):
    async def main():
        async with Upstream() as upstream, proxy_to(upstream) as proxy:
            opening = request(
                "/v1/responses",
                b"Connection: Upgrade",
                b"Upgrade: websocket",
                b"Sec-WebSocket-Version: 13",
                b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
                method="GET",
            )
            answer = await ask(proxy, opening)
            assert answer.status == 426
            assert "WebSocket" in answer.error
            assert not upstream.requests

    run(main())


def test_an_offer_of_http_2_is_passed_over(run):
    async def main():
        async with Upstream() as upstream, proxy_to(upstream) as proxy:
            headers = (
                b"Connection: Upgrade, HTTP2-Settings",
                b"Upgrade: h2c",
                b"HTTP2-Settings: x",
            )
            answer = await ask(proxy, request("/v1/messages", *headers, body=b'{"a": 1}'))
            assert answer.status == 200
            assert upstream.requests[0].body == b'{"a": 1}'
            assert not upstream.requests[0].all(b"upgrade")

    run(main())


@pytest.mark.parametrize("sized", [True, False])
def test_a_body_over_the_cap_is_refused_while_it_arrives(run, sized, monkeypatch):
    monkeypatch.setattr("cuesta.proxy.app.BODY_LIMIT", 3 << 20)

    async def main():
        async with (
            Upstream() as upstream,
            proxy_to(upstream) as proxy,
            connection(proxy) as (reader, writer),
        ):
            body = b"x" * (4 << 20)
            if sized:
                writer.write(request(body=body))
            else:
                head = request("/x", b"Transfer-Encoding: chunked")
                writer.write(head + b"%x\r\n" % len(body) + body)
            answer = await read_head(reader)
            assert answer.status == 413
            body = json.loads(await within(reader.readexactly(int(answer.one(b"content-length")))))
            assert body["error"]["type"] == "request_too_large"
            assert answer.one(b"connection") == b"close"
            assert not upstream.requests

    run(main())


def test_a_body_of_the_providers_own_limit_passes(run):
    async def main():
        async with Upstream() as upstream, proxy_to(upstream) as proxy:
            assert (await ask(proxy, request(body=b"x" * (33 << 20)))).status == 200

    run(main())


def test_a_client_that_waits_is_refused_before_it_sends(run):
    async def main():
        async with (
            Upstream() as upstream,
            proxy_to(upstream) as proxy,
            connection(proxy) as (reader, writer),
        ):
            writer.write(request("/x", b"Expect: 100-continue", b"Content-Length: 999999999"))
            assert (await read_head(reader)).status == 413

    run(main())


def test_what_is_no_http_is_refused_and_not_logged(run, caplog):
    async def main():
        async with Upstream() as upstream, proxy_to(upstream) as proxy:
            answer = await ask(proxy, request("/", b"x-api-key: sk-secret\x00value"))
            assert answer.status == 400
            assert not upstream.requests

    run(main())
    assert "a connection failed" in caplog.text
    assert "sk-secret" not in caplog.text


@pytest.mark.parametrize(
    ("target", "run_name", "rest"),
    [
        ("/-/run/a/v1/x?q=1", "a", "/v1/x?q=1"),
        ("/-/run/A_b-9/", "A_b-9", "/"),
        ("/-/run/a/-/run/b/x", "a", "/-/run/b/x"),
        ("/-/runs/a", "", "/-/runs/a"),
        ("/v1/-/run/a/x", "", "/v1/-/run/a/x"),
    ],
)
def test_run_prefixes(target, run_name, rest):
    assert split_run(target) == (run_name, rest)


@pytest.mark.parametrize(
    "upstream",
    [
        "api.anthropic.com", "ftp://x", "https://", "https://key:secret@x/", "https://x/?a=1",
        "https://x/#a", "http://[", "",
    ],
)  # fmt: skip
def test_an_upstream_that_makes_no_sense_is_refused_at_the_start(upstream):
    with pytest.raises(ConfigError) as refused:
        run_nothing(upstream)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "name", ["gateway", "a.b-c.example", "::1", "192.168.1.2", "モデル.example"]
)
def test_bare_names_and_addresses_may_be_allowed(name):
    assert ProxyOptions(allow_host=(name,)).allow_host == (name,)


def run_nothing(upstream):
    from cuesta.proxy.upstream import Upstream as Way  # noqa: PLC0415 - not the rig's

    Way(upstream)


@pytest.mark.parametrize(
    "values",
    [
        {"port": -1}, {"port": 65536}, {"drain_s": -1}, {"host": ""}, {"host": "http://x"},
        {"allow_host": ("http://x",)}, {"allow_host": ("good", "x:80")}, {"allow_host": ("*",)},
        {"allow_host": ("*.example",)}, {"allow_host": ("",)}, {"allow_host": ("x/y",)},
        *(
            {option: address}
            for option in ("upstream", "openai_upstream", "chatgpt_upstream")
            for address in (
                "", "x", "ftp://x", "http://", "http://127.0.0.1:99999", "http://[::1",
                "http://h h/", "http://x:0", "http://x:y", "http://x\n.y", "http://u:p@x",
                "http://x?a=b", "http://x#a",
            )
        ),
    ],
)  # fmt: skip
def test_options_out_of_range_are_refused(values):
    (name,) = values
    with pytest.raises(ConfigError, match=f"^{name}: "):
        ProxyOptions(**values)
