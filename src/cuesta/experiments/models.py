"""Where a model is asked, with which key, and how long its prompts may be.

Sources, as of 2026-11: the API pages of Moonshot AI, Z.ai and OpenAI, and the windows that the
paper names (256K for Kimi, 200K for GLM). A spec may say anything else in `[models."NAME"]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from cuesta.core.errors import ConfigError
from cuesta.core.models import read_model, window_of


@dataclass(frozen=True, slots=True)
class Endpoint:
    """How one model is reached.

    Attributes:
        name: The model's name as its provider knows it.
        base_url: Where it speaks OpenAI's Chat Completions; empty: it does not.
        anthropic_url: Where it speaks Anthropic's Messages; empty: it does not.
        key: The environment variable that holds the key; empty: none is asked for.
        window: The longest prompt that it takes, in tokens.
    """

    name: str
    base_url: str = ""
    anthropic_url: str = ""
    key: str = ""
    window: int = 200_000


_KIMI = Endpoint(
    "", "https://api.moonshot.ai/v1", "https://api.moonshot.ai/anthropic", "MOONSHOT_API_KEY",
    262_144,
)  # fmt: skip
_GLM = Endpoint(
    "", "https://api.z.ai/api/paas/v4", "https://api.z.ai/api/anthropic", "ZAI_API_KEY", 200_000
)
_GPT = Endpoint("", "https://api.openai.com/v1", "", "OPENAI_API_KEY", 400_000)
_CLAUDE = Endpoint("", "", "https://api.anthropic.com", "ANTHROPIC_API_KEY")
_FAMILIES: Mapping[str, Endpoint] = MappingProxyType(
    {"kimi-": _KIMI, "glm-": _GLM, "gpt-": _GPT, "claude-": _CLAUDE}
)


def endpoint(model: str, said: Mapping[str, Any]) -> Endpoint:
    """Return how a model is reached.

    Args:
        model: Its name in the spec.
        said: What the spec says of it, by field name; the rest is known by the name.

    Raises:
        ConfigError: If neither the spec nor the name tells where it is.
    """
    known = next((e for start, e in _FAMILIES.items() if model.startswith(start)), None)
    if known is None and not said:
        raise ConfigError(
            f'model `{model}`: nobody knows where it is asked; add [models."{model}"] with '
            '`base-url = "https://.../v1"` and `key = "NAME_OF_A_VARIABLE"`'
        )
    window = window_of(read_model(model)) or (known or Endpoint("")).window
    return replace(known or Endpoint(""), **{"name": model, "window": window, **said})
