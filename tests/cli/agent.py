"""A command that tells what happens to it: `agent.py FOLDER [WORD...]`.

It writes `state.json`, appends each signal it gets to `signals`, and obeys the word in `order`,
answering in `answer`.
"""

import contextlib
import json
import os
import signal
import sys
import time
import urllib.request
from pathlib import Path

folder = Path(sys.argv[1])
deadline = time.monotonic() + 60


def note(number, _frame=None):
    with (folder / "signals").open("a") as file:
        file.write(signal.Signals(number).name + "\n")


def stop(number, _frame=None):
    note(number)
    signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTSTP)
    signal.signal(signal.SIGTSTP, stop)


def ignored():
    line = next(
        line for line in Path("/proc/self/status").read_text().split("\n") if "SigIgn" in line
    )
    mask = int(line.split()[1], 16)
    return [s.name for s in signal.Signals if mask >> (s - 1) & 1]


def descriptors():
    found = list(Path("/proc/self/fd").iterdir())
    return sorted(int(path.name) for path in found if path.exists())


def state():
    terminal = os.isatty(0)
    return {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "group": os.getpgrp(),
        "terminals": [os.isatty(fd) for fd in (0, 1, 2)],
        "foreground": os.tcgetpgrp(0) if terminal else None,
        "size": list(os.get_terminal_size(0)) if terminal else None,
        "ignored": ignored(),
        "blocked": [s.name for s in signal.pthread_sigmask(signal.SIG_BLOCK, [])],
        "descriptors": descriptors(),
        "address": os.environ.get("ADDRESS") or os.environ.get("ANTHROPIC_BASE_URL"),
        "environment": dict(os.environ),
        "arguments": sys.argv[2:],
    }


def obey(words):
    if words[0] == "exit":
        sys.exit(int(words[1]))
    if words[0] == "die":
        with contextlib.suppress(OSError):
            signal.signal(int(words[1]), signal.SIG_DFL)
        os.kill(os.getpid(), int(words[1]))
    if words[0] == "say":
        sys.stdout.write(words[1] + "\n")
        sys.stdout.flush()
        return "said"
    if words[0] in ("get", "post"):
        path, _, body = words[1].partition(" ")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        request = urllib.request.Request(state()["address"] + path, body.encode() or None)
        request.add_header("content-type", "application/json")
        try:
            with opener.open(request, timeout=20) as answer:
                return answer.read().decode()
        except OSError as error:
            return f"error: {error}"
    return json.dumps(state())


start = state()
for number in (signal.SIGINT, signal.SIGCONT, signal.SIGWINCH, signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(number) is not signal.SIG_IGN:
        signal.signal(number, note)
if signal.getsignal(signal.SIGTSTP) is not signal.SIG_IGN:
    signal.signal(signal.SIGTSTP, stop)
(folder / "state.tmp").write_text(json.dumps(start))
(folder / "state.tmp").rename(folder / "state.json")
while time.monotonic() < deadline:
    time.sleep(0.01)
    with contextlib.suppress(FileNotFoundError):
        order = (folder / "order").read_text()
        (folder / "order").unlink()
        (folder / "answer.tmp").write_text(str(obey(order.split(" ", 1))))
        (folder / "answer.tmp").rename(folder / "answer")
sys.exit(99)
