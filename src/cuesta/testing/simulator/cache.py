"""The provider's prefix cache, and the bill that follows from it.

Source: Anthropic, "Prompt caching". Blocks stand in the order tools, system, messages. An entry is
written at a marker only, and found at a marker or at one of the positions before it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from cuesta.core.usage import Usage
from cuesta.testing.simulator.blocks import THINKING
from cuesta.testing.simulator.canon import dump
from cuesta.testing.simulator.tokens import MESSAGE_OVERHEAD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cuesta.core.models import Model
    from cuesta.testing.simulator.reading import Request

LOOK_BACK = 20
"""Positions checked at each marker, its own first; a run of calls is one, a run of results too."""
LIFETIMES = {"5m": 300.0, "1h": 3600.0}

_RUNS = frozenset({"tool_use", "tool_result"})
_MINIMUM_FLOORS = {
    "fable": (((5, 0), 512),),
    "mythos": (((5, 0), 512),),
    "opus": (((5, 0), 512), ((4, 8), 1024), ((4, 5), 4096)),
    "haiku": (((5, 0), 1024), ((4, 5), 4096), ((3, 0), 2048)),
}
_MINIMUM = 1024


def minimum_cacheable(model: Model) -> int:
    """Return the tokens below which a model's prefix is not cached; nothing says so.

    Source: Anthropic, "Prompt caching", table of minimum lengths.
    """
    floors = _MINIMUM_FLOORS.get(model.family, ())
    return next((least for floor, least in floors if model.generation >= floor), _MINIMUM)


class _Position(NamedTuple):
    state: bytes
    kind: str
    tokens: int


@dataclass(slots=True)
class _Entry:
    expires: float
    lifetime: float


class PrefixCache:
    """The cache of one account, kept per model.

    Args:
        clock: Returns seconds; entries expire by it.
        bill_factor: What the simulator's own token count is multiplied with.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, bill_factor: float = 1.0
    ) -> None:
        self._clock = clock
        self._factor = bill_factor
        self._entries: dict[tuple[str, bytes], _Entry] = {}

    def charge(self, request: Request) -> Usage:
        """Read and write the cache for one answered request.

        Returns:
            The prompt's tokens by class, `output` left at 0. With `hit` the longest prefix read,
            `hour` the last marker of an hour and `end` the last marker at all: read is `hit`,
            written for an hour is what lies between `hit` and `hour`, for five minutes what lies
            from there to `end`, and the rest is input.
        """
        positions = list(_positions(request))
        sums = [round(t * self._factor) for t in accumulate(p.tokens for p in positions)]
        total = sums[-1] if sums else 0
        least = minimum_cacheable(request.model)
        markers = {n: life for n, life in _markers(request, positions) if sums[n] >= least}
        scope = f"{request.model.key} {_thinking(request)}"
        now = self._clock()
        hit = max((self._read(scope, positions, n, sums, now) for n in markers), default=0)
        for n, life in markers.items():
            self._write((scope, positions[n].state), LIFETIMES[life], now)
        end = max((sums[n] for n in markers), default=0)
        hour = max((sums[n] for n, life in markers.items() if life == "1h"), default=0)
        return Usage(
            input=total - max(hit, end),
            cache_read=hit,
            cache_write_5m=max(0, end - max(hit, hour)),
            cache_write_1h=max(0, hour - hit),
        )

    def _read(
        self, scope: str, positions: list[_Position], marker: int, sums: list[int], now: float
    ) -> int:
        for n in _look_back(positions, marker):
            entry = self._entries.get((scope, positions[n].state))
            if entry is not None and entry.expires > now:
                entry.expires = now + entry.lifetime
                return sums[n]
        return 0

    def _write(self, key: tuple[str, bytes], lifetime: float, now: float) -> None:
        entry = self._entries.get(key)
        if entry is None or entry.expires <= now or entry.lifetime < lifetime:
            self._entries[key] = _Entry(now + lifetime, lifetime)


def _look_back(positions: list[_Position], marker: int) -> Iterator[int]:
    seen = 0
    for n in range(marker, -1, -1):
        inside_run = n < marker and positions[n].kind == positions[n + 1].kind in _RUNS
        seen += not inside_run
        if seen > LOOK_BACK:
            return
        yield n


def _positions(request: Request) -> Iterator[_Position]:
    for state, tokens in zip(request.head.states, request.head.tokens, strict=True):
        yield _Position(state, "", tokens)
    for message, states in zip(request.messages, request.states, strict=True):
        for n, state in enumerate(states):
            overhead = 0 if n else MESSAGE_OVERHEAD
            yield _Position(state, message.kinds[n], message.tokens[n] + overhead)


def _markers(request: Request, positions: list[_Position]) -> Iterator[tuple[int, str]]:
    for marker in request.head.markers:
        yield marker.block, _lifetime(marker.value)
    start = len(request.head.states)
    for message in request.messages:
        for marker in message.markers:
            yield start + marker.block, _lifetime(marker.value)
        start += len(message.kinds)
    whole = request.body.get("cache_control")
    if whole is not None:
        last = [n for n, position in enumerate(positions) if position.kind not in THINKING][-1:]
        yield from ((n, _lifetime(whole)) for n in last)


def _lifetime(value: Any) -> str:  # noqa: ANN401 - checked by the rules before
    return str(value.get("ttl", "5m"))


def _thinking(request: Request) -> str:
    """Return the settings that are written into the prompt, so that changing them misses."""
    given = request.body.get("thinking")
    if not isinstance(given, dict):
        return ""
    return dump([given.get("type"), given.get("budget_tokens")])
