"""For people who own their loop on the Anthropic or the OpenAI SDK.

    client = wrap(Anthropic())

The copy that comes back is a client of the same type, and what it sends is compacted: Messages,
Chat Completions and Responses, plain and streamed, through every helper that the SDK builds on
them. The caller's own list of messages keeps the whole history and is not touched.

Source: both SDKs run every request, when it is JSON already, through `_prepare_options`, a method
made to be replaced ("Hook for mutating the given options").
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, Unpack

from cuesta.dialects.registry import claim
from cuesta.exchange.options import CompactionOptions
from cuesta.integrations.base import Adapter, Chosen

Client = TypeVar("Client")


def wrap(client: Client, adapter: Adapter | None = None, **options: Unpack[Chosen]) -> Client:
    """Return a copy of an SDK's client whose requests are compacted.

    Args:
        client: An `Anthropic`, `AsyncAnthropic`, `OpenAI` or `AsyncOpenAI`, or a client built on
            one of them. It is left as it is; both share their connections.
        adapter: What compacts, to share one between clients or to read what it counted; by default
            a new one with the options.
        options: How to compact; see `Chosen`.

    Raises:
        ConfigError: If the options make no sense.
    """
    given: Any = client
    wrapped: Client = _install(given.copy(), adapter or Adapter(CompactionOptions(**options)))
    return wrapped


def _install(client: Any, adapter: Adapter) -> Any:  # noqa: ANN401 - a client of either SDK
    """Put an adapter before a client's requests, and before those of its copies."""
    prepare: Callable[[Any], Any] = client._prepare_options  # noqa: SLF001 - see above
    copy: Callable[..., Any] = client.copy

    def folded(options: Any) -> Any:  # noqa: ANN401 - either SDK's `FinalRequestOptions`
        body, asked = options.json_data, claim(options.method.upper(), options.url.split("?")[0])
        if asked is not None and isinstance(body, Mapping):
            options.json_data = adapter.fold(body, asked.dialect, counts=asked.counts)
        return options

    async def prepare_async(options: Any) -> Any:  # noqa: ANN401 - likewise
        return await prepare(folded(options))

    def prepare_sync(options: Any) -> Any:  # noqa: ANN401 - likewise
        return prepare(folded(options))

    def copied(*args: object, **named: object) -> Any:  # noqa: ANN401 - likewise
        return _install(copy(*args, **named), adapter)

    waits = inspect.iscoroutinefunction(prepare)
    client._prepare_options = prepare_async if waits else prepare_sync  # noqa: SLF001 - see above
    client.copy = client.with_options = copied
    return client
