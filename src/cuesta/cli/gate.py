"""The real proxy before one run of an experiment: on a free port, with nothing kept on disk."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Self

from cuesta.dialects.registry import DIALECTS
from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.proxy.app import Proxy
from cuesta.proxy.options import ProxyOptions
from cuesta.store.memory import EVENT_LIMIT, MemoryStore

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from cuesta.experiments.running import GateOptions
    from cuesta.trace.event import TraceEvent

_SECONDS = 60
_DRAIN_SECONDS = 5


@dataclass(frozen=True, slots=True)
class ProxyGate:
    """See `experiments.running.Gate`.

    Attributes:
        url: The proxy's base URL.
        store: What it keeps.
        close: Lets nothing more through, once what is under way has ended; may be called again.
    """

    url: str
    store: MemoryStore
    close: Callable[[], None]

    def events(self) -> list[TraceEvent]:
        """Close, so that running requests end and are recorded, and return what went through."""
        self.close()
        return sorted(self.store.events(EVENT_LIMIT), key=lambda event: event.at)


@contextmanager
def open_gate(options: GateOptions) -> Iterator[ProxyGate]:
    """Run a proxy in a thread of its own while the context lasts.

    Args:
        options: How it is set up.

    Raises:
        ConfigError: If it cannot listen, or the options make no sense.
    """
    compaction = CompactionOptions(
        profile=options.profile,
        strategy=options.strategy,
        threshold=options.threshold,
        window=options.window,
        reclaim=options.reclaim,
        harness=options.harness,
    )
    store = MemoryStore()
    proxy = Proxy(Engine(compaction), store, _proxy_options(options), _taps())
    with _Loop() as loop:
        loop.run(proxy.start())
        close = cache(lambda: loop.run(proxy.stop(_DRAIN_SECONDS)))
        try:
            yield ProxyGate(f"http://{options.host}:{proxy.port}", store, close)
        finally:
            close()
            store.close()


def _proxy_options(options: GateOptions) -> ProxyOptions:
    usual = ProxyOptions()
    return ProxyOptions(
        host=options.host,
        port=0,
        allow_host=(options.host, "host.docker.internal"),
        upstream=options.upstream or usual.upstream,
        openai_upstream=options.openai_upstream or usual.openai_upstream,
        ephemeral=True,
    )


def _taps() -> dict[str, Any]:
    return {name: dialect.usage_tap for name, dialect in DIALECTS.items()}


class _Loop:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="gate", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_SECONDS)
        self._loop.close()

    def run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine there to its end."""
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(_SECONDS)
