"""Which upstream gets a request: by its path, then by its credentials; and at which path there."""

from __future__ import annotations

import base64
import contextlib
import json

import pytest
from proxy_rig import Upstream, ask, proxy_to, request

from cuesta.core.errors import ConfigError
from cuesta.proxy.options import ProxyOptions
from cuesta.proxy.routing import Api, Routes, api_of


def token(*parts):
    coded = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts)
    return b".".join([*coded, b"c2lnbmF0dXJl"])


JWT = token({"alg": "RS256", "typ": "JWT"}, {"exp": 1})
LOGIN = ((b"Authorization", b"Bearer " + JWT), (b"ChatGPT-Account-Id", b"acc-1"))
KEY = ((b"authorization", b"Bearer sk-proj-abc"),)
ANTHROPIC_KEY = ((b"X-Api-Key", b"sk-ant-api03-abc"), (b"anthropic-version", b"2023-06-01"))
ANTHROPIC_LOGIN = (
    (b"Authorization", b"Bearer sk-ant-oat01-abc"),
    (b"Anthropic-Version", b"2023-06-01"),
)

ANTHROPIC_PATHS = ["/v1/messages", "/v1/messages/count_tokens", "/v1/messages/batches/b1"]
OPENAI_PATHS = [
    "/v1/chat/completions", "/chat/completions", "/v1/responses", "/responses", "/v1/responses/",
    "/v1/responses/compact", "/v1/embeddings", "/v1/batches",
]  # fmt: skip
SHARED_PATHS = ["/v1/models", "/models", "/v1/models/some-model", "/v1/files"]
UNKNOWN_PATHS = ["/", "/v1", "/api/hello", "/v1/unheard-of", "/v1beta/models/m:generateContent"]


@pytest.mark.parametrize("path", ANTHROPIC_PATHS)
@pytest.mark.parametrize("headers", [(), ANTHROPIC_KEY, ANTHROPIC_LOGIN, KEY, LOGIN])
def test_anthropic_s_paths_are_anthropic_s_whatever_the_headers(path, headers):
    assert api_of(path, headers) is Api.ANTHROPIC


@pytest.mark.parametrize("path", OPENAI_PATHS)
@pytest.mark.parametrize(
    ("headers", "api"),
    [((), Api.OPENAI), (KEY, Api.OPENAI), (ANTHROPIC_KEY, Api.OPENAI), (LOGIN, Api.CHATGPT)],
)
def test_openai_s_paths_go_where_the_credentials_are_good(path, headers, api):
    assert api_of(path, headers) is api


@pytest.mark.parametrize(
    ("path", "headers", "api"),
    [
        *((path, headers, Api.ANTHROPIC) for path in SHARED_PATHS + UNKNOWN_PATHS
          for headers in (ANTHROPIC_KEY, ANTHROPIC_LOGIN)),
        *((path, KEY, Api.OPENAI) for path in SHARED_PATHS + UNKNOWN_PATHS),
        *((path, LOGIN, Api.CHATGPT) for path in SHARED_PATHS + UNKNOWN_PATHS),
        *((path, ((b"OpenAI-Organization", b"o"),), Api.OPENAI) for path in UNKNOWN_PATHS),
        *((path, (), Api.OPENAI) for path in SHARED_PATHS),
        *((path, ((b"authorization", b"Bearer other"),), Api.OPENAI) for path in SHARED_PATHS),
        *((path, (), Api.ANTHROPIC) for path in UNKNOWN_PATHS),
        *((path, ((b"authorization", b"Bearer other"),), Api.ANTHROPIC) for path in UNKNOWN_PATHS),
    ],
)  # fmt: skip
def test_other_paths_go_where_the_headers_point(path, headers, api):
    assert api_of(path, headers) is api


@pytest.mark.parametrize(
    "headers",
    [
        ((b"Authorization", b"Bearer " + JWT),),
        ((b"ChatGPT-Account-Id", b"acc-1"), *KEY),
        ((b"ChatGPT-Account-Id", b"acc-1"), (b"Authorization", b"Bearer a.b.c")),
        ((b"ChatGPT-Account-Id", b"acc-1"), (b"Authorization", b"Basic " + JWT)),
        ((b"ChatGPT-Account-Id", b""), (b"Authorization", b"Bearer " + JWT)),
    ],
)
def test_only_an_account_s_token_is_a_chatgpt_login(headers):
    assert api_of("/v1/responses", headers) is Api.OPENAI


@pytest.mark.parametrize("headers", [(), KEY, LOGIN, ANTHROPIC_KEY])
def test_the_codex_backend_s_own_paths_are_its_own(headers):
    assert api_of("/backend-api/codex/responses", headers) is Api.CHATGPT
    assert api_of("/backend-api/codexes", ()) is Api.ANTHROPIC


@pytest.mark.parametrize("host", [b"api.openai.com", b"api.anthropic.com", b"127.0.0.1:1"])
def test_the_host_header_decides_nothing(host):
    assert api_of("/v1/messages", [(b"Host", host)]) is Api.ANTHROPIC
    assert api_of("/v1/responses", [(b"Host", host)]) is Api.OPENAI
    assert api_of("/anything", [(b"Host", host)]) is Api.ANTHROPIC


