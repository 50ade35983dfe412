"""Codex, whose provider is left as it is: only its address becomes the proxy's, by `-c` flags.

Codex files sessions under the provider's name and lists only those of the present one
(github.com/openai/codex/issues/9054), so a provider of ours would hide the person's sessions, and
later ours from them. In place of that, one key is overridden for this run
(developers.openai.com/codex/config-reference):

- `openai_base_url` for the built-in provider, whose key or ChatGPT login Codex goes on sending by
  itself. This provider asks for a WebSocket first and goes on over HTTP when it is refused.
- `model_providers.ID.base_url` for a provider of the person's own, which keeps its key, headers and
  wire. The address that it had becomes the upstream.

Layers, lowest first (developers.openai.com/codex/config-basic, "Configuration precedence"; managed
ones from codex-rs/config/src/loader): the system's `config.toml`, the person's, a profile's, flags,
an administrator's. A project's file cannot set any of these keys. Subcommands take `-c` flags
behind those of `codex` itself, and a flag of any kind keeps Codex from using a server of its own
that runs already (github.com/openai/codex/issues/24638).
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuesta.harnesses.launch import Launch, Leaving, around_loopback, find_program

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_PROGRAMS = ("codex", "codex.exe")
_PACKAGE = "@openai/codex"
_SYSTEM = Path("/etc/codex")
_BUILT_IN = "openai"
_OVERRIDES = ("-c", "--config")
_PROFILES = ("-p", "--profile")
_AROUND = "so its requests do not come through Cuesta"
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
# Behind these Codex speaks Azure's own tongue, and knows them by address or by this name.
_AZURE = re.compile(r"\.azure\.|azure-api\.|azurefd\.|windows\.net/openai", re.IGNORECASE)
_AZURE_NAME = "azure"
_WINDOW = 272_000
"""What Codex counts with unless it is told otherwise: it compacts at 90 % of it."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One file of settings.

    Attributes:
        place: Where it stands, for people.
        text: TOML, as found.
        managed: Whether it goes before flags.
    """

    place: str
    text: str
    managed: bool = False

    @property
    def table(self) -> Mapping[str, Any]:
        """The settings; empty where the text is no TOML (Codex says so itself)."""
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError:
            return {}


class Codex:
    """OpenAI's `codex`, installed or run by `npx`.

    Args:
        system: The folder in which the machine's and an administrator's settings stand.
    """

    name = "Codex"
    leaving = Leaving("/compact in: cuesta run -- codex resume --last", window=_WINDOW)

    def __init__(self, system: Path = _SYSTEM) -> None:
        self._system = system

    def recognise(self, argv: tuple[str, ...]) -> bool:
        """Tell whether a command starts `codex`."""
        return find_program(argv, _PROGRAMS, _PACKAGE) is not None

    def prepare(self, launch: Launch) -> Launch:
        """Read the settings that count and arrange the launch around them."""
        return arrange(launch, tuple(read_layers(launch, self._system)))


def arrange(launch: Launch, layers: Sequence[Layer]) -> Launch:
    """Arrange a launch so that its provider's requests reach the proxy.

    Args:
        launch: The launch, for a command that `Codex` recognises.
        layers: What was found, lowest precedence first.
    """
    program = find_program(launch.argv, _PROGRAMS, _PACKAGE) or 0
    head, words = launch.argv[: program + 1], _options(launch.argv[program + 1 :])
    rest = launch.argv[program + 1 + len(words) :]
    settings = _settings(layers, words)
    routed = replace(launch, env=around_loopback(launch.env))
    provider = str(settings.get("model_provider", _BUILT_IN))
    obstacle = _obstacle(settings, provider, words)
    if obstacle:
        return replace(routed, warnings=(*launch.warnings, obstacle))
    key, own = _address(settings, provider)
    return replace(
        routed,
        argv=(*head, *_overridden(words, _override(launch, provider, own), key), *rest),
        openai_upstream=launch.openai_upstream or own,
        # Whatever it is signed in with, Codex would have asked that address.
        chatgpt_upstream=launch.chatgpt_upstream or own,
        warnings=(*launch.warnings, *_warnings(layers, key)),
    )


def _options(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words up to `--`, behind which no flag stands."""
    words = tuple(words)
    return words[: words.index("--")] if "--" in words else words


def _settings(layers: Sequence[Layer], words: Sequence[str]) -> Mapping[str, Any]:
    """Merge all layers as Codex does."""
    tables = [layer.table for layer in layers if not layer.managed]
    tables += [_nested(key, value) for _, key, value in _given(words)]
    tables += [layer.table for layer in layers if layer.managed]
    merged: Mapping[str, Any] = {}
    for table in tables:
        merged = _merged(merged, table)
    return merged


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> Mapping[str, Any]:
    result = dict(under)
    for key, value in over.items():
        below = result.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            result[key] = _merged(below, value)
        else:
            result[key] = value
    return result


