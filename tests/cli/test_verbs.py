"""The verbs besides `run`: help that teaches, and answers that fit the screen."""

import contextlib
import http.client
import http.server
import json
import signal
import subprocess
import sys
import threading
import time
import urllib.request

import pytest
from cli_support import CALL, CUESTA, cuesta, started

from cuesta.cli.main import main
from cuesta.cli.text import cells
from cuesta.core.usage import Usage
from cuesta.store.sqlite import FILE_NAME, open_store
from cuesta.trace.event import TraceEvent


def widest(text):
    return max(map(len, text.splitlines()))


@pytest.mark.parametrize(
    "verb",
    ["", "run", "serve", "status", "explain", "replay", "sessions", "tune", "experiment", "demo"],
)
def test_help_teaches_by_example_within_80_columns(verb, environment):
    result = cuesta(*([verb] if verb else []), "--help", env=environment)
    assert result.returncode == 0
    assert f"\n  cuesta {verb}" in result.stdout
    assert widest(result.stdout) <= 80
    assert "--parent-fd" not in result.stdout


def test_no_verb_is_a_question_for_help(environment):
    assert cuesta(env=environment).stdout == cuesta("--help", env=environment).stdout


def test_version(environment):
    assert cuesta("--version", env=environment).stdout.startswith("cuesta 0.")


def test_a_verb_loads_only_what_it_needs():
    code = "import sys, cuesta.cli.main, cuesta.cli.serve, cuesta.cli.run; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"rich", "aiohttp", "sqlite3", "asyncio", "http.client", "platformdirs", "hypothesis"}
    assert heavy.isdisjoint(out.stdout.split())


def call(address):
    request = urllib.request.Request(
        f"{address}/v1/messages", CALL.encode(), {"x-api-key": "sk-dummy"}
    )
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
        return json.loads(answer.read())


def test_serve_tells_where_it_listens_and_how_to_use_it(serving, upstream):
    assert serving.block.startswith(f"Cuesta listens on {serving.address}\n")
    assert f"upstream  {upstream.address}\n" in serving.block
    assert "profile   default, threshold automatic\n" in serving.block
    assert serving.block.endswith(f"  export ANTHROPIC_BASE_URL={serving.address}\n")
    assert call(serving.address)["content"]
    serving.send_signal(signal.SIGINT)
    assert serving.wait(timeout=30) == 0


def test_serve_says_which_port_is_taken(serving, environment):
    result = cuesta("serve", "--port", serving.port, env=environment)
    assert result.returncode == 2
    assert f"port {serving.port} on 127.0.0.1 is in use" in result.stderr


def test_serve_refuses_another_cuesta(serving, environment):
    result = cuesta("serve", "--port", "0", "--upstream", serving.address, env=environment)
    assert result.returncode == 2
    assert "is a Cuesta proxy already" in result.stderr


def test_status_and_explain_ask_a_running_proxy(serving, environment):
    call(serving.address)
    status = cuesta("status", "--port", serving.port, env=environment).stdout
    assert "requests  1: 1 as they were\n" in status
    assert "claude-opus-5-5" in status
    told = cuesta("status", "--port", serving.port, "--json", env=environment).stdout
    assert json.loads(told)["requests"] == {"keep": 1}
    table = cuesta("explain", "--port", serving.port, env=environment).stdout
    assert table.splitlines()[2].split()[2] == "keep"


@pytest.mark.parametrize("verb", ["status", "explain"])
def test_where_no_proxy_answers_there_is_advice(verb, environment):
    result = cuesta(verb, "--port", "1", env=environment)
    assert result.returncode == 1
    assert "no Cuesta proxy answers on 127.0.0.1 port 1." in result.stderr
    assert "cuesta serve" in result.stderr


@pytest.mark.parametrize("verb", ["status", "explain"])
def test_where_nothing_was_kept_there_is_advice_and_nothing_is_made(verb, environment, tmp_path):
    result = cuesta(verb, env=environment)
    assert result.returncode == 1
    assert "cuesta run -- claude" in result.stderr
    assert f"cuesta {verb} --port 4141" in result.stderr
    assert not (tmp_path / "state").exists()


