"""The plan of an experiment, as text and as plain values."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from cuesta.cli.text import wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cuesta.experiments.plan import Plan, Row

_WIDTH = 80
_WIDTHS = (16, 15, 5, 7, 10, 10, 10, 7)
_HEADS = ("model", "strategy", "at", "runs", "calls", "at most", "if cached", "paper")
_LEFT = 2
_WHY = (
    "Calls, at most: every run up to its limit of steps. Dollars, at most: every call with a full "
    "window and the longest answer, nothing cached; if cached: with a perfect cache, and contexts "
    "that grow evenly up to the threshold. Paper: what so many runs cost there."
)


def lines(plan: Plan) -> Iterator[str]:
    """Yield what a person is shown of a plan, in 80 columns."""
    spec = plan.spec
    yield from wrapped(f"{spec.name}: {spec.about}", _WIDTH)
    yield ""
    yield _line(_HEADS)
    for title, rows in groupby(plan.rows, _title):
        yield f"-- {title} ".ljust(_WIDTH, "-")
        yield from (_line(_cells(row)) for row in rows)
    yield "-" * _WIDTH
    yield _line(("all", "", "", f"{plan.runs:,}", f"{plan.calls:,}", *_sums(plan.rows)))
    yield ""
    yield from wrapped(_WHY, _WIDTH)
    yield ""
    yield from wrapped(_limits(plan), _WIDTH)
    yield f"Results: {spec.folder}  (spec {spec.hash})"
    yield ""
    yield "What is started, PROXY being the proxy's address:"
    for command in plan.commands:
        yield from (f"  {line}" for line in wrapped(command, _WIDTH - 2))
    yield ""
    yield from _missing(plan)


def as_json(plan: Plan) -> dict[str, Any]:
    """Return a plan as plain values."""
    spec = plan.spec
    return {
        "name": spec.name,
        "about": spec.about,
        "spec": spec.hash,
        "results": str(spec.folder),
        "runs": plan.runs,
        "calls": plan.calls,
        "rows": [_plain(row) for row in plan.rows],
        "commands": list(plan.commands),
        "needs": [{"what": need.what, "there": need.there, "how": need.how} for need in plan.needs],
    }


def _plain(row: Row) -> dict[str, Any]:
    return {
        "scaffold": row.block.scaffold,
        "task_set": row.block.task_set,
        "model": row.model,
        "strategy": row.strategy,
        "threshold": row.threshold,
        "runs": row.runs,
        "calls": row.calls,
        "dollars_at_most": row.most,
        "dollars_if_cached": row.cached,
        "dollars_in_the_paper": row.paper,
    }


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.model, row.strategy, _size(row.threshold), f"{row.runs:,}", f"{row.calls:,}",
        _money(row.most), _money(row.cached), "" if row.paper is None else _money(row.paper),
    )  # fmt: skip


def _title(row: Row) -> str:
    return f"{row.block.scaffold} on {row.block.task_set}"


def _sums(rows: Sequence[Row]) -> tuple[str, ...]:
    most = [row.most for row in rows]
    cached = [row.cached for row in rows]
    paper = [row.paper for row in rows]
    return _sum(most), _sum(cached), "" if None in paper else _sum(paper)


def _sum(amounts: Sequence[float | None]) -> str:
    known = [amount for amount in amounts if amount is not None]
    return _money(sum(known) if len(known) == len(amounts) else None)


def _money(amount: float | None) -> str:
    return "unknown" if amount is None else f"{amount:,.0f}" if amount >= 100 else f"{amount:.2f}"


def _size(tokens: int) -> str:
    return f"{tokens / 1000:g}K" if tokens else "-"


def _line(cells: Sequence[str]) -> str:
    pairs = zip(cells, _WIDTHS, strict=True)
    shown = (f"{c:<{w}}" if i < _LEFT else f"{c:>{w}}" for i, (c, w) in enumerate(pairs))
    return "".join(shown).rstrip()


def _limits(plan: Plan) -> str:
    limits = plan.spec.limits
    parts = [
        f"{limits.steps} steps and {limits.minutes:g} minutes a run",
        f"{limits.parallel} at once",
        *([f"{limits.money:,.0f} dollars in all"] if limits.money else []),
        *([f"{limits.hours:g} hours in all"] if limits.hours else []),
    ]
    return f"Limits: {', '.join(parts)}."


def _missing(plan: Plan) -> Iterator[str]:
    if not plan.missing:
        yield "Nothing is missing here."
        return
    yield "What is missing here:"
    for need in plan.missing:
        yield from (f"  {line}" for line in wrapped(need.what, _WIDTH - 2))
        yield from (f"    {line}" for line in wrapped(need.how, _WIDTH - 4))
