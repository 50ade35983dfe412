"""Which dialect claims a path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cuesta.dialects.anthropic import AnthropicDialect
from cuesta.dialects.base import Dialect
from cuesta.dialects.openai_chat import OpenAIChatDialect
from cuesta.dialects.openai_responses import OpenAIResponsesDialect

_ALL: tuple[Dialect, ...] = (AnthropicDialect(), OpenAIChatDialect(), OpenAIResponsesDialect())
DIALECTS: Mapping[str, Dialect] = MappingProxyType({dialect.name: dialect for dialect in _ALL})
"""The dialects by name."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A request that a dialect can read.

    Attributes:
        dialect: The dialect's name.
        counts: Whether it only counts tokens: planned like a turn, but nothing is written.
    """

    dialect: str
    counts: bool = False


_PATHS = {
    "/v1/messages": Claim("anthropic"),
    "/v1/messages/count_tokens": Claim("anthropic", counts=True),
    "/v1/chat/completions": Claim("openai_chat"),
    "/chat/completions": Claim("openai_chat"),
    "/v1/responses": Claim("openai_responses"),
    "/responses": Claim("openai_responses"),
    "/backend-api/codex/responses": Claim("openai_responses"),
}


def claim(method: str, path: str) -> Claim | None:
    """Return who reads a request, or None: it passes verbatim."""
    return _PATHS.get(path.rstrip("/")) if method == "POST" else None