def _given(words: Sequence[str]) -> Iterator[tuple[int, str, Any]]:
    """Return the overrides among words: where each ends, its key and its value."""
    for end, pair in _values(words, _OVERRIDES):
        key, equals, text = pair.partition("=")
        if equals:
            yield end, key.strip(), _value(text.strip())


def _value(text: str) -> object:
    """Read an override's value: TOML, or else plain text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip("\"'")


def _nested(key: str, value: object) -> Mapping[str, Any]:
    """Return a dotted key as tables."""
    first, dot, rest = key.partition(".")
    return {first: _nested(rest, value) if dot else value}


def _values(words: Sequence[str], names: tuple[str, str]) -> Iterator[tuple[int, str]]:
    """Return a flag's values, each with the position behind it.

    Args:
        words: Options.
        names: The flag's short and long name.
    """
    short, long = names
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word in names and index < len(words):
            index += 1
            yield index, words[index - 1]
        elif word.startswith(f"{long}="):
            yield index, word.partition("=")[2]
        elif word.startswith(short) and word != short and not word.startswith("--"):
            yield index, word.removeprefix(short).removeprefix("=")


def _obstacle(settings: Mapping[str, Any], provider: str, words: Sequence[str]) -> str:
    """Name what keeps requests from coming through the proxy; empty: nothing."""
    if "--oss" in words:
        return f"--oss makes Codex use a model of this machine, {_AROUND}"
    if any(word == "--remote" or word.startswith("--remote=") for word in words):
        return f"--remote makes Codex ask through another server, {_AROUND}"
    if provider == _BUILT_IN:
        return ""
    own = _provider(settings, provider)
    if own is None:
        return f"the address of Codex's provider `{provider}` cannot be changed, {_AROUND}"
    if "aws" in own:
        return f"Codex's provider `{provider}` signs requests for their address, {_AROUND}"
    return ""


def _address(settings: Mapping[str, Any], provider: str) -> tuple[str, str]:
    """Return the key that holds a provider's address, and the address, or empty."""
    if provider == _BUILT_IN:
        return "openai_base_url", str(settings.get("openai_base_url") or "")
    own = _provider(settings, provider) or {}
    return f"model_providers.{provider}.base_url", str(own.get("base_url") or "")


def _provider(settings: Mapping[str, Any], provider: str) -> Mapping[str, Any] | None:
    """Return the table of a provider of the person's own, or None."""
    providers = settings.get("model_providers")
    own = providers.get(provider) if isinstance(providers, dict) else None
    return own if isinstance(own, dict) else None


def _override(launch: Launch, provider: str, own: str) -> tuple[str, ...]:
    """Return the flags that make the proxy a provider's address."""
    address = json.dumps(f"{launch.base_url}/v1")  # a TOML string too
    if provider == _BUILT_IN:
        return ("-c", f"openai_base_url={address}")
    values = {"base_url": address}
    if _AZURE.search(own):
        values["name"] = json.dumps(_AZURE_NAME)
    if _BARE_KEY.fullmatch(provider):
        place = f"model_providers.{provider}"
        return tuple(w for k, v in values.items() for w in ("-c", f"{place}.{k}={v}"))
    table = ", ".join(f"{key} = {value}" for key, value in values.items())
    return ("-c", f"model_providers={{{json.dumps(provider)} = {{{table}}}}}")


def _overridden(words: Sequence[str], ours: tuple[str, ...], key: str) -> tuple[str, ...]:
    """Insert our flags before all others, and behind each that would take their place."""
    result = list(words)
    ends = [end for end, given, _ in _given(words) if f"{key}.".startswith(f"{given}.")]
    for end in reversed(ends):
        result[end:end] = ours
    return (*ours, *result)


def _warnings(layers: Sequence[Layer], key: str) -> Iterator[str]:
    """Name an administrator's settings that go before ours."""
    for layer in layers:
        value: Any = layer.table if layer.managed else {}
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value:
            yield f"`{key}` in {layer.place} goes before Cuesta's, {_AROUND}"


def read_layers(launch: Launch, system: Path) -> Iterator[Layer]:
    """Read every file of settings that Codex would read, lowest precedence first.

    Args:
        launch: The launch; its arguments and environment decide where to look.
        system: The folder in which the machine's and an administrator's settings stand.
    """
    home = Path(launch.env.get("CODEX_HOME") or Path(launch.env.get("HOME", "/")) / ".codex")
    words = _options(launch.argv)
    yield from _read(system / "config.toml")
    if "--ignore-user-config" not in words:
        yield from _read(home / "config.toml")
    for _, profile in list(_values(words, _PROFILES))[-1:]:
        yield from _read(home / f"{profile}.config.toml")
    yield from _read(system / "managed_config.toml", managed=True)


def _read(path: Path, *, managed: bool = False) -> Iterator[Layer]:
    try:
        yield Layer(str(path), path.read_text(encoding="utf-8"), managed)
    except (OSError, UnicodeDecodeError):
        return