@pytest.fixture
def kept(tmp_path):
    """Records of three requests on two days."""

    def event(at, **values):
        basis = {
            "conversation": "3fa2c91b",
            "dialect": "anthropic",
            "path": "/v1/messages",
            "model": "claude-opus-5-5",
        }
        return TraceEvent(at=at, status=200, **{**basis, **values})

    now = time.mktime((2026, 11, 30, 20, 5, 11, 0, 0, -1))
    store = open_store(tmp_path / "state" / "cuesta")
    store.record(
        event(
            now - 86_400,
            action="keep",
            reason="20000 of 32000 tokens",
            raw_tokens=20_000,
            sent_tokens=20_000,
        )
    )
    store.record(
        event(
            now,
            action="replace",
            reason="a long reason that says why the cliff fell where it did and not elsewhere",
            raw_tokens=184_000,
            sent_tokens=41_000,
            cliffs=2,
            new_cliff=True,
            external=True,
        )
    )
    store.record(
        event(
            now + 1,
            action="pass",
            reason="not a conversation",
            conversation="",
            path="/api/hello",
            model="",
            dialect="",
            aborted=True,
        )
    )
    store.close()


@pytest.mark.usefixtures("kept")
def test_explain_is_a_table_with_every_reason_in_full(environment):
    lines = cuesta("explain", env=environment).stdout.splitlines()
    assert widest("\n".join(lines)) <= 80
    assert lines[1] == "-- 2026-11-29 --"
    assert lines[2].split() == [
        "20:05:11",
        "3fa2c91b",
        "keep",
        "20K",
        "->",
        "20K",
        "20000",
        "of",
        "32000",
        "tokens",
    ]
    assert lines[3] == "-- 2026-11-30 --"
    assert lines[4].startswith("20:05:11  3fa2c91b  replace     184K -> 41K   2 new  a long")
    text = " ".join(" ".join(lines).split())
    assert "says why the cliff fell where it did and not elsewhere; external cliff" in text
    assert "not a conversation (/api/hello); the agent left" in text


@pytest.mark.usefixtures("kept")
def test_explain_shows_as_many_as_asked(environment):
    lines = cuesta("explain", "-n", "1", env=environment).stdout.splitlines()
    assert len([line for line in lines if line.startswith("20:05")]) == 1
    told = json.loads(cuesta("explain", "-n", "2", "--json", env=environment).stdout)
    assert [event["action"] for event in told] == ["pass", "replace"]
    assert cuesta("explain", "-n", "0", env=environment).returncode == 2


