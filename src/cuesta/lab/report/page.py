"""The page: figures, tables, and what they mean and do not mean, in one file."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from html import escape
from importlib.resources import files
from posixpath import basename, commonpath, dirname
from typing import Any

from cuesta.lab.records import BASE, Variant
from cuesta.lab.report import figures, rows, tables
from cuesta.lab.report.collected import Collected, Shown
from cuesta.lab.report.drawing import scripts
from cuesta.lab.report.encodings import Spec, theme
from cuesta.lab.report.numbers import counted, dollars, short, signed_percent
from cuesta.lab.table import Row

_MOST_BARS = 24
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {}"


@dataclass(frozen=True)
class Report:
    """What is shown.

    Attributes:
        collected: Of all sessions.
        variants: What they were replayed under, in order.
    """

    collected: Collected
    variants: Sequence[Variant]

    @cached_property
    def table(self) -> list[Row]:
        """The table's rows, in the order of the variants."""
        known = {row.variant: row for row in self.collected.rows()}
        return [known[variant] for variant in self.variants if variant in known]

    @cached_property
    def sessions(self) -> list[Shown]:
        """The sessions whose steps are shown."""
        return self.collected.shown()

    @cached_property
    def strategies(self) -> list[str]:
        """The strategies that there are."""
        return rows.strategies(self.table)

    @cached_property
    def root(self) -> str:
        """The folder that all files stand in; it is not shown."""
        paths = sorted({*self.collected.files, *(path for path, _ in self.collected.others)})
        return commonpath([dirname(path) for path in paths]) if paths else ""

    def shown_path(self, path: str) -> str:
        """Return a path without the folder that all files stand in."""
        return path.removeprefix(self.root).lstrip("/") or basename(path)

    def figures(self) -> dict[str, tuple[Spec, rows.Values]]:
        """Return each figure with its rows; of the sessions the first is drawn."""
        together = rows.choices(self.table)[rows.first_choice(self.table)][1] if self.table else []
        bars = [row.variant for row in self.table]
        if len(bars) > _MOST_BARS:
            bars = together
        first = self.sessions[:1]
        names = list(dict.fromkeys(one["threshold"] for one in rows.thresholds(self.table)))
        drawn = [one.strategy for one in together]
        return {
            "context": (
                figures.context(drawn),
                [value for one in first for value in rows.context(one, together)],
            ),
            "cost-by-step": (
                figures.costs(drawn),
                [value for one in first for value in rows.costs(one, together)],
            ),
            "cost-by-threshold": (
                figures.thresholds(_named(rows.thresholds(self.table)), names),
                rows.thresholds(self.table),
            ),
            "cost-by-size": (figures.sizes(self.strategies), rows.sizes(self.table)),
            "components": (
                figures.components([rows.label(one) for one in bars]),
                rows.components(self.collected.spent(), bars),
            ),
            "activity": (
                figures.activities(len(self.collected.activity)),
                rows.activities(self.collected.activity),
            ),
            "steps": (figures.steps(), [value for one in first for value in rows.steps(one)]),
        }


_OF_SESSION = ("context", "cost-by-step", "steps")
"""Figures that the page draws anew for each session that is chosen."""


def _named(values: rows.Values) -> list[str]:
    return list(dict.fromkeys(value["strategy"] for value in values))


def html(report: Report) -> str:
    """Return the page.

    Raises:
        ConfigError: If the library that draws is not installed.
    """
    ours, theirs = _part("page.js"), scripts()
    hashes = " ".join(f"'sha256-{_hash(script)}'" for script in (theirs, ours))
    values = {
        "policy": escape(_POLICY.format(hashes)),
        "style": _part("page.css"),
        "lead": _lead(report),
        "sessions": _options([_session_name(report, one) for one in report.sessions], 0),
        "thresholds": _options(
            [name or "all" for name, _ in rows.choices(report.table)],
            rows.first_choice(report.table),
        ),
        "table": tables.variants(report.table),
        "activity_table": tables.activity(report.collected.activity),
        "files": tables.files(report.collected, report.shown_path),
        "data": _json(_data(report)),
        "drawing": theirs,
        "script": ours,
    }
    page = _part("page.html")
    head, *rest = page.split("{{")
    return head + "".join(values[key] + text for key, text in (p.split("}}", 1) for p in rest))


def _part(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    return base64.b64encode(sha256(script.encode()).digest()).decode()


def _lead(report: Report) -> str:
    """Return the figures that stand above all others."""
    base = next((row for row in report.table if row.variant == BASE), None)
    cards = []
    if base is not None:
        cards.append((f"{base.sessions:,}", f"sessions, {counted(base.calls, 'call')}"))
        cards.append((short(base.mean_peak), "tokens: largest prompt of a session, mean"))
        cards.append((dollars(base.engine.cost), "with everything kept, engine model"))
    priced = [
        row for row in report.table if row.cliffs and row.by_engine.base and row.variant.profile
    ]
    if priced:
        best = min(priced, key=lambda row: row.by_engine.with_steps(rows.STEPS))
        change = best.by_engine.with_steps(rows.STEPS) / best.by_engine.base - 1
        what = f"{rows.label(best.variant)}: cheapest if a cliff causes {rows.STEPS} more steps"
        cards.append((signed_percent(change), what))
    told = "".join(
        f"<li><strong>{escape(value)}</strong> {escape(text)}</li>" for value, text in cards
    )
    return f"<ul class=cards>{told}</ul>{_unpriced(report.collected.unpriced())}"


def _unpriced(sessions: Mapping[str, int]) -> str:
    """Say which sessions have no cost."""
    if not sessions:
        return ""
    reasons = "".join(
        f"<li>{escape(counted(count, 'session'))}: {escape(reason)}</li>"
        for reason, count in sorted(sessions.items())
    )
    whole = escape(counted(sum(sessions.values()), "session"))
    return (
        f"<details class=note><summary>Costs leave out {whole} without a price</summary>"
        f"<ul>{reasons}</ul></details>"
    )


def _session_name(report: Report, one: Shown) -> str:
    path = report.shown_path(one.path)
    name = path if one.name in path else f"{path} \N{MIDDLE DOT} {one.name}"
    return f"{one.harness}: {name} ({counted(one.calls, 'call')}, {short(one.peak)})"


def _options(names: Sequence[str], chosen: int) -> str:
    return "".join(
        f"<option value={i}{' selected' if i == chosen else ''}>{escape(name)}</option>"
        for i, name in enumerate(names)
    )


def _data(report: Report) -> dict[str, Any]:
    places = {row.variant: i for i, row in enumerate(report.table)}
    return {
        "themes": {"light": theme(), "dark": theme(dark=True)},
        "kinds": dict(rows.KINDS),
        "strategies": [row.variant.strategy for row in report.table],
        "choices": [[places[one] for one in shown] for _, shown in rows.choices(report.table)],
        "sessions": [
            {
                "steps": one.steps,
                "activity": one.activity,
                "compactions": one.compactions,
                "lines": {
                    places[variant]: [line.prompt, line.cached_cost, line.other_cost]
                    for variant, line in one.lines.items()
                    if variant in places
                },
            }
            for one in report.sessions
        ],
        "figures": {
            name: {"spec": spec} if name in _OF_SESSION else {"spec": spec, "rows": values}
            for name, (spec, values) in report.figures().items()
        },
    }


def _json(values: dict[str, Any]) -> str:
    """Return JSON that can stand inside of a page: nothing in it ends a script."""
    text = json.dumps(values, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
