"""Records summed over sessions: one row a variant, compared with keeping all.

Rule 1. A variant is compared with keeping all over the same sessions: those that have both, as many
calls in both, and a price.
Rule 2. Nothing is summed but what stands in the records, so that sums of parts are sums of all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from cuesta.core.usage import Usage
from cuesta.lab.records import BASE, Account, Record, Variant

MODELS = ("perfect", "engine")
"""The models of the cache that a replay is billed by."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A variant's cost beside that of keeping all, over the sessions that have both.

    Attributes:
        cost: US dollars.
        base: US dollars of keeping all.
        calls: The sessions' calls.
        cliffs: How many cliffs fell in them.
    """

    cost: float = 0.0
    base: float = 0.0
    calls: int = 0
    cliffs: int = 0

    def __add__(self, other: Comparison) -> Comparison:
        """Return the sum over other sessions."""
        return Comparison(
            self.cost + other.cost,
            self.base + other.base,
            self.calls + other.calls,
            self.cliffs + other.cliffs,
        )

    @property
    def change(self) -> float | None:
        """What the variant adds to the cost of keeping all, as a part of it; below 0: it saves."""
        return self.cost / self.base - 1 if self.base else None

    @property
    def break_even(self) -> float | None:
        """How many more steps a cliff may cause before nothing is saved.

        A step is taken to cost what the variant's mean step does. Below 0 where nothing is saved;
        None where no cliff fell.
        """
        if not (self.cliffs and self.cost):
            return None
        return (self.base - self.cost) / self.cliffs / (self.cost / self.calls)

    def with_steps(self, steps: float) -> float:
        """Return the cost if every cliff caused so many more steps of the mean step's cost."""
        return self.cost * (1 + steps * self.cliffs / self.calls) if self.calls else self.cost


_NOTHING = Account(Usage())
_NO_COMPARISON = Comparison()


@dataclass(frozen=True, slots=True)
class Row:
    """One variant over all sessions. Sizes are in tokens.

    Attributes:
        variant: The variant.
        sessions: How many sessions.
        unpriced: How many of them have no cost.
        calls: Their calls.
        own_calls: The strategy's own calls.
        cliffs: How many cliffs fell.
        cut_sessions: In how many sessions one fell.
        peak: The largest prompt of all.
        peaks: The sum over the sessions of each one's largest prompt.
        prompt: The sum over all prompts.
        answered: See `Record`.
        perfect: Summed; its cost is over the sessions that have one.
        engine: Likewise.
        billed: Likewise; None where nothing was billed.
        by_perfect: Compared with keeping all by the paper's perfect cache.
        by_engine: Compared with keeping all by the rules of each model's cache.
    """

    variant: Variant
    sessions: int = 0
    unpriced: int = 0
    calls: int = 0
    own_calls: int = 0
    cliffs: int = 0
    cut_sessions: int = 0
    peak: int = 0
    peaks: int = 0
    prompt: int = 0
    answered: int = 0
    perfect: Account = _NOTHING
    engine: Account = _NOTHING
    billed: Account | None = None
    by_perfect: Comparison = _NO_COMPARISON
    by_engine: Comparison = _NO_COMPARISON

    @property
    def mean(self) -> float:
        """The mean prompt of the sessions' calls."""
        return self.prompt / self.calls if self.calls else 0.0

    @property
    def mean_peak(self) -> float:
        """The mean over the sessions of each one's largest prompt."""
        return self.peaks / self.sessions if self.sessions else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain values, with what follows from them."""
        figures = asdict(self)
        del figures["by_perfect"], figures["by_engine"], figures["peaks"]
        figures |= {"mean": self.mean, "mean_peak": self.mean_peak}
        for name in MODELS:
            comparison: Comparison = getattr(self, f"by_{name}")
            figures[name]["hit_rate"] = getattr(self, name).hit_rate
            figures[name]["change"] = comparison.change
            figures[name]["break_even_steps"] = comparison.break_even
        if self.billed is not None:
            figures["billed"]["hit_rate"] = self.billed.hit_rate
        return figures


@dataclass(slots=True)
class Table:
    """The rows so far, by variant, in the order in which the variants came.

    Attributes:
        unpriced: How many sessions have no cost, by reason.
    """

    unpriced: Counter[str] = field(default_factory=Counter)
    _rows: dict[Variant, Row] = field(default_factory=dict)

    def add(self, records: Iterable[Record]) -> None:
        """Add one session's records, one a variant."""
        session = {record.variant: record for record in records}
        base = session.get(BASE)
        for variant, record in session.items():
            if record is base and record.unpriced:
                self.unpriced[record.unpriced] += 1
            self._rows[variant] = _added(self._rows.get(variant, Row(variant)), record, base)

    def rows(self) -> Sequence[Row]:
        """Return the rows."""
        return tuple(self._rows.values())

    def row(self, variant: Variant) -> Row:
        """Return one variant's row; an empty one where no session was replayed under it."""
        return self._rows.get(variant, Row(variant))


def _added(row: Row, record: Record, base: Record | None) -> Row:
    billed = row.billed
    if record.billed is not None:
        billed = _sum(billed or _NOTHING, record.billed)
    return Row(
        row.variant,
        row.sessions + 1,
        row.unpriced + bool(record.unpriced),
        row.calls + record.calls,
        row.own_calls + record.own_calls,
        row.cliffs + record.cliffs,
        row.cut_sessions + bool(record.cliffs),
        max(row.peak, record.peak),
        row.peaks + record.peak,
        row.prompt + record.prompt,
        row.answered + record.answered,
        _sum(row.perfect, record.perfect),
        _sum(row.engine, record.engine),
        billed,
        row.by_perfect + _compared("perfect", record, base),
        row.by_engine + _compared("engine", record, base),
    )


def _sum(total: Account, part: Account) -> Account:
    """Add accounts; a cost that is not known adds nothing to the cost."""
    costs = [cost for cost in (total.cost, part.cost) if cost is not None]
    return Account(total.usage + part.usage, sum(costs) if costs else None)


def _compared(model: str, record: Record, base: Record | None) -> Comparison:
    if base is None or base.calls != record.calls:
        return _NO_COMPARISON
    cost: float | None = getattr(record, model).cost
    kept: float | None = getattr(base, model).cost
    if cost is None or kept is None:
        return _NO_COMPARISON
    return Comparison(cost, kept, record.calls, record.cliffs)
