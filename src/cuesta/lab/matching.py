"""Thresholds at which strategies have the same mean peak context, so that like meets like.

The paper compares strategies so: what they cost when the contexts that they let grow are as large.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from cuesta.lab.records import Variant

Measure = Callable[[Sequence[Variant]], Mapping[Variant, float]]
"""Replays all sessions under variants; returns each one's mean peak context in tokens."""

_LEAST, _MOST = 2_000, 1_000_000
_POINTS = 8
_PASSES = 3
"""Each pass cuts what lies between two neighbouring thresholds into as many parts again."""


def match(strategies: Sequence[Variant], target: float, measure: Measure) -> Sequence[Variant]:
    """Find each strategy's threshold at a mean peak context.

    Many thresholds are tried at once, because reading the sessions costs more than replaying them.

    Args:
        strategies: One variant a strategy; its threshold (`Variant.at`) is what is looked for.
        target: The mean over the sessions of each one's largest prompt, in tokens.
        measure: Replays.

    Returns:
        The variants, each at the threshold tried that came nearest.
    """
    tried: dict[Variant, dict[int, float]] = {strategy: {} for strategy in strategies}
    spans = dict.fromkeys(strategies, (_LEAST, _MOST))
    for _ in range(_PASSES):
        wanted = {
            strategy.moved(at): strategy
            for strategy, span in spans.items()
            for at in _between(*span)
            if at not in tried[strategy]
        }
        peaks = measure(list(wanted)) if wanted else {}
        for variant, strategy in wanted.items():
            tried[strategy][variant.at] = peaks[variant]
        spans = {strategy: _narrowed(tried[strategy], target) for strategy in strategies}
    return [strategy.moved(_nearest(tried[strategy], target)) for strategy in strategies]


def _between(low: int, high: int) -> list[int]:
    """Return thresholds from one to the other, both included, each the same multiple of the last.

    They are rounded to three digits: nobody sets others.
    """
    ratio = (high / low) ** (1 / (_POINTS - 1))
    return sorted({_rounded(low * ratio**step) for step in range(_POINTS)})


def _rounded(threshold: float) -> int:
    return int(float(f"{threshold:.3g}"))


def _narrowed(tried: Mapping[int, float], target: float) -> tuple[int, int]:
    """Return the neighbouring thresholds between which the peak passes the target.

    Where it passes it more than once (thrashing makes small thresholds erratic): the last time.
    """
    for low, high in reversed(list(pairwise(sorted(tried)))):
        if tried[low] <= target <= tried[high]:
            return low, high
    nearest = _nearest(tried, target)
    return nearest, nearest


def _nearest(tried: Mapping[int, float], target: float) -> int:
    return min(sorted(tried), key=lambda threshold: abs(tried[threshold] - target))
