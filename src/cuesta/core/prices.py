"""What tokens cost: a dated table, and the sum that follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

from cuesta.core.errors import UnknownModelError
from cuesta.core.models import read_model
from cuesta.core.usage import Usage

PRICES_AS_OF = "2026-11-30"
"""The day on which the table below was compared with the providers' pages."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens of each class."""

    input: float
    output: float
    cache_read: float
    cache_write_5m: float
    cache_write_1h: float

    def cost(self, usage: Usage) -> float:
        """Return what a usage costs, in US dollars."""
        return (
            usage.input * self.input
            + usage.output * self.output
            + usage.cache_read * self.cache_read
            + usage.cache_write_5m * self.cache_write_5m
            + usage.cache_write_1h * self.cache_write_1h
        ) / 1_000_000


def _claude(input_: float, output: float, read: float) -> Price:
    """Build a Claude price: writes cost 1.25 and 2 times the input price."""
    return Price(input_, output, read, 1.25 * input_, 2 * input_)


_TABLE: Mapping[str, Price] = MappingProxyType(
    {
        "claude-fable-5-2": _claude(8, 40, 0.2),
        "claude-fable-5-1": _claude(10, 50, 0.25),
        "claude-fable-5": _claude(10, 50, 1),
        "claude-mythos-5-2": _claude(8, 40, 0.2),
        "claude-opus-5-5": _claude(4, 20, 0.2),
        "claude-opus-5": _claude(5, 25, 0.5),
        "claude-opus-4-8": _claude(5, 25, 0.5),
        "claude-opus-4-7": _claude(5, 25, 0.5),
        "claude-opus-4-6": _claude(5, 25, 0.5),
        "claude-opus-4-5": _claude(5, 25, 0.5),
        "claude-opus-4-1": _claude(15, 75, 1.5),
        "claude-opus-4": _claude(15, 75, 1.5),
        "claude-sonnet-5-5": _claude(2, 10, 0.1),
        "claude-sonnet-5": _claude(2, 10, 0.2),
        "claude-sonnet-4-6": _claude(3, 15, 0.3),
        "claude-sonnet-4-5": _claude(3, 15, 0.3),
        "claude-sonnet-4": _claude(3, 15, 0.3),
        "claude-haiku-5-5": _claude(0.1, 0.5, 0.01),
        "claude-haiku-4-5": _claude(1, 5, 0.1),
    }
)


@dataclass(frozen=True, slots=True)
class PriceBook:
    """Prices by model. An unknown model is an error, never 0.

    Args:
        table: Prices by `Model.key`; by default the dated table of this module. Long-context tiers
            are not in it.
    """

    table: Mapping[str, Price] = field(default_factory=lambda: _TABLE)

    def __reduce__(self) -> tuple[Any, ...]:
        """Let other processes have it: a read-only table cannot be sent to them."""
        others = (getattr(self, other.name) for other in fields(self)[1:])
        return type(self), (dict(self.table), *others)

    def price(self, model: str) -> Price:
        """Return the price of a model.

        Args:
            model: The model's name as it stands in a request.

        Raises:
            UnknownModelError: If the table has no such model.
        """
        key = read_model(model).key
        try:
            return self.table[key]
        except KeyError:
            raise UnknownModelError(
                f"no price is known for model `{model}` (table of {PRICES_AS_OF})"
            ) from None
