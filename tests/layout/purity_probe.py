"""Run by test_purity in a process of its own: requests through the pure rooms, the world poisoned.

Reads a JSON list of [path, body] from standard input and prints a hash over everything that was
sent. Clock and randomness are replaced before the pure rooms are loaded, so that no name imported
from them escapes; files, sockets, processes and imports are refused by an audit hook once all is
loaded. An argument names a culprit, to prove that it would be caught.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import random
import secrets
import sys
import time
import uuid
from collections.abc import Callable

import msgspec  # noqa: F401 - reads the clock's types when it is loaded, before the poison
import xxhash  # noqa: F401 - loaded beside it

_POISON = {
    time: "time time_ns monotonic monotonic_ns perf_counter perf_counter_ns process_time "
    "thread_time sleep localtime gmtime ctime strftime",
    random: "random randint randrange choice choices shuffle sample uniform getrandbits randbytes "
    "seed Random SystemRandom",
    secrets: "token_bytes token_hex token_urlsafe randbelow choice SystemRandom",
    uuid: "uuid1 uuid4 getnode",
    os: "urandom getenv getpid",
    dt: "datetime date",
}
_FORBIDDEN = (
    "open", "import", "os.", "socket.", "subprocess.", "shutil.", "tempfile.", "sqlite3.",
    "urllib.", "ctypes.", "glob.", "pathlib.", "syslog.", "time.", "signal.",
)  # fmt: skip
_CULPRITS: dict[str, Callable[[], object]] = {
    "file": lambda: open(__file__),  # noqa: PTH123, SIM115 - it must not come to that
    "folder": lambda: os.listdir("."),  # noqa: PTH208 - likewise
    "socket": lambda: __import__("socket").socket(),
    "process": lambda: os.system("true"),
    "module": lambda: __import__("wave"),
    "clock": lambda: time.time() > 0,
    "randomness": lambda: random.random() > 0,
    "entropy": lambda: os.urandom(1),
}


def _poison() -> None:
    for module, names in _POISON.items():
        for name in names.split():
            setattr(module, name, _refuse(f"{module.__name__}.{name}"))


def _refuse(name: str) -> Callable[..., object]:
    def refused(*_args: object, **_named: object) -> object:
        raise AssertionError(f"{name} was used")

    return refused


def _audit(event: str, args: tuple[object, ...]) -> None:
    if _watching and event.startswith(_FORBIDDEN):
        raise AssertionError(f"{event} was used: {args[:1]}")


_watching = False


def main() -> None:
    """Run the requests and print the hash."""
    global _watching  # noqa: PLW0603 - an audit hook cannot be taken away again
    requests = json.load(sys.stdin)
    culprit = _CULPRITS.get(sys.argv[1]) if len(sys.argv) > 1 else None
    __import__("socket")
    _poison()

    from cuesta.core.prices import PriceBook  # noqa: PLC0415 - after the poison
    from cuesta.core.usage import Usage  # noqa: PLC0415 - likewise
    from cuesta.dialects.anthropic import AnthropicDialect  # noqa: PLC0415 - likewise
    from cuesta.exchange.engine import Engine  # noqa: PLC0415 - likewise
    from cuesta.exchange.events import Command, LookUp  # noqa: PLC0415 - likewise
    from cuesta.exchange.options import CompactionOptions  # noqa: PLC0415 - likewise
    from cuesta.exchange.recorder import Recorder  # noqa: PLC0415 - likewise
    from cuesta.testing.driver import Bench  # noqa: PLC0415 - likewise
    from cuesta.trace.account import Account  # noqa: PLC0415 - likewise
    from cuesta.trace.recording import Line, from_dict, joined, to_dict  # noqa: PLC0415 - likewise

    def fault(command: Command) -> None:
        if failing and isinstance(command, LookUp):
            raise OSError

    sys.addaudithook(_audit)
    _watching = True
    lines: list[Line] = []
    recorder = Recorder(Engine(CompactionOptions(threshold=8_000)).exchange, lines.append)
    bench = Bench(recorder, fault=fault)
    account = Account(PriceBook())
    sent = hashlib.sha256()
    tap = AnthropicDialect().usage_tap("text/event-stream")
    tap.feed(b'data: {"message": {"usage": {"input_tokens": 1, "output_tokens": 2}}}\n')
    for number, (path, body) in enumerate(requests):
        failing = number == len(requests) - 2
        driven = bench.send(body.encode(), path=path, usage=tap.usage or Usage())
        account.add(driven.event)
        sent.update(driven.body)
        sent.update(driven.note.encode())
    read = joined(from_dict(to_dict(line)) for line in lines)
    recorded = hashlib.sha256(b"".join(record.sent for record in read)).hexdigest()
    if culprit is not None:
        culprit()
    _watching = False
    told = {
        "sent": sent.hexdigest(),
        "recorded": recorded,
        "cliffs": account.cliffs,
        "entries": len(bench.ledger),
    }
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
