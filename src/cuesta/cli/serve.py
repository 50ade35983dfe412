"""`cuesta serve`: the proxy by itself, in the foreground, for any number of agents."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import secrets
import sys
import textwrap
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cuesta.cli import tell
from cuesta.cli.options import DECLARATIONS, Parser, add_flags, fixed_environment, gather
from cuesta.cli.text import printable
from cuesta.core.errors import ConfigError
from cuesta.exchange.options import CompactionOptions
from cuesta.proxy.options import UPSTREAMS, ProxyOptions
from cuesta.strategies.names import ASKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from cuesta.exchange.events import Arrived, Exchange
    from cuesta.proxy.app import Proxy
    from cuesta.proxy.engine import Engine
    from cuesta.store.base import Store

_TEXT = """\
Run the proxy in the foreground until Ctrl-C. Agents find it by their API
address; any number may share it.

  cuesta serve
  cuesta serve --port 8080 --threshold 60000
  cuesta serve --upstream https://gateway.example.com
"""

_BLOCK = """\
Cuesta listens on {address}
  upstream  {upstream}
  profile   {profile}, threshold {threshold}{strategy}
  records   {records}{workers}

In the agent's shell:
  export ANTHROPIC_BASE_URL={address}"""

_INDENT = 12
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_HTTP_PROXIES = ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")


def main(argv: list[str]) -> int:
    """Serve until told to stop and return 0."""
    parser = Parser("cuesta serve", _TEXT)
    for flag in ("--fd", "--parent-fd"):  # these three are `cuesta run`'s
        parser.add_argument(flag, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--run-id", default="", help=argparse.SUPPRESS)
    add_flags(parser, *DECLARATIONS)
    arguments = parser.parse_args(argv)
    given = gather(arguments, os.environ, *DECLARATIONS)
    options = given.build(ProxyOptions)
    compaction = given.build(CompactionOptions)
    if arguments.fd is None:
        check_summaries(options, compaction)
        check_upstreams(options)
        recording_folder(options)
        if options.workers > 1:
            return _serve_by_workers(options, compaction)

    from cuesta.dialects.registry import DIALECTS  # noqa: PLC0415 - slow, and mistakes come first
    from cuesta.exchange.engine import Engine  # noqa: PLC0415 - likewise
    from cuesta.proxy.serve import run  # noqa: PLC0415 - likewise

    _tell_what_is_logged()

    with _recorded(Engine(compaction, seed=secrets.randbits(64)), options, compaction) as recorded:
        engine, trouble = recorded

        def announce(proxy: Proxy, store: Store) -> None:
            proxy.watch(trouble)
            if arguments.fd is None:
                print(_block(options, compaction, proxy.port, store.degraded), flush=True)
                proxy.on_drain = _tell_of_wait

        run(
            options,
            _OneRun(engine, arguments.run_id) if arguments.run_id else engine,
            {name: dialect.usage_tap for name, dialect in DIALECTS.items()},
            fd=arguments.fd,
            parent_fd=arguments.parent_fd,
            on_ready=announce,
        )
    return 0


def recording_folder(options: ProxyOptions) -> Path | None:
    """Make sure that requests can be recorded where the options say, and return that folder.

    Raises:
        ConfigError: If they cannot.
    """
    if not options.record:
        return None
    from cuesta.store import recordings  # noqa: PLC0415 - seldom needed

    return recordings.recording_folder(options.record)


@contextlib.contextmanager
def _recorded(
    engine: Engine, options: ProxyOptions, compaction: CompactionOptions
) -> Iterator[tuple[Engine, Callable[[], str]]]:
    """Give an engine that is recorded, if that is wanted, and what tells why it is no longer."""
    folder = recording_folder(options)
    if folder is None:
        yield engine, str
        return
    from cuesta.exchange.recorder import Recorder  # noqa: PLC0415 - seldom needed
    from cuesta.store.recordings import Recording  # noqa: PLC0415 - likewise

    with contextlib.closing(Recording(folder, dataclasses.asdict(compaction))) as recording:
        yield Recorder(engine.exchange, recording.keep), lambda: recording.trouble


def _serve_by_workers(options: ProxyOptions, compaction: CompactionOptions) -> int:
    """Listen, have several processes serve, and return 0 once they were told to stop."""
    if os.name == "nt":
        raise ConfigError("workers: several need Linux or macOS")
    from cuesta.cli.workers import Workers  # noqa: PLC0415 - not on every platform
    from cuesta.proxy.app import listen  # noqa: PLC0415 - slow to load
    from cuesta.proxy.serve import open_store_for  # noqa: PLC0415 - likewise
    from cuesta.store.memory import MemoryStore  # noqa: PLC0415 - likewise

    compaction.policy()
    listener = listen(options)
    store = open_store_for(options)  # mends a damaged database before several processes find it
    degraded = store.degraded
    shared = not isinstance(store, MemoryStore)
    store.close()
    if not shared:
        raise ConfigError(f"workers: several need the ledger on disk, but {degraded}")
    env = fixed_environment(os.environ, options, compaction)
    workers = Workers(listener, serve_command(), env, options.workers)
    port = listener.getsockname()[1]
    print(_block(options, compaction, port, degraded), flush=True)
    return workers.run()


def serve_command() -> tuple[str, ...]:
    """Return the command that runs one proxy of this installation."""
    return (sys.executable, "-P", "-m", "cuesta.cli.main", "serve")


def _tell_what_is_logged() -> None:
    """Show what the proxy logs as any other message, in words and lines for a person."""
    import logging  # noqa: PLC0415 - `run` needs this module, and starts sooner without

    class Teller(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            tell(f"{record.levelname.lower()}: {record.getMessage()}")

    logger = logging.getLogger("cuesta")
    logger.addHandler(Teller())
    logger.propagate = False


class _OneRun:
    """An engine behind which every request belongs to one run."""

    def __init__(self, engine: Engine, run: str) -> None:
        self._engine = engine
        self._run = run

    def exchange(self, arrived: Arrived) -> Exchange:
        return self._engine.exchange(dataclasses.replace(arrived, run=self._run))


def _tell_of_wait(answers: int, seconds: float) -> None:
    noun = "answer" if answers == 1 else "answers"
    tell(f"waiting for {answers} {noun}, up to {seconds:.0f} s; Ctrl-C again to cut")


def _lines_of(text: str) -> list[str]:
    """Return text in lines that stand behind a label; no word is broken, as it may be a path."""
    width = 80 - _INDENT
    return textwrap.wrap(
        printable(text), width, break_long_words=False, break_on_hyphens=False
    ) or [""]


def _block(options: ProxyOptions, compaction: CompactionOptions, port: int, degraded: str) -> str:
    """Write what a person needs to know once the proxy listens."""
    from cuesta.store.paths import state_folder  # noqa: PLC0415 - only told, not used

    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(options.host, options.host)  # noqa: S104
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    records = "in memory only" if options.ephemeral else str(state_folder(options.state_dir))
    block = _BLOCK.format(
        address=address,
        upstream=options.upstream,
        profile=compaction.profile,
        threshold=compaction.threshold or "automatic",
        strategy=f", strategy {named}" if (named := compaction.strategy) != "cliff" else "",
        records=f"\n{' ' * _INDENT}".join(_lines_of(degraded or records)),
        workers=f"\n  workers   {options.workers}" if options.workers > 1 else "",
    )
    if options.record:
        block += f"\n\n{recording_warning(options)}"
    if options.host not in _LOOPBACK:
        block += "\n\nwarning: it is open to the network, and asks nobody who they are"
    return block


def recording_warning(options: ProxyOptions) -> str:
    """Say where requests are recorded, and what that means."""
    return f"warning: whole conversations are recorded in {options.record}"


def check_summaries(options: ProxyOptions, compaction: CompactionOptions) -> None:
    """Find out early what a strategy that asks the model cannot go with.

    Raises:
        ConfigError: If several processes serve, which share no summaries, or requests are recorded,
            of which a replay could not tell what the model answered.
    """
    if compaction.strategy not in ASKING:
        return
    name = f"strategy `{compaction.strategy}`"
    if options.workers > 1:
        raise ConfigError(f"workers: {name} keeps summaries in the memory of one process")
    if options.record:
        raise ConfigError(f"record: a recording could not be replayed under {name}")


def check_upstreams(options: ProxyOptions) -> None:
    """Find out early, and in the foreground, what the proxy would stumble over.

    OpenAI's addresses are looked at only where somebody chose them: whoever runs another agent need
    not be able to reach theirs.

    Raises:
        ConfigError: If requests cannot be sent to one of them.
    """
    defaults = ProxyOptions()
    seen = set()
    for name in UPSTREAMS:
        address = getattr(options, name)
        chosen = name == "upstream" or address != getattr(defaults, name)
        if chosen and address not in seen:
            seen.add(address)
            _check_upstream(name, address)


def _check_upstream(name: str, address: str) -> None:
    """Check one upstream.

    Two proxies in a row would compact each other's compactions; only addresses of this machine are
    asked whether they are one.
    """
    parts = urlsplit(address)
    assert parts.hostname is not None  # noqa: S101 - the options were checked
    if any(os.environ.get(variable) for variable in _HTTP_PROXIES):
        from cuesta.proxy.environment import http_proxy_for  # noqa: PLC0415 - seldom needed

        http_proxy_for(parts.scheme, parts.hostname)
    if parts.hostname not in _LOOPBACK:
        return
    from cuesta.cli.status import fetch  # noqa: PLC0415 - seldom needed

    health = fetch(address, "/-/cuesta/health")
    if isinstance(health, dict) and health.get("ok") is True:
        variable = "ANTHROPIC_BASE_URL" if name == "upstream" else "OPENAI_BASE_URL"
        raise ConfigError(
            f"{address} is a Cuesta proxy already, and two in a row harm each other.\n"
            "Start the agent without `cuesta run`, or take that address out of\n"
            f"{variable}, or say with --{name.replace('_', '-')} where requests should go."
        )
