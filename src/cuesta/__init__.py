"""Cuesta makes coding agents cheap on long jobs.

An agent's context grows untouched; when it crosses a threshold it drops in one cliff that keeps
literal pieces of the original. This package is lazy: a name loads its room when it is first used.

    from cuesta import Compactor
    compactor = Compactor("claude-opus-5-5")
    messages = compactor.compact(history)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cuesta.core.errors import ConfigError, CuestaError, RequestError, UnknownModelError
    from cuesta.core.policy import PROFILES, Policy, profile
    from cuesta.core.prices import Price, PriceBook
    from cuesta.core.usage import Usage
    from cuesta.exchange.compactor import Compactor
    from cuesta.exchange.engine import Engine
    from cuesta.exchange.options import CompactionOptions

__version__ = "0.1.0"

__all__ = [
    "PROFILES",
    "CompactionOptions",
    "Compactor",
    "ConfigError",
    "CuestaError",
    "Engine",
    "Policy",
    "Price",
    "PriceBook",
    "RequestError",
    "UnknownModelError",
    "Usage",
    "profile",
]

_HOMES = {
    "CompactionOptions": "cuesta.exchange.options",
    "Compactor": "cuesta.exchange.compactor",
    "ConfigError": "cuesta.core.errors",
    "CuestaError": "cuesta.core.errors",
    "Engine": "cuesta.exchange.engine",
    "PROFILES": "cuesta.core.policy",
    "Policy": "cuesta.core.policy",
    "Price": "cuesta.core.prices",
    "PriceBook": "cuesta.core.prices",
    "RequestError": "cuesta.core.errors",
    "UnknownModelError": "cuesta.core.errors",
    "Usage": "cuesta.core.usage",
    "profile": "cuesta.core.policy",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    """Load a public name from its room."""
    if name not in _HOMES:
        raise AttributeError(f"module `cuesta` has no attribute `{name}`")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """List the public names."""
    return [*__all__, "__version__"]
