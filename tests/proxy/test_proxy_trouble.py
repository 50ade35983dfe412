"""When the upstream cannot be reached: a clear 502, no second try, no secret told."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import subprocess

import pytest
from proxy_rig import (
    Engine,
    Process,
    Upstream,
    ask,
    connection,
    eventually,
    proxy_to,
    read_body,
    read_head,
    request,
    within,
)

from cuesta.core.errors import ConfigError
from cuesta.proxy.environment import http_proxy_for, trust

SECRET = b"sk-ant-very-secret"


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"):
        monkeypatch.delenv(name, raising=False)


async def ask_with_secret(proxy):
    return await ask(proxy, request("/v1/messages?key=" + SECRET.decode(), b"x-api-key: " + SECRET,
                                    body=b'{"text": "' + SECRET + b'"}'))  # fmt: skip


def closed_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def check_502(answer, caplog, *words):
    assert answer.status == 502
    for word in ("127.0.0.1", *words):
        assert word in answer.error
    assert SECRET not in answer.body
    assert SECRET.decode() not in caplog.text


def test_an_upstream_that_is_not_there(run, caplog):
    caplog.set_level(logging.DEBUG)

    async def main():
        engine = Engine()
        async with proxy_to(f"http://127.0.0.1:{closed_port()}", engine) as proxy:
            answer = await ask_with_secret(proxy)
            check_502(answer, caplog, "Connection refused", "upstream")
            await eventually(lambda: engine.answered)
        assert (engine.answered[0].status, engine.answered[0].aborted) == (0, False)

    run(main())


def test_a_name_that_does_not_resolve(run):
    async def main():
        async with proxy_to("http://nobody.invalid") as proxy:
            answer = await ask(proxy, request())
            assert answer.status == 502
            assert "nobody.invalid" in answer.error
            assert "resolved" in answer.error

    run(main())


@pytest.mark.parametrize("method", ["POST", "GET", "PUT"])
def test_an_upstream_that_hangs_up_is_asked_only_once(run, caplog, method):
    async def hang_up(_request, writer):
        writer.close()

    async def main():
        async with Upstream(hang_up) as upstream, proxy_to(upstream) as proxy:
            answer = await ask(proxy, request("/x", method=method, body=b"{}"))
            check_502(answer, caplog, "before it answered")
            assert len(upstream.requests) == 1

    run(main())


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_a_kept_connection_that_turns_out_dead_is_not_tried_again(run, method):
    async def answer_once(message, writer):
        if b"/first" in message.line:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        else:
            writer.close()

    async def main():
        async with Upstream(answer_once) as upstream, proxy_to(upstream) as proxy:
            assert (await ask(proxy, request("/first", method=method))).status == 200
            assert (await ask(proxy, request("/second", method=method))).status == 502
            assert len(upstream.requests) == 2

    run(main())


def test_an_upstream_that_speaks_something_else(run, caplog):
    async def nonsense(_request, writer):
        writer.write(b"SSH-2.0-OpenSSH_9 " + SECRET + b"\r\n\r\n")
        await writer.drain()

    async def main():
        async with Upstream(nonsense) as upstream, proxy_to(upstream) as proxy:
            check_502(await ask_with_secret(proxy), caplog, "no valid HTTP")

    run(main())


def test_the_connection_survives_an_error_of_the_upstream(run):
    async def main():
        async with (
            proxy_to(f"http://127.0.0.1:{closed_port()}") as proxy,
            connection(proxy) as (reader, writer),
        ):
            for _ in range(2):
                writer.write(request(body=b"{}"))
                answer = await read_head(reader)
                await read_body(reader, answer)
                assert answer.status == 502

    run(main())


def make_certificate(folder):
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=test"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1,DNS:upstream.example"]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("needs the openssl command to make a certificate")
    return cert, key


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("tls"))


def tls(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


def test_a_certificate_nobody_vouches_for(run, certificate, caplog):
    async def main():
        async with Upstream(ssl=tls(certificate)) as upstream, proxy_to(upstream) as proxy:
            answer = await ask_with_secret(proxy)
            check_502(answer, caplog, "not trusted", "NODE_EXTRA_CA_CERTS")

    run(main())


@pytest.mark.parametrize("name", ["REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"])
def test_authorities_of_the_environment_are_trusted(run, certificate, monkeypatch, name):
    monkeypatch.setenv(name, str(certificate[0]))

    async def main():
        async with Upstream(ssl=tls(certificate)) as upstream, proxy_to(upstream) as proxy:
            assert (await ask(proxy, request(body=b"{}"))).status == 200

    run(main())


def test_the_authority_that_openssl_itself_takes_is_trusted(run, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))

    async def main():
        async with (
            Upstream(ssl=tls(certificate)) as upstream,
            Process(upstream) as process,
        ):
            assert (await ask(process, request(body=b"{}"))).status == 200

    run(main())


def test_authorities_of_the_environment_come_on_top(certificate, monkeypatch, tmp_path):
    platform = tmp_path / "platform.pem"
    platform.write_bytes(make_certificate(tmp_path)[0].read_bytes())
    paths = ssl.get_default_verify_paths()._replace(openssl_cafile=str(platform))
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: paths)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "nothing"))
    context = trust({"SSL_CERT_FILE": str(certificate[0])})
    assert context.cert_store_stats()["x509"] == 2


def test_a_bundle_is_not_read_twice(certificate, monkeypatch):
    paths = ssl.get_default_verify_paths()._replace(openssl_cafile="/nowhere")
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: paths)
    place = str(certificate[0])
    assert trust({}) is None
    assert trust({"SSL_CERT_FILE": place, "NODE_EXTRA_CA_CERTS": place}) is None
    assert trust({"NODE_EXTRA_CA_CERTS": place}) is not None


def test_an_authority_that_cannot_be_read_is_reported_and_left_out(tmp_path, caplog):
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    environ = {"REQUESTS_CA_BUNDLE": str(empty), "NODE_EXTRA_CA_CERTS": str(tmp_path / "gone.pem")}
    assert trust(environ) is not None
    assert "NODE_EXTRA_CA_CERTS" in caplog.text
    assert "REQUESTS_CA_BUNDLE" in caplog.text


def test_plain_http_against_a_tls_port(run, certificate):
    async def main():
        async with (
            Upstream(ssl=tls(certificate)) as upstream,
            proxy_to(upstream.url.replace("https", "http")) as proxy,
        ):
            assert (await ask(proxy, request())).status == 502

    run(main())


def test_tls_against_a_plain_port(run, caplog):
    async def main():
        closed = asyncio.Event()

        async def refuse(reader, writer):
            await reader.read(1)
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()
            await asyncio.wait([asyncio.ensure_future(writer.wait_closed())])
            closed.set()

        server = await asyncio.start_server(refuse, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with proxy_to(f"https://127.0.0.1:{port}") as proxy:
            check_502(await ask_with_secret(proxy), caplog, "TLS", "scheme and port")
        await within(closed.wait())
        server.close()

    run(main())


def test_an_http_proxy_of_the_environment_is_used_with_its_own_login(run, monkeypatch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("default login evil password evil\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))

    async def main():
        async with Upstream() as middle:
            monkeypatch.setenv("HTTP_PROXY", f"http://user:pass@127.0.0.1:{middle.port}")
            async with proxy_to("http://upstream.example/base") as proxy:
                answer = await ask(proxy, request("/v1?x=%2F%20a", b"x-api-key: k"))
                assert answer.status == 200
            (seen,) = middle.requests
            assert seen.line == b"POST http://upstream.example/base/v1?x=%2F%20a HTTP/1.1"
            assert seen.all(b"host") == [b"upstream.example"]
            assert seen.all(b"proxy-authorization") == [b"Basic dXNlcjpwYXNz"]
            assert seen.all(b"authorization") == []
            assert seen.all(b"x-api-key") == [b"k"]

    run(main())


def test_an_https_upstream_is_reached_by_a_tunnel_and_keeps_its_headers_from_the_proxy(
    run, monkeypatch, certificate
):
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", str(certificate[0]))
    tunnels = []

    async def main():
        upstream = Upstream(ssl=tls(certificate))
        relays = set()

        async def tunnel(reader, writer):
            tunnels.append(await read_head(reader))
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", upstream.port)
            writer.write(b"HTTP/1.1 200 Go\r\n\r\n")
            for source, sink in ((reader, far_writer), (far_reader, writer)):
                relays.add(asyncio.create_task(pour(source, sink)))

        async with upstream:
            middle = await asyncio.start_server(tunnel, "127.0.0.1", 0)
            port = middle.sockets[0].getsockname()[1]
            monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
            async with proxy_to("https://upstream.example") as proxy:
                answer = await ask(proxy, request("/v1", b"x-api-key: " + SECRET))
                assert answer.status == 200
            await within(asyncio.wait(relays))
            middle.close()
            assert tunnels[0].line == b"CONNECT upstream.example:443 HTTP/1.1"
            assert not tunnels[0].all(b"x-api-key")
            assert upstream.requests[0].all(b"x-api-key") == [SECRET]

    run(main())


async def pour(source, sink):
    while data := await source.read(65536):
        sink.write(data)
    sink.close()
    await asyncio.wait([asyncio.ensure_future(sink.wait_closed())])


def test_a_netrc_file_gives_no_credentials(run, monkeypatch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login evil password evil\ndefault login evil password x\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))

    async def main():
        async with Upstream() as upstream, proxy_to(upstream) as proxy:
            await ask(proxy, request())
            assert not upstream.requests[0].all(b"authorization")

    run(main())


@pytest.mark.parametrize(
    ("environ", "scheme", "host", "proxy"),
    [
        ({}, "https", "api.example", None),
        ({"HTTPS_PROXY": "http://p:1"}, "https", "api.example", "http://p:1"),
        ({"https_proxy": "p:1"}, "https", "api.example", "http://p:1"),
        ({"HTTP_PROXY": "http://p:1"}, "https", "api.example", None),
        ({"ALL_PROXY": "http://p:1"}, "https", "api.example", "http://p:1"),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "example"}, "https", "api.example", None),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "x, .example"}, "https", "api.example", None),
        ({"HTTPS_PROXY": "http://p:1", "no_proxy": "*"}, "https", "api.example", None),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "other"}, "https", "a.b", "http://p:1"),
        ({"HTTP_PROXY": "http://p:1"}, "http", "127.0.0.1", None),
        ({"HTTP_PROXY": "http://p:1"}, "http", "localhost", None),
        ({"HTTPS_PROXY": ""}, "https", "api.example", None),
    ],
)
def test_which_proxy_is_used(monkeypatch, environ, scheme, host, proxy):
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert http_proxy_for(scheme, host) == proxy


def test_a_proxy_of_another_kind_is_an_error_that_says_what_to_do(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "socks5://user:secret@p:1")
    with pytest.raises(ConfigError, match="HTTPS_PROXY") as refused:
        http_proxy_for("https", "api.example")
    assert "secret" not in str(refused.value)


def test_a_port_in_use_is_named(run):
    async def main():
        async with Upstream() as upstream:
            with pytest.raises(ConfigError, match=f"port {upstream.port} on 127.0.0.1 is in use"):
                async with proxy_to(upstream, port=upstream.port):
                    pass

    run(main())
