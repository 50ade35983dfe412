"""Pi, whose providers get the proxy's address from an extension that is loaded for one run.

Pi takes no address from the environment. An extension may give a provider another one and leave
its models, key and login alone (docs/custom-provider.md in Pi's package, "Redirect an existing
provider"); it goes before `models.json`, and `--extension` loads it without a change to any file
(docs/cli.md, "Resources").

The proxy has one upstream for each API, so only providers at that address are redirected. It is
what Cuesta was told, else that of the provider that was asked for (`--provider`, `--model`,
`defaultProvider`), else of the first one in `models.json`, else of the first one with a key. A
provider's key goes to its own address, or to the one that Cuesta was told, never to another
provider's. All others keep their address, and those with a key are named.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cuesta.harnesses.launch import Launch, Leaving, around_loopback, find_program

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_PROGRAMS = ("pi", "pi.exe")
_PACKAGE = "@earendil-works/pi-coding-agent"
_COMMANDS = ("auth", "config", "install", "list", "mcp", "remove", "uninstall", "update")
_EXTENSION = Path(__file__).with_name("pi_extension.js")
ADDRESSES = "CUESTA_PI_PROVIDERS"
"""The variable in which the extension finds the addresses."""

_AROUND = "do not come through Cuesta"
_APIS = {
    "anthropic-messages": "anthropic",
    "openai-completions": "openai",
    "openai-responses": "openai",
    "openai-codex-responses": "chatgpt",
}
_OFFICIAL = {"anthropic": "anthropic", "openai": "openai", "chatgpt": "openai-codex"}
"""Pi's own provider of each API."""
_BUILT_IN: Mapping[str, Mapping[str, str]] = {
    "anthropic": {"anthropic": "https://api.anthropic.com"},
    "openai": {"openai": "https://api.openai.com/v1"},
    "openai-codex": {"chatgpt": "https://chatgpt.com/backend-api/codex"},
    "cerebras": {"openai": "https://api.cerebras.ai/v1"},
    "deepseek": {"openai": "https://api.deepseek.com"},
    "fireworks": {
        "anthropic": "https://api.fireworks.ai/inference",
        "openai": "https://api.fireworks.ai/inference/v1",
    },
    "groq": {"openai": "https://api.groq.com/openai/v1"},
    "huggingface": {"openai": "https://router.huggingface.co/v1"},
    "kimi-coding": {"openai": "https://api.kimi.com/coding/v1"},
    "minimax": {"anthropic": "https://api.minimax.io/anthropic"},
    "moonshotai": {"openai": "https://api.moonshot.ai/v1"},
    "nvidia": {"openai": "https://integrate.api.nvidia.com/v1"},
    "openrouter": {
        "anthropic": "https://openrouter.ai/api",
        "openai": "https://openrouter.ai/api/v1",
    },
    "together": {"openai": "https://api.together.ai/v1"},
    "vercel-ai-gateway": {"anthropic": "https://ai-gateway.vercel.sh"},
    "xai": {"openai": "https://api.x.ai/v1"},
    "zai": {"openai": "https://api.z.ai/api/coding/paas/v4"},
}
"""The addresses of Pi's own providers, by API: those that have one address for each."""


@dataclass(frozen=True, slots=True)
class Files:
    """What was found in the files that count; empty: no such file.

    Attributes:
        models: `models.json`: JSON with comments.
        settings: `settings.json`, the project's last.
        logins: `auth.json`. Only the kinds of logins are looked at.
    """

    models: str = ""
    settings: Sequence[str] = ()
    logins: str = ""


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider that Pi knows.

    Attributes:
        name: Its id.
        bases: Its address for each API that it speaks.
        models: The models that `models.json` gives it.
        configured: Whether it stands in `models.json`.
        ready: Whether there is a key or a login for it.
        obstacle: Why it cannot be redirected; empty: it can.
    """

    name: str
    bases: Mapping[str, str]
    models: tuple[str, ...] = ()
    configured: bool = False
    ready: bool = False
    obstacle: str = ""


@dataclass(frozen=True, slots=True)
class _Plan:
    """Where requests go, by API.

    Attributes:
        told: What Cuesta was told.
        heirs: The provider that the upstream is for.
    """

    told: Mapping[str, str]
    heirs: Mapping[str, Provider]

    def upstream(self, api: str) -> str:
        """Return an API's upstream."""
        return self.told.get(api) or self.heirs[api].bases[api]

    def chosen(self, api: str) -> str:
        """Return an API's upstream, or nothing where it is the API's own."""
        upstream = self.upstream(api)
        return "" if upstream == _BUILT_IN[_OFFICIAL[api]][api] else upstream

    def follows(self, provider: Provider) -> bool:
        """Tell whether a provider's requests may all go to the upstreams."""
        return not provider.obstacle and all(
            base == self.upstream(api) or provider.name == self.heirs[api].name
            for api, base in provider.bases.items()
        )


