"""`cuesta run`: start an agent with a proxy of its own, and say at the end what that was worth."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import secrets
from argparse import REMAINDER, SUPPRESS
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuesta.cli import tell
from cuesta.cli.launcher import Proxy, leave, listen, run_beside
from cuesta.cli.options import DECLARATIONS, Parser, add_flags, fixed_environment, gather
from cuesta.cli.serve import (
    check_summaries,
    check_upstreams,
    recording_folder,
    recording_warning,
    serve_command,
)
from cuesta.core.errors import ConfigError
from cuesta.exchange.options import CompactionOptions
from cuesta.harnesses import Launch, Leaving, find_harness
from cuesta.proxy.options import UPSTREAMS, ProxyOptions
from cuesta.store.paths import state_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from cuesta.trace.leaving import Obstacles

_TEXT = """\
Start an agent with a proxy of its own on a free port. The agent runs as it
always does: its screen, its keys, its exit status. At its end one line tells
what was saved, and another what to do before the session goes on without
Cuesta, where that would fail.

  cuesta run -- claude
  cuesta run --threshold 60000 -- claude -p "fix the failing test"
  cuesta run -- codex
  cuesta run -- pi
  cuesta run --upstream https://gateway.example.com -- my-agent

An address in ANTHROPIC_BASE_URL, OPENAI_BASE_URL or the agent's own settings
becomes the upstream; no file of yours is changed. Behind any proxy Claude Code
counts with a window of 200K tokens: pick a model like `opus[1m]` to have the
million back. Remote Control stays off.
"""

_NOTHING_CAME = (
    "no request came through the proxy. Does the agent take its address from\n"
    "OPENAI_BASE_URL or ANTHROPIC_BASE_URL? A setting of its own may go before it."
)
_ADDRESSES = ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL")
_LAST_REQUESTS = 1_000
"""How many are looked at for what stands in the way of leaving: all that one page tells."""
_NOT_EXECUTABLE = 126
_NOT_FOUND = 127


def main(argv: list[str]) -> int:
    """Run a command beside its proxy and return the command's exit status.

    Raises:
        ConfigError: If options, settings or addresses make no sense; nothing was started then.
    """
    parser = Parser("cuesta run", _TEXT)
    parser.usage = "cuesta run [options] -- COMMAND [ARGUMENT ...]"
    add_flags(parser, *DECLARATIONS, without=("host", "port", "allow_host", "workers"))
    parser.add_argument("command", nargs=REMAINDER, help=SUPPRESS)
    arguments = parser.parse_args(argv)
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    if not command:
        parser.error("which command? For example: cuesta run -- claude")
    given = gather(arguments, os.environ, *DECLARATIONS)
    compaction = given.build(CompactionOptions)
    compaction.policy()
    options = given.build(ProxyOptions)

    listener, address = listen()
    chosen = {name: given.values.get(name, "") for name in UPSTREAMS}
    launch = Launch(tuple(command), os.environ, Path.cwd(), address, **chosen)
    harness = find_harness(command)
    launch = harness.prepare(launch)
    found = {name: getattr(launch, name) or getattr(options, name) for name in UPSTREAMS}
    options = _with_upstreams(options, found)
    check_summaries(options, compaction)
    check_upstreams(options)
    for warning in launch.warnings:
        tell(f"warning: {warning}.")
    if recording_folder(options) is not None:
        tell(recording_warning(options))

    run = secrets.token_hex(4)
    log = _log_file(options, run)
    serve = (*serve_command(), "--run-id", run)
    proxy = Proxy(listener, serve, fixed_environment(os.environ, options, compaction), log)
    return _beside(proxy, launch, log, partial(_parting, run, harness.leaving, compaction.window))


def _with_upstreams(options: ProxyOptions, found: Mapping[str, str]) -> ProxyOptions:
    """Put the upstreams in that the flags, the environment or the agent's settings name.

    Raises:
        ConfigError: Naming where the address stands that makes no sense.
    """
    for name, address in found.items():
        change: dict[str, Any] = {name: address}
        try:
            options = dataclasses.replace(options, **change)
        except ConfigError as error:
            named = (variable for variable in _ADDRESSES if os.environ.get(variable) == address)
            source = next(named, "the agent's environment or settings")
            raise ConfigError(f"{source}: {error}") from None
    return options


def _beside(proxy: Proxy, launch: Launch, log: Path, parting: Callable[[str], str]) -> int:
    """Run the command, tell what it was worth and how to leave, and return its status."""
    status, words = None, ""
    try:
        ended = run_beside(proxy, launch.argv, launch.env)
        if not proxy.broken:
            from cuesta.cli.status import fetch  # noqa: PLC0415 - the command has ended by now

            status = fetch(launch.base_url, "/-/cuesta/status", timeout=5)
            if status is not None and status["requests"].get("replace"):
                words = parting(launch.base_url)
    except OSError as error:
        absent = isinstance(error, FileNotFoundError)
        problem = "command not found" if absent else f"cannot be started: {error.strerror}"
        tell(f"error: {error.filename}: {problem}")
        return _NOT_FOUND if absent else _NOT_EXECUTABLE
    finally:
        proxy.stop()
        with contextlib.suppress(OSError):
            if log.is_file() and not log.stat().st_size:
                log.unlink()
    if status is None:
        where = f"; see {log}" if log.is_file() else ""
        tell(f"the proxy gave no account of the run{where}")
    else:
        tell(saving_line(status))
        if status["degraded"]:
            tell(f"warning: {status['degraded']}")
        if words:
            tell(words)
    return leave(ended)


def _parting(run: str, leaving: Leaving, window: int, address: str) -> str:
    """Say what would keep the run's sessions from going on without Cuesta, and what helps.

    Args:
        run: The run's name.
        leaving: How the agent's sessions leave Cuesta.
        window: The window in tokens that Cuesta was told; 0: none.
        address: The proxy's base URL.
    """
    from cuesta.cli.status import fetch  # noqa: PLC0415 - the command has ended by now
    from cuesta.trace.event import TraceEvent  # noqa: PLC0415 - likewise
    from cuesta.trace.leaving import obstacles  # noqa: PLC0415 - likewise

    told = fetch(address, f"/-/cuesta/explain?n={_LAST_REQUESTS}", timeout=5) or ()
    events = (TraceEvent.from_dict(record) for record in told if record["run"] == run)
    return parting_lines(obstacles(events, window=window, assumed=leaving.window), leaving)


def parting_lines(found: Obstacles, leaving: Leaving) -> str:
    """Say in short lines how to leave, or nothing where nothing is in the way.

    Args:
        found: What is in the way.
        leaving: How the agent's sessions leave Cuesta.
    """
    reasons = []
    if found.thinking and not leaving.drops_thinking:
        reasons.append("thinking would be refused")
    if found.tokens:
        from cuesta.cli.bill import short_tokens  # noqa: PLC0415 - the command has ended by now

        size, room = short_tokens(found.tokens), short_tokens(found.window)
        reasons.append(f"{size} tokens would not fit {room}")
    if not reasons:
        return ""
    return f"to go on without Cuesta ({', '.join(reasons)}), first:\n{leaving.step}"


def saving_line(status: Mapping[str, Any]) -> str:
    """Say in a line what a run was worth.

    Args:
        status: What the proxy's `/-/cuesta/status` tells, with `trace.account` under `account`.

    Returns:
        Dollars where they are billed and every price is known, prompt tokens otherwise.
    """
    came = sum(status["requests"].values())
    calls = sum(model["requests"] for model in status["models"].values())
    if not came:
        return _NOTHING_CAME
    if not calls:
        return "\n".join(
            (f"{_count(came, 'request')} came, none was a conversation", *_in_vain(status))
        )
    words = [_count(calls, "call"), _count(status["cliffs"], "cliff")]
    if status["cliffs"]:
        from cuesta.cli.status import saving  # noqa: PLC0415 - the command has ended by now

        words.append(saving(status))
    failed = status["requests"].get("failed", 0)
    if failed:
        words.append(f"{failed} failed open: see `cuesta explain`")
    return "\n".join((", ".join(words), *_in_vain(status)))


def _in_vain(status: Mapping[str, Any]) -> Iterator[str]:
    """Say which requests came to nothing."""
    came = _count(sum(status["requests"].values()), "request")
    if status["unanswered"]:
        last = f"; the last: {status['trouble']}" if status["trouble"] else ""
        yield f"{status['unanswered']} of {came} got no answer{last}"
    if status["refused"]:
        yield f"{status['refused']} of {came} got an error for an answer: see `cuesta explain`"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _log_file(options: ProxyOptions, run: str) -> Path:
    """Return where the proxy's own complaints go; without a folder for it, nowhere."""
    if options.ephemeral:
        return Path(os.devnull)
    log = state_folder(options.state_dir).absolute() / "logs" / f"run-{run}.log"
    try:
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        log.touch(mode=0o600)
    except OSError:
        return Path(os.devnull)
    return log
