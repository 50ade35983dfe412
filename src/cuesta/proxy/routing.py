"""Which upstream a request goes to: its path decides, then its credentials; never its `Host`.

Rule 1: a path of one provider's API goes to that provider's upstream, whatever its headers say.
Rule 2: on OpenAI's paths a ChatGPT login goes to ChatGPT's backend, as the API takes keys only.
Rule 3: paths that both have, and paths of neither, go where the headers point: to Anthropic with
`x-api-key` or `anthropic-*`, to OpenAI with an OpenAI key or `openai-*`. Without a hint those that
both have are OpenAI's (whose clients send no version header) and all others Anthropic's.

An OpenAI address is what OpenAI's SDKs call a base URL: it stands in place of the `/v1` with which
clients' paths begin, and of the longer beginning that ChatGPT's backend has. So a prefix in it is
never doubled, and clients may be told of the proxy with or without `/v1`.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

from cuesta.proxy.headers import value, values
from cuesta.proxy.upstream import Upstream, open_session

if TYPE_CHECKING:
    from aiohttp import ClientSession

    from cuesta.proxy.headers import RawHeaders
    from cuesta.proxy.options import ProxyOptions

_CODEX = "/backend-api/codex"
_VERSION = "/v1"
_ANTHROPIC_PATHS = frozenset(("messages", "complete", "organizations"))
_OPENAI_PATHS = frozenset(
    (
        "assistants", "audio", "batches", "chat", "completions", "containers", "conversations",
        "embeddings", "evals", "fine_tuning", "images", "moderations", "realtime", "responses",
        "threads", "uploads", "vector_stores", "videos",
    )
)  # fmt: skip
_SHARED_PATHS = frozenset(("files", "models", "skills"))
# Three parts, the first of which is a JSON object in base64url: RFC 7519, 3.1.
_LOGIN = re.compile(rb"bearer +eyJ[\w-]*\.[\w-]+\.[\w-]*", re.IGNORECASE)
_OPENAI_KEY = re.compile(rb"bearer +sk-(?!ant-)", re.IGNORECASE)


class Api(Enum):
    """Whose API a request is for."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    CHATGPT = "chatgpt"


def api_of(path: str, headers: RawHeaders) -> Api:
    """Tell whose API a request is for.

    Args:
        path: The path as the client wrote it, without a run prefix.
        headers: As received.
    """
    if _below(path, _CODEX):
        return Api.CHATGPT
    rest = path.removeprefix(_VERSION) if _below(path, _VERSION) else path
    name = rest[1:].partition("/")[0]
    if name in _ANTHROPIC_PATHS:
        return Api.ANTHROPIC
    if name not in _OPENAI_PATHS:
        if any(key.lower() == b"x-api-key" or _begins(key, b"anthropic-") for key, _ in headers):
            return Api.ANTHROPIC
        if name not in _SHARED_PATHS and not _points_at_openai(headers):
            return Api.ANTHROPIC
    return Api.CHATGPT if _is_chatgpt_login(headers) else Api.OPENAI


def target_at(api: Api, target: str) -> str:
    """Return what stands behind an upstream's address for a request.

    Args:
        api: Whose API it is.
        target: Path and query as the client wrote them.
    """
    if api is not Api.ANTHROPIC:
        for beginning in (_CODEX, _VERSION):
            if _below(target, beginning):
                return target.removeprefix(beginning)
    return target


class Routes:
    """The upstreams of a proxy, over one session.

    Args:
        options: Hold their addresses.

    Raises:
        ConfigError: If an address makes no sense.
    """

    def __init__(self, options: ProxyOptions) -> None:
        self._upstreams = {
            Api.ANTHROPIC: Upstream(options.upstream, "upstream"),
            Api.OPENAI: Upstream(options.openai_upstream, "openai_upstream", _VERSION),
            Api.CHATGPT: Upstream(options.chatgpt_upstream, "chatgpt_upstream", _CODEX),
        }
        self._session: ClientSession | None = None

    async def open(self) -> None:
        """Get ready; connections are made when they are needed."""
        upstreams = self._upstreams.values()
        self._session = open_session(secure=any(upstream.secure for upstream in upstreams))
        for upstream in upstreams:
            upstream.open(self._session)

    def refuse_itself(self, port: int) -> None:
        """Make sure that no upstream is the proxy that listens on a port of this machine.

        Raises:
            ConfigError: If one is.
        """
        for upstream in self._upstreams.values():
            upstream.refuse_itself(port)

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    def find(self, target: str, headers: RawHeaders) -> tuple[Upstream, str]:
        """Return the upstream of a request, and the target to ask it for.

        Args:
            target: Path and query as the client wrote them, without a run prefix.
            headers: As received.
        """
        api = api_of(target.partition("?")[0], headers)
        return self._upstreams[api], target_at(api, target)


def _below(target: str, beginning: str) -> bool:
    """Tell whether a path begins with these segments."""
    return target.startswith(beginning) and target[len(beginning) :][:1] in ("", "/", "?")


def _begins(key: bytes, beginning: bytes) -> bool:
    return key.lower().startswith(beginning)


def _is_chatgpt_login(headers: RawHeaders) -> bool:
    """Tell a login's token, which belongs to an account, from a key."""
    tokens = values(headers, b"authorization")
    return bool(value(headers, b"chatgpt-account-id")) and any(map(_LOGIN.match, tokens))


def _points_at_openai(headers: RawHeaders) -> bool:
    return (
        _is_chatgpt_login(headers)
        or any(_begins(key, b"openai-") for key, _ in headers)
        or any(map(_OPENAI_KEY.match, values(headers, b"authorization")))
    )
