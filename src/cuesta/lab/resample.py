"""Intervals over sessions: which differences would stand if other sessions had been saved.

Sessions are drawn with replacement, whole, because the uses within one are not independent. The
draws come from a fixed seed: the same sessions give the same interval.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TypeAlias

Interval: TypeAlias = "tuple[float, float]"
"""The middle 95 % of what the draws gave."""
Statistic: TypeAlias = "Callable[[Sequence[int]], float | None]"
"""Computed from the numbers of the sessions drawn; None: it has no value."""
ENOUGH = 50
"""Sessions that separate strategies; with fewer an interval says little about others."""
_DRAWS = 1000
_SEED = 20


def interval(count: int, statistic: Statistic) -> Interval | None:
    """Return an interval of a statistic over sessions, or None where there is none.

    Args:
        count: How many sessions there are.
        statistic: The statistic.
    """
    if count < 2:
        return None
    draw = random.Random(_SEED)  # noqa: S311 - resampling, no secret
    values = [statistic(draw.choices(range(count), k=count)) for _ in range(_DRAWS)]
    known = sorted(value for value in values if value is not None)
    if not known:
        return None
    return known[int(0.025 * len(known))], known[math.ceil(0.975 * len(known)) - 1]


def ratio(
    above: Sequence[float], below: Sequence[float]
) -> Callable[[Sequence[int]], float | None]:
    """Return the statistic: one sum over another, each over the same sessions."""

    def statistic(drawn: Sequence[int]) -> float | None:
        under = sum(below[i] for i in drawn)
        return sum(above[i] for i in drawn) / under if under else None

    return statistic


def at_cost(curve: Sequence[tuple[float, float]], cost: float) -> float | None:
    """Return the least that a curve reaches at no more than a cost, interpolated.

    Args:
        curve: Points (cost, value), in any order.
        cost: The cost.

    Returns:
        The value, or None where even the cheapest point costs more.
    """
    points = sorted(curve)
    costs = [at for at, _ in points]
    least = list(accumulate((value for _, value in points), min))
    i = bisect_right(costs, cost)
    if i == 0:
        return None
    if i == len(points) or least[i] == least[i - 1]:
        return least[i - 1]
    part = (cost - costs[i - 1]) / (costs[i] - costs[i - 1])
    return least[i - 1] + part * (least[i] - least[i - 1])
