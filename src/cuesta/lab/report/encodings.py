"""What all figures share: colours, axes, words, and the theme of a light or a dark page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from cuesta.lab.records import KEEP_ALL, RECORDED
from cuesta.lab.report.rows import KINDS

Spec: TypeAlias = dict[str, Any]

GREY = "#7f8894"
_COLOURS: Mapping[str, str] = MappingProxyType(
    {
        RECORDED: "#a5792b",
        KEEP_ALL: GREY,
        "cliff": "#2f7ed8",
        "sliding_window": "#df6d14",
        "microcompaction": "#179c77",
        "summary": "#9a63d6",
        "micro_summary": "#d9498c",
    }
)
"""A strategy's colour, in every figure; told apart on white and on black."""
_SPARE = ("#5b9aa0", "#b8860b", "#c0504d", "#6b8e23")
PART_COLOURS = ("#3f7fbf", "#e08a2b", "#5aa469", "#8b8f98", "#c2588f")
_KIND_COLOURS = ("#3f7fbf", "#d0443e", "#e08a2b", "#5aa469", "#9a77c7", "#8b8f98")
CACHED = "#9aa3ad"

_TOKENS = "datum.value >= 1000 ? format(datum.value / 1000, ',') + 'K' : format(datum.value, ',')"
_PERCENT = "datum.value === 0 ? '0%' : format(datum.value, '+.0%')"
DOLLARS = "'$' + format(datum.value, ',.3~r')"
STEP = {
    "field": "step",
    "type": "quantitative",
    "title": "step (model call)",
    "scale": {"nice": False, "zero": False},
    "axis": {"tickMinStep": 1},
}
ROWS = {"name": "rows"}
WIDE = 760
"""Pixels of a figure's width where nothing else decides."""


def theme(*, dark: bool = False) -> Spec:
    """Return what all figures have in common, on a light or a dark page."""
    ink, faint, line = (
        ("#e6e8eb", "#a9b1bb", "#3a414b") if dark else ("#1c2127", "#58616c", "#dde1e6")
    )
    axis = {
        "labelColor": faint,
        "titleColor": faint,
        "gridColor": line,
        "domainColor": line,
        "tickColor": line,
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 12,
    }
    legend = {
        "labelColor": ink,
        "titleColor": faint,
        "orient": "top",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "symbolStrokeWidth": 3,
        "labelLimit": 200,
    }
    return {
        "background": None if dark else "white",
        "font": "system-ui, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif",
        "axis": axis,
        "legend": legend,
        "header": {"labelColor": ink, "labelFontSize": 13, "titleColor": faint},
        "view": {"stroke": None},
        "rule": {"color": faint},
        "text": {"color": faint},
    }


def colour(strategies: Sequence[str], *, legend: bool = True) -> Spec:
    """Return the colours of strategies, the same in every figure."""
    spare = iter(_SPARE * len(strategies))
    colours = [_COLOURS.get(name) or next(spare) for name in strategies]
    colour: Spec = {"field": "strategy", "type": "nominal", "title": None}
    colour["scale"] = {"domain": list(strategies), "range": colours}
    return colour if legend else {**colour, "legend": None}


def kinds() -> Spec:
    """Return the colours of what a step does."""
    scale = {"domain": list(KINDS.values()), "range": list(_KIND_COLOURS)}
    return {"field": "kind", "type": "nominal", "title": None, "scale": scale}


def tokens(field: str, title: str) -> Spec:
    """Return an axis of tokens."""
    axis = {"labelExpr": _TOKENS, "tickCount": 8}
    return {"field": field, "type": "quantitative", "title": title, "axis": axis}


def change() -> Spec:
    """Return the axis of what a variant changes in the cost."""
    return {
        "field": "change",
        "type": "quantitative",
        "title": "cost compared with keeping all",
        "scale": {"zero": True},
        "axis": {"labelExpr": _PERCENT, "grid": True},
    }


def zero() -> Spec:
    """Return a line where the cost is that of keeping all."""
    return {
        "data": {"values": [{}]},
        "mark": {"type": "rule", "strokeDash": [2, 2]},
        "encoding": {"y": {"datum": 0}},
    }


def compactions() -> Spec:
    """Return lines where a harness itself compacted."""
    return {
        "transform": [
            {"filter": "datum.compaction === true"},
            {"calculate": "'compacted by its harness'", "as": "what"},
        ],
        "mark": {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 1.5, "color": "#d0443e"},
        "encoding": {
            "x": {"field": "step", "type": "quantitative"},
            "tooltip": [
                {"field": "step", "type": "quantitative"},
                {"field": "what", "title": "here"},
            ],
        },
    }


def nearest(field: str) -> Spec:
    """Return a selection of what is nearest to the pointer."""
    return {
        "type": "point",
        "fields": [field],
        "nearest": True,
        "on": "pointerover",
        "clear": "pointerout",
    }
