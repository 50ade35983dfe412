"""Claude Code, whose settings may override the environment and whose features depend on it.

Where it looks, highest first (code.claude.com/docs/en/settings, "Settings precedence"): managed
settings, `--settings`, `.claude/settings.local.json`, `.claude/settings.json`, then the person's
own `settings.json`. The `env` block of any of them goes before the process's environment; of two
`--settings` the last one counts.

Behind an address that is not the official host, Claude Code switches features off. Two have a
documented switch (code.claude.com/docs/en/env-vars) and are switched on again where the proxy's
upstream is the official host, because every byte then comes from and goes to that host:
`ENABLE_TOOL_SEARCH` (tools are loaded on demand; needs `tool_reference` blocks, which the proxy
passes on) and `CLAUDE_CODE_ENABLE_FINE_GRAINED_TOOL_STREAMING` (tool input streams while it is
written).

Two cannot be brought back from here. The window counts as 200,000 tokens instead of a million
unless the person picks a model with the suffix `[1m]`, for example `opus[1m]`
(code.claude.com/docs/en/model-config, "Extended context"); on some plans that suffix is billed
extra, so it stays their choice. Remote Control needs the official host.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cuesta.core.errors import ConfigError
from cuesta.harnesses.launch import BASE_URL, Launch, Leaving, find_program, route

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_PROGRAMS = ("claude", "claude.exe")
_PACKAGE = "@anthropic-ai/claude-code"
_OFFICIAL_HOST = "api.anthropic.com"
_RESTORED = {
    "ENABLE_TOOL_SEARCH": "true",
    "CLAUDE_CODE_ENABLE_FINE_GRAINED_TOOL_STREAMING": "1",
}
_PROVIDERS = {
    "CLAUDE_CODE_USE_BEDROCK": "Amazon Bedrock",
    "CLAUDE_CODE_USE_VERTEX": "Google Cloud",
    "CLAUDE_CODE_USE_FOUNDRY": "Microsoft Foundry",
}
_MANAGED = {
    "darwin": Path("/Library/Application Support/ClaudeCode"),
    "linux": Path("/etc/claude-code"),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """One source of settings.

    Attributes:
        scope: `managed`, `command`, `local`, `project` or `user`.
        place: Where it stands, for people.
        text: JSON, as found.
    """

    scope: str
    place: str
    text: str

    @property
    def values(self) -> Mapping[str, object]:
        """The settings; empty where the text is no JSON object (Claude Code says so itself)."""
        try:
            values = json.loads(self.text)
        except ValueError:
            return {}
        return values if isinstance(values, dict) else {}

    @property
    def env(self) -> Mapping[str, str]:
        """The environment variables it sets."""
        env = self.values.get("env")
        if not isinstance(env, dict):
            return {}
        return {name: str(value) for name, value in env.items()}


class ClaudeCode:
    """Anthropic's `claude`, installed or run by `npx`.

    Args:
        managed: The folder in which an administrator's settings stand.
    """

    name = "Claude Code"
    leaving = Leaving("cuesta run -- claude --continue -p /compact")

    def __init__(self, managed: Path | None = None) -> None:
        self._managed = managed or _MANAGED.get(sys.platform, _MANAGED["linux"])

    def recognise(self, argv: tuple[str, ...]) -> bool:
        """Tell whether a command starts `claude`."""
        return _program(argv) is not None

    def prepare(self, launch: Launch) -> Launch:
        """Read the settings that count in this folder and arrange the launch around them."""
        return arrange(launch, tuple(read_settings(launch, self._managed)))


def arrange(launch: Launch, settings: Sequence[Settings]) -> Launch:
    """Arrange a launch so that it reaches the proxy in spite of settings.

    Args:
        launch: The launch, for a command that `ClaudeCode` recognises.
        settings: What was found, highest precedence first.

    Raises:
        ConfigError: If only a project's files say where requests go: whoever wrote the repository
            must not choose who gets the person's credentials.
    """
    addressed = [source for source in settings if source.env.get(BASE_URL)]
    ours = [source for source in addressed if source.scope != "managed"]
    routed = route(launch, upstream=_upstream(launch, ours))
    return replace(
        routed,
        argv=_argv(launch, settings, ours),
        env=_restored(routed, settings),
        warnings=(*launch.warnings, *_warnings(launch, settings, addressed)),
    )


def _upstream(launch: Launch, addressed: Sequence[Settings]) -> str:
    """Return the address that Claude Code would have used for its settings' sake."""
    if launch.upstream or not addressed:
        return ""
    source = addressed[0]
    url = source.env[BASE_URL]
    if source.scope in ("project", "local"):
        raise ConfigError(
            f"{source.place} sends Claude Code's requests to\n  {url}\n"
            "A project's file must not choose who gets your credentials. Say where they should go:"
            f"\n  cuesta run --upstream {url} -- ...\n"
            f"  cuesta run --upstream https://{_OFFICIAL_HOST} -- ..."
        )
    return url


