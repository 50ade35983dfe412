"""Watching processes and terminals: an agent that tells, and a shell that is real."""

import contextlib
import http.server
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pexpect

from watching import PATIENCE, wait_for

HERE = Path(__file__).parent
SOURCES = HERE.parents[1] / "src"


class Agent:
    """The running command of `agent.py`, seen through its folder."""

    def __init__(self, folder):
        self.folder = folder
        self.command = f"{sys.executable} {HERE / 'agent.py'} {folder}"

    def started_by(self, process):
        """Wait for the start, or fail as soon as the launcher has ended without one."""
        path = self.folder / "state.json"
        wait_for(lambda: path.exists() or process.poll() is not None)
        assert path.exists(), f"the launcher ended with {process.poll()}"

    @property
    def state(self):
        path = self.folder / "state.json"
        wait_for(path.exists)
        return json.loads(path.read_text())

    @property
    def signals(self):
        path = self.folder / "signals"
        return path.read_text().split() if path.exists() else []

    def order(self, *words):
        (self.folder / "order.tmp").write_text(" ".join(words))
        (self.folder / "order.tmp").rename(self.folder / "order")

    def ask(self, *words):
        answer = self.folder / "answer"
        self.order(*words)
        wait_for(answer.exists)
        text = answer.read_text()
        answer.unlink()
        return text


class Shell:
    """An interactive bash on a terminal of its own."""

    PROMPT = "READY> "

    def __init__(self, env):
        self.process = pexpect.spawn(
            "bash",
            ["--norc", "--noprofile", "--noediting", "-i"],
            env={"PATH": os.environ["PATH"], "TERM": "dumb", "PS1": self.PROMPT, **env},
            dimensions=(24, 80),
            timeout=PATIENCE,
            encoding="utf-8",
        )
        self.process.expect_exact(self.PROMPT)
        self.process.setecho(False)
        self.run("stty -echo")

    def start(self, command):
        """Type a command line."""
        self.process.sendline(command)

    def press(self, key):
        """Press a key with control."""
        self.process.sendcontrol(key)

    def prompt(self):
        """Return what was printed until the shell asks for the next command."""
        self.process.expect_exact(self.PROMPT)
        return self.process.before.replace("\r\n", "\n")

    def run(self, command):
        """Run a command to its end and return what it printed."""
        self.start(command)
        return self.prompt()

    @property
    def last_status(self):
        return int(self.run("echo $?"))


CALL = json.dumps(
    {
        "model": "claude-opus-5-5",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "hello"}],
    }
)


class Upstream:
    """A provider that gives every request the same answer and remembers the paths."""

    def __init__(self):
        self.paths = []
        upstream = self
        answer = json.dumps(
            {
                "type": "message",
                "role": "assistant",
                "model": "claude-opus-5-5",
                "content": [{"type": "text", "text": "good day"}],
                "stop_reason": "end_turn",
                "usage": {
                    "input_tokens": 30,
                    "cache_read_input_tokens": 2_000,
                    "cache_creation_input_tokens": 500,
                    "output_tokens": 40,
                },
            }
        ).encode()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"] or 0))
                upstream.paths.append(self.path)
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(answer)

            def do_GET(self):
                self.headers["content-length"] = "0"
                self.do_POST()

            do_HEAD = do_GET  # noqa: N815 - the library's name

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


CUESTA = (sys.executable, "-P", "-m", "cuesta.cli.main")


def cuesta(*words, env, **keywords):
    """Run `cuesta` to its end."""
    return subprocess.run(
        [*CUESTA, *words],
        env=env,
        capture_output=True,
        text=True,
        timeout=PATIENCE * 2,
        check=False,
        **keywords,
    )


@contextlib.contextmanager
def started(argv, **keywords):
    """Start a process that is gone at the end, whatever the test thinks of it."""
    with subprocess.Popen([str(word) for word in argv], **keywords) as process:
        try:
            yield process
        finally:
            process.kill()