class Pi:
    """The coding agent `pi`, installed or run by `npx`."""

    name = "Pi"
    leaving = Leaving("/compact in: cuesta run -- pi --continue", drops_thinking=True)

    def recognise(self, argv: tuple[str, ...]) -> bool:
        """Tell whether a command starts `pi`."""
        return find_program(argv, _PROGRAMS, _PACKAGE) is not None

    def prepare(self, launch: Launch) -> Launch:
        """Read the files that count and arrange the launch around them."""
        return arrange(launch, read_files(launch))


def arrange(launch: Launch, files: Files) -> Launch:
    """Arrange a launch so that providers' requests reach the proxy.

    Args:
        launch: The launch, for a command that `Pi` recognises.
        files: What was found.
    """
    program = find_program(launch.argv, _PROGRAMS, _PACKAGE) or 0
    head, words = launch.argv[: program + 1], launch.argv[program + 1 :]
    routed = replace(launch, env=around_loopback(launch.env))
    if words[:1] and words[0] in _COMMANDS:
        return routed
    known = providers(files, launch.env)
    asked = _asked(words, files.settings, known)
    plan = _plan(launch, known, asked)
    followers = [provider for provider in known.values() if plan.follows(provider)]
    if followers:
        addresses = {provider.name: _address(launch, provider) for provider in followers}
        routed = replace(
            routed,
            argv=(*head, "--extension", str(_EXTENSION), *words),
            env={**routed.env, ADDRESSES: json.dumps(addresses)},
        )
    return replace(
        routed,
        upstream=launch.upstream or plan.chosen("anthropic"),
        openai_upstream=launch.openai_upstream or plan.chosen("openai"),
        chatgpt_upstream=launch.chatgpt_upstream or plan.chosen("chatgpt"),
        warnings=(*launch.warnings, *_warnings(known, asked, plan)),
    )


def _plan(launch: Launch, known: Mapping[str, Provider], asked: str) -> _Plan:
    """Choose each API's upstream."""
    addresses = {
        "anthropic": launch.upstream,
        "openai": launch.openai_upstream,
        "chatgpt": launch.chatgpt_upstream,
    }
    told = {api: _spelled(api, address) for api, address in addresses.items() if address}
    first = [known[asked]] if asked in known else []
    others = sorted(known.values(), key=lambda p: 0 if p.configured else 1 if p.ready else 2)
    heirs = {}
    for api, official in _OFFICIAL.items():
        # What Cuesta was told is meant for the API's own keys unless another was asked for.
        candidates = (
            *first,
            *(() if api in told else others),
            Provider(official, _BUILT_IN[official]),
        )
        heirs[api] = next(p for p in candidates if api in p.bases and not p.obstacle)
    return _Plan(told, heirs)


def _spelled(api: str, address: str) -> str:
    """Return an address in the one way in which it is compared."""
    address = address.rstrip("/")
    if api == "openai" and not urlsplit(address).path:
        return f"{address}/v1"
    if api == "chatgpt" and not address.endswith("/codex"):
        return f"{address}/codex"
    return address


def _address(launch: Launch, provider: Provider) -> str:
    """Return the proxy's address for a provider; without `/v1` it is good for all its APIs."""
    return launch.base_url + ("/backend-api" if "chatgpt" in provider.bases else "")


