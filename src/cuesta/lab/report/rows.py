"""What each figure draws, in plain rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from cuesta.lab.activity import AGAIN, EDIT, OTHER, READ, SEARCH, TEST
from cuesta.lab.components import NAMES
from cuesta.lab.records import AS_RUN, BASE, MICRO, Spent, Variant
from cuesta.lab.report.collected import Activity, Line, Shown
from cuesta.lab.report.numbers import short
from cuesta.lab.table import MODELS, Comparison, Row

Values: TypeAlias = list[dict[str, Any]]

KINDS: Mapping[str, str] = {
    READ: "read",
    AGAIN: "read again",
    EDIT: "edit",
    TEST: "test",
    SEARCH: "search",
    OTHER: "other",
}
"""Names of what a call did, by its letter."""
PARTS: Mapping[str, str] = dict(
    zip(
        NAMES,
        ("tool results", "tool calls", "thoughts", "system & task", "user, later"),
        strict=True,
    )
)
"""Names of what a bill is paid for."""
CACHES: Mapping[str, str] = {"engine": "engine model", "perfect": "perfect cache"}
STEPS = 3
"""Extra steps a cliff, by which the threshold that is shown first is chosen."""


def at_text(variant: Variant) -> str:
    """Return the size of a variant's knob as text."""
    if not variant.profile:
        return ""
    return short(variant.at) if variant.at else "auto"


def label(variant: Variant) -> str:
    """Return a variant's name."""
    return f"{variant.strategy} {at_text(variant)}".rstrip()


def strategies(rows: Iterable[Row]) -> list[str]:
    """Return the strategies that there are, in order."""
    return list(dict.fromkeys(row.variant.strategy for row in rows))


def choices(rows: Sequence[Row]) -> list[tuple[str, list[Variant]]]:
    """Return which variants are drawn together: one a strategy, at a threshold or next to it."""
    variants = [row.variant for row in rows]
    free = [variant for variant in variants if variant.profile]
    sizes = dict.fromkeys(v.at for v in free if v.strategy != MICRO) or {v.at: None for v in free}
    drawn: list[tuple[str, list[Variant]]] = []
    for size in sorted(sizes):
        together = [variant for variant in variants if not variant.profile]
        for name in dict.fromkeys(variant.strategy for variant in free):
            same = [variant for variant in free if variant.strategy == name]
            together.append(_nearest(same, size))
        drawn.append((short(size) if size else "auto", together))
    return drawn or [("", variants)]


def _nearest(variants: Sequence[Variant], size: int) -> Variant:
    return min(variants, key=lambda variant: abs(variant.at - size))


def first_choice(rows: Sequence[Row]) -> int:
    """Return the place of the cheapest threshold at which cliffs fall, extra steps counted."""
    together = choices(rows)
    fallen = [row for row in rows if row.cliffs and row.variant not in {AS_RUN, BASE}]
    if not fallen:
        return 0
    best = min(fallen, key=lambda row: (row.by_engine.with_steps(STEPS), row.prompt))
    return next((i for i, (_, shown) in enumerate(together) if best.variant in shown), 0)


def context(session: Shown, variants: Sequence[Variant]) -> Values:
    """Return prompts by step, and the harness's own compactions."""
    values: Values = [
        {"step": step + 1, "strategy": variant.strategy, "tokens": tokens}
        for variant, line in _lines(session, variants)
        for step, tokens in zip(session.steps, line.prompt, strict=True)
        if tokens is not None
    ]
    return values + [{"step": call + 1, "compaction": True} for call in session.compactions]


def costs(session: Shown, variants: Sequence[Variant]) -> Values:
    """Return costs by step, in US dollars; nothing where no price is known."""
    return [
        {
            "step": step + 1,
            "strategy": variant.strategy,
            "cached": cached / 1e6,
            "total": (cached + other) / 1e6,
        }
        for variant, line in _lines(session, variants)
        for step, cached, other in zip(
            session.steps, line.cached_cost, line.other_cost, strict=True
        )
        if cached is not None and other is not None
    ]


def steps(session: Shown) -> Values:
    """Return what a session did by step, and the harness's own compactions."""
    values: Values = [
        {"step": step, "kind": KINDS[letter]} for step, letter in enumerate(session.activity, 1)
    ]
    return values + [{"step": call + 1, "compaction": True} for call in session.compactions]


def _lines(session: Shown, variants: Sequence[Variant]) -> Iterator[tuple[Variant, Line]]:
    return ((one, session.lines[one]) for one in variants if one in session.lines)


def thresholds(table: Sequence[Row]) -> Values:
    """Return what each threshold changes in the cost, by both models of the cache."""
    return [
        {
            "strategy": row.variant.strategy,
            "threshold": at_text(row.variant),
            "at": row.variant.at,
            "cache": CACHES[model],
            "change": change,
            "cost": getattr(row, model).cost,
            "cliffs": row.cliffs,
        }
        for row in sorted(table, key=lambda row: row.variant.at)
        for model in MODELS
        if row.variant.profile
        and row.variant.strategy != MICRO
        and (change := _change(row, model)) is not None
    ]


def sizes(table: Sequence[Row]) -> Values:
    """Return costs by the largest prompt of a session in the mean."""
    return [
        {
            "variant": label(row.variant),
            "strategy": row.variant.strategy,
            "peak": round(row.mean_peak),
            "change": change,
            "cost": row.engine.cost,
            "at": row.variant.at,
            "cliffs": row.cliffs,
        }
        for row in sorted(table, key=lambda row: row.variant.at)
        if (change := _change(row, "engine")) is not None
    ]


def _change(row: Row, model: str) -> float | None:
    compared: Comparison = getattr(row, f"by_{model}")
    return None if compared.change is None else round(compared.change, 5)


def components(spent: Mapping[Variant, Spent], variants: Sequence[Variant]) -> Values:
    """Return what the cost is paid for: by variant, by part, from the cache or not."""
    return [
        {"variant": label(variant), "part": PARTS[name], "how": how, "cost": round(cost, 6)}
        for variant in variants
        if variant in spent
        for how, costs_ in (("cached", spent[variant].cached), ("other", spent[variant].other))
        for name, cost in zip(NAMES, costs_, strict=True)
    ]


def activities(done: Mapping[str, Activity]) -> Values:
    """Return what was done, by harness."""
    return [
        {
            "harness": harness,
            "kind": kind,
            "steps": one.steps[letter],
            "share": one.steps[letter] / max(one.steps.total(), 1),
            "each": one.steps[letter] / max(one.sessions, 1),
        }
        for harness, one in sorted(done.items())
        for letter, kind in KINDS.items()
        if one.steps.total()
    ]
