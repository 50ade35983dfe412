"""A proxy that leads to itself is told so, at the start or at the first request."""

from __future__ import annotations

import socket

import pytest
from proxy_rig import Engine, Upstream, ask, proxy_to, request, within

from cuesta.core.errors import ConfigError
from cuesta.proxy.app import Proxy
from cuesta.proxy.headers import for_upstream
from cuesta.proxy.options import ProxyOptions
from cuesta.store.memory import MemoryStore

HOSTS = ["127.0.0.1", "127.9.8.7", "localhost", "LOCALHOST", "[::1]", "0.0.0.0", "[::]"]


@pytest.mark.parametrize("option", ["upstream", "openai_upstream", "chatgpt_upstream"])
@pytest.mark.parametrize("host", HOSTS)
def test_an_upstream_that_is_the_proxy_itself_is_refused_at_the_start(run, host, option):
    async def main():
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        options = ProxyOptions(port=0, **{option: f"http://{host}:{port}/prefix"})
        proxy = Proxy(Engine(), MemoryStore(), options, {})
        with pytest.raises(ConfigError, match=f"{option} is the address of this proxy itself"):
            await within(proxy.start(listener))
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))

    run(main())


def test_a_request_that_comes_back_is_refused(run):
    """Two proxies, each the other's upstream."""

    async def main():
        listener = socket.create_server(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        engine = Engine()
        async with proxy_to(address, engine) as second:
            options = ProxyOptions(port=0, upstream=f"http://127.0.0.1:{second.port}")
            first = Proxy(Engine(), MemoryStore(), options, {})
            await first.start(listener)
            answer = await ask(second, request(body=b"{}"))
            await within(first.stop(0))
        assert answer.status == 508
        assert "came back" in answer.error
        assert len(engine.arrived) == 1

    run(main())


def test_a_request_that_passed_another_proxy_goes_on_with_both_names(run):
    async def main():
        async with Upstream() as upstream, proxy_to(upstream) as proxy:
            answer = await ask(proxy, request("/x", b"X-Cuesta-Hop: another", body=b"{}"))
            assert answer.status == 200
            theirs, ours = upstream.requests[0].all(b"x-cuesta-hop")
            assert theirs == b"another"
            assert len(ours) == 16

    run(main())


def test_no_name_of_a_proxy_leaves_the_machine():
    headers = [(b"X-Cuesta-Hop", b"another"), (b"A", b"1")]
    assert for_upstream(headers, 0, replaced=False) == [("A", "1")]
