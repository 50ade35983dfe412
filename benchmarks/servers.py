"""The proxies: how each is started and stopped, and what it uses of the machine.

All of them forward to one upstream of ours on the loopback interface. Cuesta runs as a user runs
it: usage tap, ledger commit and trace on, with its database in a temporary folder.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.client import AnswerError, calling
from benchmarks.conversations import tiny_body

DIRECT, NGINX, CLIFF, CUESTA = "direct", "nginx", "cliff", "cuesta"
NAMES = (DIRECT, NGINX, CLIFF, CUESTA)
"""The columns: no proxy, nginx, cliffcompaction, Cuesta."""

_START_S = 20.0
_STOP_S = 10.0
_POLL_S = 0.002
_NGINX = """\
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log stderr crit; {user}
events {{ worker_connections 4096; }}
http {{
  access_log off; client_max_body_size 0; client_body_buffer_size 1m;
  keepalive_timeout 600; keepalive_requests 1000000; tcp_nodelay on;
  client_body_temp_path {folder}/in; proxy_temp_path {folder}/out;
  fastcgi_temp_path {folder}/a; uwsgi_temp_path {folder}/b; scgi_temp_path {folder}/c;
  upstream provider {{
    server 127.0.0.1:{upstream}; keepalive 512; keepalive_requests 1000000;
  }}
  server {{
    listen 127.0.0.1:{port} backlog=1024;
    location / {{
      proxy_pass http://provider; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_request_buffering off; proxy_buffering off;
    }}
  }}
}}
"""


@dataclass(frozen=True, slots=True)
class Server:
    """Something that answers.

    Attributes:
        name: Its column.
        port: Where it listens.
        pid: Its process; 0 for the upstream itself.
        started_s: Seconds from its start to its first answer.
    """

    name: str
    port: int
    pid: int = 0
    started_s: float = 0.0

    def cpu_s(self) -> float:
        """Return the CPU seconds that it and its children have used."""
        return sum(time.clock_gettime(_cpu_clock(pid)) for pid in _family(self.pid))

    def rss_mb(self) -> float:
        """Return its resident memory and its children's in MB; shared pages count each time."""
        pages = sum(int(_stat(pid)[21]) for pid in _family(self.pid))
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _cpu_clock(pid: int) -> int:
    """Return the clock of a process's CPU time, as clock_getcpuclockid(3) does.

    It tells what /proc/PID/stat tells, user and system time, in nanoseconds instead of ticks.
    """
    return ~pid << 3 | 2


def _stat(pid: int) -> list[str]:
    """Return the fields of a process's state from the third on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _family(pid: int) -> list[int]:
    """Return a process and all that it started."""
    if not pid:
        return []
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parents[int(entry.name)] = int(_stat(int(entry.name))[1])
    family = [pid]
    for member in family:
        family += [child for child, parent in parents.items() if parent == member]
    return family


@dataclass(slots=True)
class House:
    """Starts the proxies that there are.

    Attributes:
        folder: For everything that they write.
        tools: Where scripts/install-bench put cliffcompaction, and why something is missing.
        wanted: The columns that are asked for.
        upstream: The upstream's port.
        missing: Why columns are empty.
    """

    folder: Path
    tools: Path
    wanted: tuple[str, ...] = NAMES
    upstream: int = 0
    missing: dict[str, str] = field(default_factory=dict)
    _started: int = 0

    def __post_init__(self) -> None:
        for name in NAMES:
            if name not in self.wanted:
                self.missing[name] = "not asked for"
            elif (name == NGINX and not _nginx()) or (name == CLIFF and not self._cliff.exists()):
                self.missing[name] = self._reason(name)

    @property
    def _cliff(self) -> Path:
        return self.tools / "cliff" / "bin" / "cliff"

    def _reason(self, name: str) -> str:
        """Return why something could not be installed."""
        file = self.tools / f"{name}.why"
        return file.read_text().strip() if file.exists() else "not installed (make bench does it)"

    def names(self, *but: str) -> list[str]:
        """Return the columns that can be filled."""
        return [name for name in NAMES if name not in self.missing and name not in but]

    @contextlib.contextmanager
    def run(self, name: str, threshold: int = 32_000, workers: int = 1) -> Iterator[Server]:
        """Run a proxy in front of the upstream, from its first answer on.

        Raises:
            AnswerError: If it does not come to an answer.
        """
        if name == DIRECT:
            yield Server(DIRECT, self.upstream)
            return
        self._started += 1
        home = self.folder / f"{name}-{self._started}"
        home.mkdir()
        port = _free_port()
        log = home / "log"
        with log.open("wb") as output:
            began = time.perf_counter()
            process = subprocess.Popen(
                self._command(name, port, home, threshold, workers),
                env=_environment(home),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            _first_answer(port, process, log)
            yield Server(name, port, process.pid, time.perf_counter() - began)
        finally:
            _stop(process)
            shutil.rmtree(home, ignore_errors=True)

    def _command(self, name: str, port: int, home: Path, threshold: int, workers: int) -> list[str]:
        upstream = f"http://127.0.0.1:{self.upstream}"
        if name == NGINX:
            conf = home / "nginx.conf"
            user = "user root;" if os.geteuid() == 0 else ""
            conf.write_text(
                _NGINX.format(folder=home, upstream=self.upstream, port=port, user=user)
            )
            return [_nginx(), "-p", str(home), "-c", str(conf), "-e", "stderr"]
        if name == CLIFF:
            flags = ["--port", str(port), "--threshold", str(threshold)]
            return [str(self._cliff), "serve", *flags, "--anthropic-upstream", upstream]
        flags = ["--port", str(port), "--threshold", str(threshold), "--workers", str(workers)]
        flags += ["--upstream", upstream, "--state-dir", str(home / "state")]
        return [sys.executable, "-m", "cuesta.cli.main", "serve", *flags]


@contextlib.contextmanager
def upstream(*flags: str) -> Iterator[int]:
    """Run an upstream and yield its port."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.upstream", *flags],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout
        yield int(process.stdout.readline())
    finally:
        _stop(process)


def _nginx() -> str:
    return shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin") or ""


def _environment(home: Path) -> dict[str, str]:
    """Return an environment in which nobody's own options are found."""
    kept = {key: os.environ[key] for key in ("PATH", "PYTHONPATH", "LANG") if key in os.environ}
    return {**kept, "HOME": str(home), "XDG_CONFIG_HOME": str(home)}


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def _first_answer(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    body = tiny_body(0)
    until = time.monotonic() + _START_S
    while time.monotonic() < until and process.poll() is None:
        try:
            with calling(port) as caller:
                caller.post(body)
        except (OSError, AnswerError):
            time.sleep(_POLL_S)
        else:
            return
    raise AnswerError(f"a proxy did not start: {log.read_text(errors='replace')[-500:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe:
            pipe.close()
