"""LiteLLM: a hook for its proxy, and its calls for people who use it as a library.

In the proxy's configuration:

    litellm_settings:
      callbacks: cuesta.integrations.litellm.cliffs

In a program:

    llm = Cliffs(threshold=60_000)
    llm.completion(model="anthropic/claude-opus-5-5", messages=history, tools=tools)

LiteLLM's own callbacks can change a call's messages in the proxy alone: in a program those of
`completion` only look on, so there it is called through here.
"""

from __future__ import annotations

import os
from typing import Any, Unpack

import litellm
from litellm.integrations.custom_logger import CustomLogger

from cuesta.core.errors import ConfigError
from cuesta.exchange.options import CompactionOptions
from cuesta.integrations.base import Adapter, Chosen
from cuesta.integrations.thinking import bare

_DIALECTS = {
    "completion": "openai_chat",
    "acompletion": "openai_chat",
    "anthropic_messages": "anthropic",
    "responses": "openai_responses",
    "aresponses": "openai_responses",
}
"""The wire of each kind of call that has a history."""
_MEMBERS = (
    "messages", "input", "system", "instructions", "tools", "functions", "max_tokens",
    "max_completion_tokens", "max_output_tokens", "response_format", "output_config", "text",
    "previous_response_id",
)  # fmt: skip
"""What of a call is on the wire and tells what kind of request it is."""


class Cliffs(CustomLogger):  # type: ignore[misc, unused-ignore]  # an optional package
    """Compacts what goes through LiteLLM, as its proxy's callback or by calls of its own.

    Args:
        adapter: What compacts; by default a new one with the options.
        options: How to compact; see `Chosen`.

    Attributes:
        adapter: What compacts, with its counts.

    Raises:
        ConfigError: If the options make no sense.
    """

    def __init__(self, adapter: Adapter | None = None, **options: Unpack[Chosen]) -> None:
        super().__init__()
        self.adapter = adapter or Adapter(CompactionOptions(**options))

    async def async_pre_call_hook(
        self,
        user_api_key_dict: Any,  # noqa: ANN401 - the proxy's own
        cache: Any,  # noqa: ANN401 - likewise
        data: dict[str, Any],
        call_type: str,
    ) -> dict[str, Any]:
        """Return the proxy's request with what is to be sent in place of its history."""
        del user_api_key_dict, cache
        dialect = _DIALECTS.get(str(getattr(call_type, "value", call_type)))
        return data if dialect is None else self._folded(data, dialect, _served(data.get("model")))

    def completion(self, **call: Any) -> Any:  # noqa: ANN401 - LiteLLM's arguments and answer
        """Call `litellm.completion` with the compacted history."""
        return litellm.completion(**self._folded(call, "openai_chat"))

    async def acompletion(self, **call: Any) -> Any:  # noqa: ANN401 - likewise
        """Call `litellm.acompletion` with the compacted history."""
        return await litellm.acompletion(**self._folded(call, "openai_chat"))

    def responses(self, **call: Any) -> Any:  # noqa: ANN401 - likewise
        """Call `litellm.responses` with the compacted history."""
        return litellm.responses(**self._folded(call, "openai_responses"))

    async def aresponses(self, **call: Any) -> Any:  # noqa: ANN401 - likewise
        """Call `litellm.aresponses` with the compacted history."""
        return await litellm.aresponses(**self._folded(call, "openai_responses"))

    def _folded(self, call: dict[str, Any], dialect: str, model: object = None) -> dict[str, Any]:
        """Return a call with what is to be sent in place of its history."""
        request = {key: call[key] for key in _MEMBERS if call.get(key) is not None}
        request["model"] = model or call.get("model")
        sent, plan = self.adapter.planned(request, dialect)
        if sent is request:
            return call
        where = "input" if dialect == "openai_responses" else "messages"
        kept = sent[where]
        if dialect == "openai_chat":
            kept = bare(call[where], kept, plan)
        return {**call, where: kept}


def _served(name: object) -> object:
    """Return the model that the proxy's alias stands for, where one is found."""
    try:
        from litellm.proxy.proxy_server import llm_router  # noqa: PLC0415 - only in the proxy

        rows = llm_router.get_model_list(model_name=name) if llm_router is not None else None
        return rows[0]["litellm_params"]["model"] if rows else name
    except Exception:  # noqa: BLE001 - the alias itself is good enough for an estimate
        return name


def _configured() -> Chosen:
    """Read the options of the proxy's hook from the environment, where the proxy's others stand.

    Raises:
        ConfigError: If the threshold is no number.
    """
    chosen: Chosen = {}
    threshold = os.environ.get("CUESTA_THRESHOLD", "0")
    if not threshold.isdecimal():
        raise ConfigError("CUESTA_THRESHOLD must be a whole number")
    chosen["threshold"] = int(threshold)
    chosen["profile"] = os.environ.get("CUESTA_PROFILE", "default")
    chosen["strategy"] = os.environ.get("CUESTA_STRATEGY", "cliff")
    return chosen


cliffs = Cliffs(**_configured())
"""The proxy's hook; options come from `CUESTA_THRESHOLD`, `CUESTA_PROFILE`, `CUESTA_STRATEGY`."""
