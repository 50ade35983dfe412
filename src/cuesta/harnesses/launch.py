"""What it takes to start an agent program so that its requests come through the proxy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

BASE_URL = "ANTHROPIC_BASE_URL"
"""The variable in which Anthropic's SDKs and most agents look for the API's address."""

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Launch:
    """A command and everything that decides where its requests go.

    Attributes:
        argv: The command and its arguments.
        env: The environment it gets.
        cwd: The folder it is started in.
        base_url: Where the proxy listens, without a path.
        upstream: Where the proxy sends requests on; empty: not chosen yet, the official API.
        warnings: What the person should know before the start, one line each.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    base_url: str
    upstream: str = ""
    warnings: tuple[str, ...] = ()


class Harness(Protocol):
    """An agent program that Cuesta knows how to start."""

    name: str
    """What people call it."""

    def recognise(self, argv: tuple[str, ...]) -> bool:
        """Tell whether a command starts this program."""

    def prepare(self, launch: Launch) -> Launch:
        """Return the launch changed so that requests reach `base_url`.

        An address that the person had chosen before becomes `upstream`, unless that is set already.

        Raises:
            ConfigError: If the program cannot be started safely as things are.
        """


def route(launch: Launch, *, upstream: str = "") -> Launch:
    """Point a launch at the proxy by environment alone.

    Args:
        launch: The launch.
        upstream: What the harness found in its own settings; it goes before the environment, which
            goes before nothing.
    """
    env = dict(launch.env)
    chosen = launch.upstream or upstream or env.get(BASE_URL, "")
    env[BASE_URL] = launch.base_url
    for name, other in (("NO_PROXY", "no_proxy"), ("no_proxy", "NO_PROXY")):
        env[name] = _with_loopback(launch.env.get(name) or launch.env.get(other, ""))
    return replace(launch, env=env, upstream=chosen)


def _with_loopback(no_proxy: str) -> str:
    """Add this machine to a list of hosts that are reached without an HTTP proxy."""
    hosts = [host.strip() for host in no_proxy.split(",") if host.strip()]
    if "*" in hosts:
        return no_proxy
    return ",".join([*hosts, *(host for host in _LOOPBACK if host not in hosts)])
