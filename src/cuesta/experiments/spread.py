"""A number with what repetitions made of it: a mean over seeds, and how far they lie apart."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any

from cuesta.lab.report.numbers import short

_HOURS = 7_200
"""Seconds from which on hours are easier to read."""
_DIGITS = ((10, 2), (0.01, 3), (1e-9, 5))
"""From how many dollars on how many digits behind the point are shown."""


class Unit(Enum):
    """What a number counts."""

    PERCENT = "percent"
    CHANGE = "change"
    DOLLARS = "dollars"
    TOKENS = "tokens"
    SECONDS = "seconds"
    COUNT = "count"
    MEAN = "mean"
    TIMES = "times"


_PLAIN: Mapping[Unit, Callable[[float], str]] = MappingProxyType(
    {
        Unit.PERCENT: lambda part: f"{100 * part:.1f}%",
        Unit.CHANGE: lambda part: f"{100 * part:+.0f}%",
        Unit.COUNT: lambda number: f"{number:,.0f}",
        Unit.MEAN: lambda number: f"{number:,.1f}",
        Unit.TIMES: lambda times: f"{times:.2f}x",
    }
)


@dataclass(frozen=True, slots=True)
class Value:
    """A mean over seeds.

    Attributes:
        seeds: One value a seed, in the order of the seeds; at least one.
        unit: `PERCENT` and `CHANGE` are parts of 1.
    """

    seeds: tuple[float, ...]
    unit: Unit

    @property
    def mean(self) -> float:
        """The mean over the seeds."""
        return statistics.fmean(self.seeds)

    @property
    def deviation(self) -> float | None:
        """The sample standard deviation over the seeds (n - 1); None with one seed."""
        return statistics.stdev(self.seeds) if len(self.seeds) > 1 else None

    @property
    def text(self) -> str:
        """The mean, rounded to what can be read."""
        mark = "$" if self.unit is Unit.DOLLARS else ""
        return mark + _text(self.mean, self.unit, self.mean)

    @property
    def spread(self) -> str:
        """The standard deviation, rounded like the mean; empty with one seed."""
        return "" if self.deviation is None else _text(self.deviation, self.unit, self.mean)

    def to_dict(self) -> dict[str, Any]:
        """Return all that there is to say of it, as JSON's plain values."""
        return {
            "unit": self.unit.value,
            "mean": self.mean,
            "sd": self.deviation,
            "min": min(self.seeds),
            "max": max(self.seeds),
            "n": len(self.seeds),
        }


def over_seeds(values: Iterable[float | None], unit: Unit) -> Value | None:
    """Return a value of one number a seed, or None where one of them is not known."""
    known = tuple(values)
    if not known or any(value is None for value in known):
        return None
    return Value(tuple(value for value in known if value is not None), unit)


def one(value: float | None, unit: Unit) -> Value | None:
    """Return a value that has no seeds of its own, for example a ratio of two means."""
    return None if value is None else Value((value,), unit)


def change(value: Value | None, base: Value | None) -> Value | None:
    """Return by what part of the base's mean a mean lies above it (below 0: under it)."""
    if value is None or base is None or not base.mean:
        return None
    return Value((value.mean / base.mean - 1,), Unit.CHANGE)


def _text(number: float, unit: Unit, beside: float) -> str:
    """Return a number as text, with as many digits as the mean beside it needs."""
    if unit is Unit.TOKENS:
        return short(number)
    if unit is Unit.SECONDS:
        return _time(number, beside)
    if unit is Unit.DOLLARS:
        return f"{number:,.{_digits(beside)}f}"
    return _PLAIN[unit](number)


def _digits(dollars: float) -> int:
    """Return how many digits behind the point tell dollars apart."""
    return next((digits for least, digits in _DIGITS if abs(dollars) >= least), 3)


def _time(seconds: float, beside: float) -> str:
    """Return seconds as the paper's Table 10 has them, or hours as its Table 11 does."""
    if beside >= _HOURS:
        return f"{seconds / 3600:,.1f}h"
    return f"{seconds:.0f}s" if beside >= 10 else f"{seconds:.2f}s"
