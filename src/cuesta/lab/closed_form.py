"""The cheapest threshold in closed form, from what a session is shaped like.

A context that grows by g tokens a step is dropped at T to B(T) = a + b (T - a) and grows again for
(T - B) / g steps. A step then costs

    p_c (T + B) / 2 + [(p_u - p_c) (B - s) + r c] g / (T - B)

and what depends on T: the tokens read again on every step, and what every cliff makes dear. With
x = T - a, the sum is smallest at x^2 = 2 g [(p_u - p_c) (a - s) + r c] / (p_c (1 - b^2)).
docs/tuning.md tells the derivation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt

from cuesta.core.policy import Policy


@dataclass(frozen=True, slots=True)
class Shape:
    """What the cost of one session depends on. Sizes are tokens, prices dollars a million.

    Attributes:
        steps: How many calls it has: its weight among others.
        base: a: head and tail, what a cliff leaves beside the digest.
        slope: b: tokens of digest a token folded.
        growth: g: tokens that a step adds.
        cached: s: the part of the head that stays in the cache over a cliff.
        miss: p_u: the price of a prompt token that is not in the cache.
        hit: p_c: the price of one that should be, the times counted in when it is not.
        step: c: the price of one step right behind a cliff, the digest left out, in dollars a
            million calls.
    """

    steps: float
    base: float
    slope: float
    growth: float
    cached: float
    miss: float
    hit: float
    step: float


def formula(shapes: Sequence[Shape], extra: float) -> float:
    """Return the threshold at which sessions together cost least.

    Args:
        shapes: At least one.
        extra: r: steps that a cliff causes, to look up again what it dropped.

    Returns:
        Tokens; infinite where tokens in the cache cost nothing: never drop.
    """
    dear = sum(
        one.steps * one.growth * ((one.miss - one.hit) * (one.base - one.cached) + extra * one.step)
        for one in shapes
    )
    read = sum(one.steps * one.hit * (1 - one.slope**2) for one in shapes)
    return base_of(shapes) + sqrt(2 * max(dear, 0.0) / read) if read > 0 else inf


def base_of(shapes: Sequence[Shape]) -> float:
    """Return the mean head and tail of sessions, in tokens."""
    return sum(one.steps * one.base for one in shapes) / sum(one.steps for one in shapes)


def floor_of(base: float, policy: Policy) -> int:
    """Return the smallest threshold that leaves room to grow: head, tail and the gap, in tokens.

    Below it a policy's smallest gap decides when a cliff falls, not the threshold.
    """
    share = min(policy.gap_share, 0.9)
    return round(max(base + policy.gap_tokens, base / (1 - share)))