def _argv(
    launch: Launch, settings: Sequence[Settings], addressed: Sequence[Settings]
) -> tuple[str, ...]:
    """Insert `--settings` where a file would override the environment, and none is there yet."""
    program = _program(launch.argv)
    if program is None or not addressed or any(source.scope == "command" for source in settings):
        return launch.argv
    override = json.dumps({"env": {BASE_URL: launch.base_url}})
    head, tail = launch.argv[: program + 1], launch.argv[program + 1 :]
    return (*head, "--settings", override, *tail)


def _restored(launch: Launch, settings: Sequence[Settings]) -> Mapping[str, str]:
    """Switch on what only the address switched off, unless somebody chose otherwise."""
    if launch.upstream and urlsplit(launch.upstream).hostname != _OFFICIAL_HOST:
        return launch.env
    chosen = set(launch.env).union(*(source.env for source in settings))
    return {**launch.env, **{k: v for k, v in _RESTORED.items() if k not in chosen}}


def _warnings(
    launch: Launch, settings: Sequence[Settings], addressed: Sequence[Settings]
) -> Iterator[str]:
    """Name what keeps Claude Code from coming through the proxy and cannot be overridden."""
    around = "so its requests do not come through Cuesta"
    environment = Settings("environment", "the environment", json.dumps({"env": dict(launch.env)}))
    for variable, provider in _PROVIDERS.items():
        source = next((s for s in (*settings, environment) if variable in s.env), None)
        if source is not None and source.env[variable].lower() in ("1", "true", "yes", "on"):
            yield f"{variable} in {source.place} makes Claude Code use {provider}, {around}"
    for source in settings:
        if source.scope == "managed" and "allowedProviders" in source.values:
            yield f"`allowedProviders` in {source.place} may forbid Claude Code to use Cuesta"
    own = any(source.scope == "command" for source in settings)
    for source in addressed:
        if source.scope == "managed" or own:
            yield f"{BASE_URL} in {source.place} goes before Cuesta's, {around}"
            return


def read_settings(launch: Launch, managed: Path) -> Iterator[Settings]:
    """Read every source of settings that Claude Code would read, highest precedence first.

    Args:
        launch: The launch; its arguments, environment and folder decide where to look.
        managed: The folder in which an administrator's settings stand.
    """
    fragments = sorted((managed / "managed-settings.d").glob("*.json"), reverse=True)
    for path in (*fragments, managed / "managed-settings.json"):
        yield from _read("managed", path)
    own = _flag(launch.argv, "--settings")
    if own is not None and own.lstrip().startswith("{"):
        yield Settings("command", "your own --settings", own)
    elif own is not None:
        # A path that cannot be read still takes the place of ours.
        found = tuple(_read("command", launch.cwd / own))
        yield from found or (Settings("command", own, ""),)
    scopes = (_flag(launch.argv, "--setting-sources") or "user,project,local").split(",")
    home = launch.env.get("CLAUDE_CONFIG_DIR") or Path(launch.env.get("HOME", "/")) / ".claude"
    user = Path(home) / "settings.json"
    project = launch.cwd / ".claude" / "settings.json"
    for scope, path in (
        ("local", launch.cwd / ".claude" / "settings.local.json"),
        ("project", project),
        ("user", user),
    ):
        # In the home folder the project's file is the person's own.
        if scope in scopes and (scope != "project" or project.resolve() != user.resolve()):
            yield from _read(scope, path)


def _read(scope: str, path: Path) -> Iterator[Settings]:
    try:
        yield Settings(scope, str(path), path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return


def _program(argv: Sequence[str]) -> int | None:
    """Return which word of a command is `claude`, or None."""
    return find_program(argv, _PROGRAMS, _PACKAGE)


def _flag(argv: Sequence[str], name: str) -> str | None:
    """Return the value of a flag's last occurrence; words behind `--` are no flags."""
    words = list(argv)
    words = words[: words.index("--")] if "--" in words else words
    value = None
    for word, following in zip(words, [*words[1:], None], strict=True):
        if word == name and following is not None:
            value = following
        elif word.startswith(f"{name}="):
            value = word.partition("=")[2]
    return value
