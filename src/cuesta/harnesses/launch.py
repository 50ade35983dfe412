"""What it takes to start an agent program so that its requests come through the proxy."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

BASE_URL = "ANTHROPIC_BASE_URL"
"""The variable in which Anthropic's SDKs and most agents look for the API's address."""
OPENAI_BASE_URL = "OPENAI_BASE_URL"
"""The variable in which OpenAI's SDKs look for the API's address; it ends in `/v1`."""

_RUNNERS = ("npx", "bunx", "pnpx")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Launch:
    """A command and everything that decides where its requests go.

    Attributes:
        argv: The command and its arguments.
        env: The environment it gets.
        cwd: The folder it is started in.
        base_url: Where the proxy listens, without a path.
        upstream: Where the proxy sends Anthropic's requests; empty: not chosen yet, the official
            API.
        openai_upstream: Likewise OpenAI's.
        chatgpt_upstream: Likewise OpenAI's with a ChatGPT login.
        warnings: What the person should know before the start, one line each.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    base_url: str
    upstream: str = ""
    openai_upstream: str = ""
    chatgpt_upstream: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Leaving:
    """What a session needs before it can go on without Cuesta.

    Attributes:
        step: How its history is made short while it is still behind Cuesta; less than 70
            characters.
        window: The window in tokens that the program counts with where the model's is not known; 0:
            none.
        drops_thinking: Whether it asks the provider to drop thinking that is bound to another
            beginning, so that none of it is refused.
    """

    step: str
    window: int = 0
    drops_thinking: bool = False


class Harness(Protocol):
    """An agent program that Cuesta knows how to start."""

    name: str
    """What people call it."""
    leaving: Leaving
    """How its sessions leave Cuesta."""

    def recognise(self, argv: tuple[str, ...]) -> bool:
        """Tell whether a command starts this program."""

    def prepare(self, launch: Launch) -> Launch:
        """Return the launch changed so that requests reach `base_url`.

        An address that the person had chosen before becomes the upstream of its API, unless that is
        set already.

        Raises:
            ConfigError: If the program cannot be started safely as things are.
        """


def route(launch: Launch, *, upstream: str = "") -> Launch:
    """Point a launch's Anthropic requests at the proxy by environment alone.

    Args:
        launch: The launch.
        upstream: What the harness found in its own settings; it goes before the environment, which
            goes before nothing.
    """
    chosen = launch.upstream or upstream or launch.env.get(BASE_URL, "")
    env = {**launch.env, BASE_URL: launch.base_url}
    return replace(launch, env=around_loopback(env), upstream=chosen)


def route_openai(launch: Launch) -> Launch:
    """Point a launch's OpenAI requests at the proxy by environment alone."""
    chosen = launch.openai_upstream or launch.env.get(OPENAI_BASE_URL, "")
    env = {**launch.env, OPENAI_BASE_URL: f"{launch.base_url}/v1"}
    return replace(launch, env=around_loopback(env), openai_upstream=chosen)


def around_loopback(env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which this machine is reached without an HTTP proxy."""
    changed = dict(env)
    for name, other in (("NO_PROXY", "no_proxy"), ("no_proxy", "NO_PROXY")):
        changed[name] = _with_loopback(env.get(name) or env.get(other, ""))
    return changed


def find_program(argv: Sequence[str], names: Collection[str], package: str) -> int | None:
    """Return which word of a command is a program, or None.

    Args:
        argv: A command and its arguments.
        names: What the program's file is called.
        package: The npm package that a runner such as `npx` may be asked for instead.
    """
    if not argv:
        return None
    first = os.path.basename(argv[0])  # noqa: PTH119 - a word, not a file of ours
    if first in names:
        return 0
    if first not in _RUNNERS:
        return None
    skip = False
    for index, word in enumerate(argv[1:], 1):
        if not skip and not word.startswith("-"):
            asked = word in names or word == package or word.startswith(f"{package}@")
            return index if asked else None
        skip = word in ("-p", "--package")
    return None


def _with_loopback(no_proxy: str) -> str:
    """Add this machine to a list of hosts that are reached without an HTTP proxy."""
    hosts = [host.strip() for host in no_proxy.split(",") if host.strip()]
    if "*" in hosts:
        return no_proxy
    return ",".join([*hosts, *(host for host in _LOOPBACK if host not in hosts)])
