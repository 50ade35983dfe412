"""The strategies by name, and every cliff that one of them lets fall in a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cuesta.core.errors import ConfigError
from cuesta.core.ledger import Cliff
from cuesta.strategies.base import Case, Strategy
from cuesta.strategies.cliff import CliffStrategy
from cuesta.strategies.keep_all import KeepAll
from cuesta.strategies.micro_summary import MicroSummary
from cuesta.strategies.microcompaction import Microcompaction
from cuesta.strategies.sliding_window import SlidingWindow
from cuesta.strategies.summary import Summary

STRATEGIES: Mapping[str, Strategy] = MappingProxyType(
    {
        known.name: known
        for known in (
            CliffStrategy(),
            KeepAll(),
            SlidingWindow(),
            Microcompaction(),
            Summary(),
            MicroSummary(),
        )
    }
)
"""They have no state."""


def strategy(name: str) -> Strategy:
    """Return a strategy.

    Raises:
        ConfigError: If there is none of that name.
    """
    if name not in STRATEGIES:
        raise ConfigError(f"unknown strategy `{name}`: choose one of {', '.join(STRATEGIES)}")
    return STRATEGIES[name]


def fallen(chosen: Strategy, case: Case) -> tuple[Cliff, ...]:
    """Return every cliff that falls on the way to the end of a conversation, in order.

    The prompt at border `b` is sent under the last one whose `border` is at most `b`.

    Args:
        chosen: The strategy.
        case: The whole conversation; without `known`, the walk begins at its head.
    """
    walk = chosen.walk(case)
    walk.decide()
    return tuple(walk.fallen)