@contextlib.asynccontextmanager
async def three_upstreams(paths=("", "", ""), **options):
    """Run a proxy before three upstreams, with a path of their own each."""
    async with Upstream() as one, Upstream() as two, Upstream() as three:
        upstreams = (one, two, three)
        addresses = [up.url + path for up, path in zip(upstreams, paths, strict=True)]
        names = ("upstream", "openai_upstream", "chatgpt_upstream")
        settings = {**dict(zip(names, addresses, strict=True)), **options}
        async with proxy_to(settings.pop("upstream"), **settings) as proxy:
            yield proxy, upstreams


@pytest.mark.parametrize(
    ("target", "headers", "api", "paths", "seen"),
    [
        ("/v1/messages?beta=true", ANTHROPIC_KEY, 0, ("", "/a", "/b"), "/v1/messages?beta=true"),
        ("/v1/messages", ANTHROPIC_KEY, 0, ("/gate/way/", "", ""), "/gate/way/v1/messages"),
        ("/api/hello", (), 0, ("", "", ""), "/api/hello"),
        ("/v1/responses", KEY, 1, ("", "", ""), "/v1/responses"),
        ("/responses", KEY, 1, ("", "/", ""), "/v1/responses"),
        ("/v1/responses", KEY, 1, ("", "/v1", ""), "/v1/responses"),
        ("/v1/chat/completions", KEY, 1, ("", "/api/openai/v1", ""),
         "/api/openai/v1/chat/completions"),
        ("/chat/completions", KEY, 1, ("", "/api/openai/v1/", ""),
         "/api/openai/v1/chat/completions"),
        ("/v1/chat/completions", KEY, 1, ("", "/api/coding/paas/v4", ""),
         "/api/coding/paas/v4/chat/completions"),
        ("/v1/models?limit=%2F1", KEY, 1, ("", "/api/openai/v1", ""),
         "/api/openai/v1/models?limit=%2F1"),
        ("/v1?x=1", KEY, 1, ("", "/base", ""), "/base?x=1"),
        ("/v1/responses", LOGIN, 2, ("", "", ""), "/backend-api/codex/responses"),
        ("/v1/responses", LOGIN, 2, ("", "", "/backend-api/codex"), "/backend-api/codex/responses"),
        ("/v1/models?client_version=1", LOGIN, 2, ("", "", "/backend-api/codex"),
         "/backend-api/codex/models?client_version=1"),
        ("/backend-api/codex/responses", LOGIN, 2, ("", "", "/own/codex"), "/own/codex/responses"),
        ("/-/run/r1/v1/responses", LOGIN, 2, ("", "", ""), "/backend-api/codex/responses"),
        ("/-/run/r1/v1/responses", KEY, 1, ("", "/x/v1", ""), "/x/v1/responses"),
    ],
)  # fmt: skip
def test_a_request_arrives_at_its_upstream_with_its_credentials(
    run, target, headers, api, paths, seen
):
    async def main():
        async with three_upstreams(paths) as (proxy, upstreams):
            lines = (name + b": " + text for name, text in headers)
            answer = await ask(proxy, request(target, *lines, body=b"{}"))
            assert answer.status == 200
            counts = [len(upstream.requests) for upstream in upstreams]
            assert counts == [int(number == api) for number in range(3)]
            (got,) = upstreams[api].requests
            assert got.line == b"POST " + seen.encode() + b" HTTP/1.1"
            assert got.one(b"host") == upstreams[api].url.removeprefix("http://").encode()
            for name, text in headers:
                assert got.one(name) == text

    run(main())


@pytest.mark.parametrize(
    "path", ["/v1/responses", "/responses", "/backend-api/codex/responses", "/v1/realtime?model=m"]
)
@pytest.mark.parametrize("headers", [KEY, LOGIN])
def test_a_websocket_is_refused_at_once_on_every_path(run, path, headers):
    async def main():
        async with three_upstreams() as (proxy, upstreams):
            opening = request(
                path,
                b"Connection: Upgrade",
                b"Upgrade: websocket",
                b"Sec-WebSocket-Version: 13",
                b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
                b"OpenAI-Beta: responses_websockets=2026-02-06",
                *(name + b": " + text for name, text in headers),
                method="GET",
            )
            answer = await ask(proxy, opening)
            assert answer.status == 426
            assert "WebSocket" in answer.error
            assert not any(upstream.requests for upstream in upstreams)

    run(main())


@pytest.mark.parametrize("option", ["upstream", "openai_upstream", "chatgpt_upstream"])
def test_an_address_that_makes_no_sense_is_named_by_its_option(option):
    with pytest.raises(ConfigError, match=f"^{option}: must be a URL"):
        Routes(ProxyOptions(**{option: "api.example.com"}))


def test_an_upstream_that_is_not_there_is_named_by_its_option(run):
    async def main():
        async with three_upstreams(openai_upstream="http://127.0.0.1:9/v1") as (proxy, _):
            answer = await ask(proxy, request("/v1/responses", body=b"{}"))
            assert answer.status == 502
            assert "`openai_upstream`" in answer.error
            assert (await ask(proxy, request("/v1/messages", body=b"{}"))).status == 200

    run(main())


def test_an_http_proxy_that_cannot_be_used_disturbs_only_where_it_is_needed(run, monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "socks5://user:secret@p:1")

    async def main():
        async with three_upstreams(openai_upstream="https://far.example") as (proxy, _):
            assert (await ask(proxy, request("/v1/messages", body=b"{}"))).status == 200
            answer = await ask(proxy, request("/v1/responses", body=b"{}"))
            assert answer.status == 502
            assert "only HTTP proxies" in answer.error
            assert "secret" not in answer.error

    run(main())
