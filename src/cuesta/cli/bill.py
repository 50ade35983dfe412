"""What two runs of one job cost, side by side.

A bill is summed from what the provider charged for each call, never from an estimate.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from cuesta.core.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from cuesta.core.prices import Price

_LEAST_DROP = 0.1
"""A prompt that shrinks by less is no cliff: providers leave out old thinking by themselves."""


@dataclass(frozen=True, slots=True)
class Bill:
    """One run, summed.

    Attributes:
        name: How the run is called in print.
        calls: How many answers were billed.
        cliffs: How many times the prompt dropped.
        peak: The largest prompt, in tokens.
        mean: The mean prompt, in tokens.
        usage: All tokens by price class.
        cost: US dollars.
    """

    name: str
    calls: int
    cliffs: int
    peak: int
    mean: int
    usage: Usage
    cost: float

    def to_dict(self) -> dict[str, Any]:
        """Return the bill as plain values."""
        return asdict(self)


def bill_of(name: str, usages: Sequence[Usage], price: Price) -> Bill:
    """Sum the bill of a run.

    Args:
        name: How the run is called in print.
        usages: What each call was billed, in order; at least one.
        price: The model's price.

    Raises:
        ValueError: If there is no call to sum.
    """
    if not usages:
        raise ValueError("a bill needs a call")
    prompts = [usage.prompt for usage in usages]
    total = sum(usages, Usage())
    return Bill(
        name=name,
        calls=len(usages),
        cliffs=len(cliffs_of(prompts)),
        peak=max(prompts),
        mean=round(total.prompt / len(usages)),
        usage=total,
        cost=price.cost(total),
    )


def cliffs_of(prompts: Sequence[int]) -> tuple[int, ...]:
    """Return the places of the calls whose prompt is a tenth or more below the one before.

    Args:
        prompts: Prompt tokens of each call, in order.
    """
    return tuple(
        place
        for place, (before, after) in enumerate(pairwise(prompts), 1)
        if after <= before * (1 - _LEAST_DROP)
    )


def saving_of(straight: Bill, compacted: Bill) -> float:
    """Return which part of the straight run's cost is saved; below 0 where it grew."""
    return 1 - compacted.cost / straight.cost


def short_tokens(tokens: float) -> str:
    """Return a number of tokens for an axis or a progress line: `950`, `9.5K`, `142K`, `5.1M`."""
    for size, unit in ((1_000_000, "M"), (1_000, "K")):
        if round(tokens / size, 2) >= 1:
            number = tokens / size
            places = 0 if number >= 99.95 else 1
            return f"{number:.{places}f}".removesuffix(".0") + unit
    return f"{tokens:.0f}"


def bill_table(straight: Bill, compacted: Bill) -> Table:
    """Return both bills as a table of at most 80 columns, with what the second one changes."""
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415 - not needed for sums
    from rich.table import Table  # noqa: PLC0415 - likewise

    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("")
    for name in (straight.name, compacted.name, "change"):
        table.add_column(name, justify="right")
    for label, before, after, change in _rows(straight, compacted):
        style = "bold" if label == "cost" else ""
        table.add_row(label, before, after, change, style=style)
    return table


def _rows(one: Bill, two: Bill) -> list[tuple[str, str, str, str]]:
    counts = (
        ("largest prompt, tokens", one.peak, two.peak),
        ("mean prompt, tokens", one.mean, two.mean),
        ("read from the cache", one.usage.cache_read, two.usage.cache_read),
        ("written to the cache", one.usage.cache_write, two.usage.cache_write),
        ("prompt beside the cache", one.usage.input, two.usage.input),
        ("output, thinking included", one.usage.output, two.usage.output),
    )
    return [
        ("calls", str(one.calls), str(two.calls), ""),
        ("cliffs", str(one.cliffs), str(two.cliffs), ""),
        *((label, f"{a:,}", f"{b:,}", _change(a, b)) for label, a, b in counts),
        ("cost", f"${one.cost:.2f}", f"${two.cost:.2f}", _change(one.cost, two.cost)),
    ]


def _change(before: float, after: float) -> str:
    """Return a change in percent, signed; nothing where there is no base or no change."""
    if not before or before == after:
        return ""
    return f"{100 * (after - before) / before:+.0f} %"