def _warnings(known: Mapping[str, Provider], asked: str, plan: _Plan) -> Iterator[str]:
    """Name the providers whose requests go around the proxy, where somebody may count on them."""
    if asked and asked not in known:
        yield f"the address of Pi's provider `{asked}` is not known, so its requests {_AROUND}"
    counting = [p for p in known.values() if p.ready or p.name == asked]
    for provider in counting:
        if provider.obstacle:
            yield f"Pi's provider `{provider.name}` {provider.obstacle}, so its requests {_AROUND}"
    others = [f"`{p.name}`" for p in counting if not p.obstacle and not plan.follows(p)]
    if others:
        yield (
            f"requests of Pi's providers {', '.join(others)} {_AROUND} in this run: their API's "
            "upstream is another address"
        )


def providers(files: Files, env: Mapping[str, str]) -> Mapping[str, Provider]:
    """Return the providers that Pi knows, those of `models.json` over its own.

    Args:
        files: What was found.
        env: The environment, in which there may be keys.
    """
    logins = _table(_json(files.logins))
    known = {
        name: Provider(name, bases, ready=name in logins or _has_key(name, env))
        for name, bases in _BUILT_IN.items()
    }
    for name, settings in _table(_table(_json(files.models)).get("providers")).items():
        known[name] = _configured(name, _table(settings))
    if _table(logins.get("openai")).get("type") == "oauth":
        # Pi leaves out what such a login must not send only for the official address.
        obstacle = "is signed in with ChatGPT, which works at its own address only"
        known["openai"] = replace(known["openai"], obstacle=obstacle)
    return known


def _has_key(name: str, env: Mapping[str, str]) -> bool:
    """Tell whether the environment holds a provider's key: docs/providers.md in Pi's package."""
    words = name.upper().replace("-", "_")
    return any(env.get(f"{words}_{kind}") for kind in ("API_KEY", "AUTH_TOKEN", "OAUTH_TOKEN"))


def _configured(name: str, settings: Mapping[str, Any]) -> Provider:
    """Read a provider of `models.json`."""
    built_in = _BUILT_IN.get(name, {})
    models = [_table(model) for model in settings.get("models") or ()]
    own = str(settings.get("baseUrl") or "")
    spoken = {str(model.get("api") or settings.get("api") or "") for model in models} - {""}
    apis = sorted({*built_in, *(_APIS[api] for api in spoken if api in _APIS)})
    bases = {api: _spelled(api, own) if own else built_in.get(api, "") for api in apis}
    ids = tuple(str(model.get("id")) for model in models)
    obstacle = ""
    if foreign := sorted(spoken.difference(_APIS)):
        obstacle = f"speaks `{foreign[0]}`"
    elif any(model.get("baseUrl", own) != own for model in models):
        obstacle = "has models with addresses of their own"
    elif not bases or not all(bases.values()):
        obstacle = "has an address that is not known"
    return Provider(name, bases, ids, configured=True, ready=True, obstacle=obstacle)


def _asked(words: Sequence[str], settings: Sequence[str], known: Mapping[str, Provider]) -> str:
    """Return the provider that was asked for, or empty."""
    words = words[: words.index("--")] if "--" in words else words
    flags = dict(pairwise(words))
    if "--provider" in flags:
        return flags["--provider"]
    model = flags.get("--model", "")
    if "/" in model and model.partition("/")[0] in known:
        return model.partition("/")[0]
    for provider in known.values() if model else ():
        if model in provider.models:
            return provider.name
    defaults = [_table(_json(text)).get("defaultProvider") for text in settings]
    return next((str(name) for name in reversed(defaults) if name), "")


def _json(text: str) -> object:
    """Read JSON with line comments and trailing commas, as Pi does; what is none is empty."""
    bare = re.sub(r'("(?:\\.|[^"\\])*")|//[^\n]*', lambda found: found[1] or "", text)
    bare = re.sub(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', lambda found: found[1] or "", bare)
    try:
        return json.loads(bare)
    except ValueError:
        return None


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def read_files(launch: Launch) -> Files:
    """Read the files in which Pi looks for providers.

    Args:
        launch: The launch; its environment and folder decide where to look.
    """
    home = Path(launch.env.get("HOME", "/"))
    folder = Path(launch.env.get("PI_CODING_AGENT_DIR") or home / ".pi" / "agent")
    settings = (folder / "settings.json", launch.cwd / ".pi" / "settings.json")
    return Files(
        models=_read(folder / "models.json"),
        settings=tuple(map(_read, settings)),
        logins=_read(folder / "auth.json"),
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return ""