@pytest.mark.usefixtures("kept")
def test_a_reader_that_leaves_early_is_no_error(environment):
    with started(
        [*CUESTA, "explain"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.usefixtures("kept")
def test_status_sums_what_was_kept(environment):
    text = cuesta("status", env=environment).stdout
    assert widest(text) <= 80
    assert "requests  3: 1 as they were, 1 compacted, 1 passed on\n" in text
    assert "cliffs    1, 1 of them external\n" in text
    assert "prompts   61K tokens sent of 204K (70 % less; estimates)\n" in text


HOSTILE = "\x1b[2J\x1b]0;owned\x07模型\u202egnp\r\n\u2028-- 2001-01-01 --\u0301\u0301\x9b31m"


@pytest.mark.parametrize("verb", ["status", "explain"])
@pytest.mark.parametrize("length", [1, 50])
def test_text_of_a_client_moves_no_cursor_and_breaks_no_column(verb, length, environment, tmp_path):
    text = HOSTILE * length
    store = open_store(tmp_path / "state" / "cuesta")
    store.record(TraceEvent(0, "", text, text, text, text, text, status=404))
    store.record(TraceEvent(1, text, text, text, text, "keep", text, status=200, raw_tokens=5))
    store.close()
    shown = cuesta(verb, env=environment).stdout
    assert shown.replace("\n", "").isprintable()
    assert max(map(cells, shown.splitlines())) <= 80
    table = shown.splitlines()
    if verb == "status":
        (row,) = [line for line in table if "模型" in line]
        (heading,) = [line for line in table if line.startswith("billed")]
        assert cells(row) == cells(heading)
    else:
        at = table[0].index("why")
        rows = [line for line in table[1:] if line and not line.startswith("-- 1970")]
        assert all(cells(line[: -len(line.lstrip())] or "") in (0, at) for line in rows)


@pytest.mark.parametrize("verb", ["status", "explain"])
def test_a_screen_without_a_character_is_no_error(verb, environment, tmp_path):
    store = open_store(tmp_path / "state" / "cuesta")
    store.record(TraceEvent(0, "c", "", "/", "模型", "keep", "模型", status=200))
    store.close()
    result = cuesta(verb, env={**environment, "PYTHONIOENCODING": "ascii"})
    assert result.returncode == 0
    assert "??" in result.stdout


@pytest.mark.usefixtures("kept")
def test_explain_uses_a_wider_screen_and_says_what_external_means(environment):
    narrow = cuesta("explain", env=environment).stdout.splitlines()
    environment["COLUMNS"] = "120"
    wide = cuesta("explain", env=environment).stdout.splitlines()
    assert 80 < widest("\n".join(wide)) <= 120
    assert len(wide) < len(narrow)
    for table in (narrow, wide):
        (legend,) = [n for n, line in enumerate(table) if line.startswith("external: something")]
        assert table[legend - 1] == ""
    one = cuesta("explain", "-n", "1", env=environment).stdout
    assert "external" not in one


@pytest.mark.parametrize("verb", ["status", "explain"])
@pytest.mark.parametrize("port", ["0", "-3", "65536", "99999", "x", "9" * 5000, "٣"])
def test_a_port_that_cannot_be_is_a_mistake_in_the_option(verb, port, environment):
    result = cuesta(verb, "--port", port, env=environment)
    assert result.returncode == 2
    assert "argument --port: expected a port from 1 to 65535" in result.stderr


ELSE = [
    b"[]", b"{}", b"null", b"1", b'"text"', b'{"ok": true}', b"<html>", b"[1, 2]", b'[{"v": 99}]',
    b'{"models": 1, "requests": 2}', b'[{"at": "x"}]', b"[" * 100_000, b"\xff",
    b'{"requests": {"keep": "x"}, "models": {}, "cliffs": 0, "external_cliffs": 0, "degraded": 0}',
    b"""[{"at": 1e300, "conversation": "", "dialect": "", "path": "", "model": "", "action": "",
    "reason": ""}]""",
]  # fmt: skip


@pytest.fixture
def another():
    """A server that is no Cuesta and answers whatever it is told."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("content-length", str(len(self.server.body)))
            self.end_headers()
            self.wfile.write(self.server.body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("verb", "body"), [*(("status", b) for b in ELSE), *(("explain", b) for b in ELSE[1:])]
)
def test_another_server_on_the_port_is_told_apart(verb, body, another, capsys):
    another.body = body
    assert main([verb, "--port", str(another.server_port)]) == 1
    assert "no Cuesta proxy" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["status", "explain"])
def test_who_only_reads_leaves_a_damaged_database_where_it_is(verb, environment, tmp_path):
    folder = tmp_path / "state" / "cuesta"
    open_store(folder).close()
    (folder / FILE_NAME).write_bytes(b"this is no database\n" * 500)
    before = sorted(path.name for path in folder.iterdir())
    result = cuesta(verb, env=environment)
    assert result.returncode == 1
    assert "the database is damaged" in result.stderr
    assert sorted(path.name for path in folder.iterdir()) == before
    assert (folder / FILE_NAME).read_bytes().startswith(b"this is no database")


def test_status_tells_what_was_saved(environment, tmp_path):
    usage = Usage(input=1_000, output=10)
    store = open_store(tmp_path / "state" / "cuesta")
    store.record(
        TraceEvent(
            0, "c", "anthropic", "/v1/messages", "claude-opus-5-5", "replace", "", status=200,
            usage=usage, raw_tokens=100_000, sent_tokens=1_000, cliffs=1, new_cliff=True,
        )
    )  # fmt: skip
    store.close()
    text = cuesta("status", env=environment).stdout
    (line,) = [line for line in text.splitlines() if line.startswith("worth")]
    assert " saved (estimate)" in line


def test_an_unknown_price_is_said_and_a_login_is_not_billed(environment, tmp_path):
    store = open_store(tmp_path / "state" / "cuesta")
    for model, login in (("local-model", False), ("claude-opus-5-5", True)):
        store.record(
            TraceEvent(
                0,
                "c",
                "anthropic",
                "/v1/messages",
                model,
                "keep",
                "",
                status=200,
                usage=Usage(input=1_000_000),
                subscription=login,
            )
        )
    store.close()
    text = cuesta("status", env=environment).stdout
    rows = {line.split()[0]: line.split()[-1] for line in text.splitlines() if line}
    assert rows["local-model"] == "unknown"
    assert rows["claude-opus-5-5"] == "$4.00*"
    assert "* at list prices; a subscription is not billed by the token" in text


def test_a_file_for_other_verbs_does_not_disturb_status(environment, tmp_path):
    file = tmp_path / "config" / "cuesta" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f'port = 4000\nprofile = "paper"\nstate-dir = "{tmp_path / "elsewhere"}"\n')
    result = cuesta("status", env=environment)
    assert str(tmp_path / "elsewhere") in result.stderr.replace("\n", "")


def test_ctrl_c_in_serve_s_terminal_leaves_no_traceback(shell, upstream):
    shell.start(f"{' '.join(CUESTA)} serve --port 0 --upstream {upstream.address}")
    shell.process.expect_exact("export ANTHROPIC_BASE_URL")
    shell.press("c")
    assert "Traceback" not in shell.prompt()
    assert shell.last_status == 0


def test_ctrl_c_says_what_it_waits_for_and_how_to_cut(serving_slowly, slow):
    asking = threading.Thread(target=call_or_not, args=(serving_slowly.address,), daemon=True)
    asking.start()
    assert slow.came.wait(30)
    serving_slowly.send_signal(signal.SIGINT)
    said = serving_slowly.stderr.readline()
    assert said == "cuesta: waiting for 1 answer, up to 30 s; Ctrl-C again to cut\n"
    serving_slowly.send_signal(signal.SIGINT)
    assert serving_slowly.wait(timeout=30) == 0
    assert serving_slowly.stderr.read() == ""
    asking.join(30)


def call_or_not(address):
    with contextlib.suppress(OSError, http.client.HTTPException):
        call(address)


@pytest.fixture
def slow():
    """A provider that answers when it is let go."""
    came, go = threading.Event(), threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            came.set()
            go.wait(60)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.came = came
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server
    go.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def serving_slowly(environment, slow):
    upstream = f"http://127.0.0.1:{slow.server_port}"
    argv = [*CUESTA, "serve", "--port", "0", "--upstream", upstream]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(argv, env=environment, text=True, **pipes) as process:
        process.address = process.stdout.readline().split()[-1]
        yield process


def test_what_serve_complains_of_fits_the_screen_and_is_in_words(environment, tmp_path):
    deep = tmp_path / "in the way"
    deep.write_text("not a folder, and no certificate")
    environment["NODE_EXTRA_CA_CERTS"] = str(deep)
    argv = [*CUESTA, "serve", "--port", "0", "--state-dir", str(deep)]
    with started(
        argv, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        block = "".join(iter(process.stdout.readline, "\n"))
        process.send_signal(signal.SIGTERM)
        complaints = process.communicate(timeout=30)[1]
    for text in (block, complaints):
        longest = max(map(len, str(deep).split()))
        assert widest(text) <= max(80, longest + 40)
        assert "Errno" not in text
        assert "[X509" not in text
    assert "records   nothing is kept on disk" in block
    assert complaints.startswith("cuesta: warning: NODE_EXTRA_CA_CERTS names")
    assert "it holds no certificates" in " ".join(complaints.split())
