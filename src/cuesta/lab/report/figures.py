"""The figures, as Vega-Lite draws them. Data stands outside, under the name `rows`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from cuesta.lab.records import KEEP_ALL, RECORDED
from cuesta.lab.report.rows import CACHES, KINDS, PARTS

Spec: TypeAlias = dict[str, Any]

_COLOURS: Mapping[str, str] = MappingProxyType(
    {
        RECORDED: "#a5792b",
        KEEP_ALL: "#7f8894",
        "cliff": "#2f7ed8",
        "sliding_window": "#df6d14",
        "microcompaction": "#179c77",
        "summary": "#9a63d6",
        "micro_summary": "#d9498c",
    }
)
"""A strategy's colour, in every figure; told apart on white and on black."""
_SPARE = ("#5b9aa0", "#b8860b", "#c0504d", "#6b8e23")
_PART_COLOURS = ("#3f7fbf", "#e08a2b", "#5aa469", "#8b8f98", "#c2588f")
_KIND_COLOURS = ("#3f7fbf", "#d0443e", "#e08a2b", "#5aa469", "#9a77c7", "#8b8f98")
_CACHED = "#9aa3ad"

_TOKENS = "datum.value >= 1000 ? format(datum.value / 1000, ',') + 'K' : format(datum.value, ',')"
_PERCENT = "datum.value === 0 ? '0%' : format(datum.value, '+.0%')"
_DOLLARS = "'$' + format(datum.value, ',.3~r')"
_STEP = {
    "field": "step",
    "type": "quantitative",
    "title": "step (model call)",
    "scale": {"nice": False, "zero": False},
    "axis": {"tickMinStep": 1},
}
_ROWS = {"name": "rows"}
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


def context(strategies: Sequence[str]) -> Spec:
    """Prompt tokens by step, a line a strategy (the paper's Figure 5)."""
    named = [{"field": name, "type": "quantitative", "format": ","} for name in strategies]
    over = {"name": "over", "select": _nearest("step")}
    return {
        "data": _ROWS,
        "height": 320,
        "encoding": {"x": _STEP},
        "layer": [
            {
                "transform": [{"filter": "isValid(datum.tokens)"}],
                "mark": {"type": "line", "strokeWidth": 2, "strokeJoin": "round"},
                "encoding": {
                    "y": _tokens("tokens", "prompt (tokens)"),
                    "color": _colour(strategies),
                    "strokeDash": {
                        "condition": {"test": f"datum.strategy === '{RECORDED}'", "value": [5, 3]},
                        "value": [1, 0],
                    },
                },
            },
            _compactions(),
            {
                "transform": [
                    {"filter": "isValid(datum.tokens)"},
                    {"pivot": "strategy", "value": "tokens", "groupby": ["step"]},
                ],
                "params": [over],
                "mark": {"type": "rule", "strokeWidth": 1},
                "encoding": {
                    "opacity": {
                        "condition": {"param": "over", "empty": False, "value": 0.7},
                        "value": 0,
                    },
                    "tooltip": [{"field": "step", "type": "quantitative"}, *named],
                },
            },
        ],
    }


def costs(strategies: Sequence[str]) -> Spec:
    """Cost by step, cached and other, a panel a strategy (the paper's Figure 4)."""
    tooltip = [
        {"field": "step", "type": "quantitative"},
        {"field": "strategy"},
        {"field": "cached", "title": "for cached tokens, US$", "format": ".5f"},
        {"field": "total", "title": "in all, US$", "format": ".5f"},
    ]

    def bar(field: str, colour: Spec) -> Spec:
        height: Spec = {"field": field, "type": "quantitative", "title": "US$", "stack": None}
        height["axis"] = {"labelExpr": _DOLLARS, "tickCount": 3}
        return {
            "mark": {"type": "rule", "strokeWidth": {"expr": "bar"}},
            "encoding": {
                "x": _STEP,
                "y": height,
                "y2": {"datum": 0},
                "color": colour,
                "tooltip": tooltip,
            },
        }

    return {
        "data": _ROWS,
        "params": [{"name": "bar", "value": 2}],
        "facet": {
            "field": "strategy",
            "sort": list(strategies),
            "title": None,
            "header": {"labelAnchor": "start"},
        },
        "columns": 1,
        "spacing": 12,
        "spec": {
            "height": 90,
            "layer": [
                bar("total", _colour(strategies, legend=False)),
                bar("cached", {"value": _CACHED}),
            ],
        },
        "resolve": {"axis": {"x": "shared"}},
    }


def thresholds(strategies: Sequence[str], names: Sequence[str]) -> Spec:
    """Cost by threshold, in both models of the cache."""
    encoding = {
        "x": {
            "field": "threshold",
            "type": "ordinal",
            "sort": list(names),
            "title": "threshold (tokens)",
            "axis": {"labelAngle": 0, "labelOverlap": True},
            "scale": {"type": "point", "padding": 0.4},
        },
        "y": _change(),
        "color": _colour(strategies),
        "strokeDash": {
            "field": "cache",
            "title": None,
            "scale": {"domain": list(CACHES.values()), "range": [[1, 0], [5, 3]]},
        },
        "tooltip": [
            {"field": "strategy"},
            {"field": "threshold"},
            {"field": "cache"},
            {"field": "change", "title": "change", "format": "+.1%"},
            {"field": "cost", "title": "cost, US$", "format": ",.4~r"},
            {"field": "cliffs", "format": ","},
        ],
    }
    shape = {
        "field": "cache",
        "title": None,
        "scale": {"domain": list(CACHES.values()), "range": ["circle", "diamond"]},
        "legend": {"symbolFillColor": "#7f8894"},
    }
    shaped = {name: one for name, one in encoding.items() if name != "strokeDash"}
    return {
        "data": _ROWS,
        "height": 320,
        "layer": [
            _zero(),
            {
                "transform": [{"filter": "datum.at > 0"}],
                "mark": {"type": "line", "strokeWidth": 2},
                "encoding": encoding,
            },
            {
                "mark": {"type": "point", "size": 70, "filled": True, "opacity": 1},
                "encoding": {**shaped, "shape": shape},
            },
        ],
    }


def sizes(strategies: Sequence[str]) -> Spec:
    """Cost by the mean of the sessions' largest prompts: what strategies cost at equal size."""
    encoding = {
        "x": _tokens("peak", "largest prompt of a session, mean (tokens)"),
        "y": _change(),
        "color": _colour(strategies),
        "order": {"field": "at", "type": "quantitative"},
        "tooltip": [
            {"field": "variant"},
            {"field": "peak", "title": "mean peak, tokens", "format": ","},
            {"field": "change", "format": "+.1%"},
            {"field": "cost", "title": "cost, US$", "format": ",.4~r"},
            {"field": "cliffs", "format": ","},
        ],
    }
    return {
        "data": _ROWS,
        "height": 320,
        "layer": [
            _zero(),
            {
                "transform": [{"filter": "datum.at > 0"}],
                "mark": {"type": "line", "strokeWidth": 2},
                "encoding": encoding,
            },
            {
                "mark": {"type": "point", "size": 80, "filled": True, "opacity": 1},
                "encoding": encoding,
            },
        ],
    }


def components(variants: Sequence[str]) -> Spec:
    """Cost by what it is paid for (the paper's Table 7)."""
    parts = list(PARTS.values())
    place = f"indexof({parts!r}, datum.part) * 2 + (datum.how === 'other' ? 1 : 0)"
    return {
        "data": _ROWS,
        "height": 24 * len(variants),
        "transform": [{"calculate": place, "as": "place"}],
        "mark": {"type": "bar", "height": {"band": 0.8}},
        "encoding": {
            "y": {
                "field": "variant",
                "type": "nominal",
                "sort": list(variants),
                "title": None,
                "axis": {"labelLimit": 170},
            },
            "x": {
                "field": "cost",
                "type": "quantitative",
                "aggregate": "sum",
                "title": "cost (US$, engine model)",
                "axis": {"labelExpr": _DOLLARS, "labelFlush": True},
            },
            "color": {
                "field": "part",
                "title": None,
                "scale": {"domain": parts, "range": list(_PART_COLOURS)},
            },
            "opacity": {
                "field": "how",
                "type": "ordinal",
                "sort": ["cached", "other"],
                "title": None,
                "scale": {"domain": ["cached", "other"], "range": [0.5, 1]},
                "legend": {"symbolFillColor": "#7f8894"},
            },
            "order": {"field": "place", "type": "quantitative"},
            "tooltip": [
                {"field": "variant"},
                {"field": "part"},
                {"field": "how"},
                {"field": "cost", "aggregate": "sum", "title": "cost, US$", "format": ",.4~r"},
            ],
        },
    }


def activities(harnesses: int) -> Spec:
    """Shares of the steps by what they do, by harness (the paper's Figure 6)."""
    place = f"indexof({list(KINDS.values())!r}, datum.kind)"
    return {
        "data": _ROWS,
        "height": 28 * harnesses,
        "transform": [{"calculate": place, "as": "place"}],
        "mark": {"type": "bar", "height": {"band": 0.75}},
        "encoding": {
            "y": {"field": "harness", "type": "nominal", "title": None},
            "x": {
                "field": "share",
                "type": "quantitative",
                "title": "share of the steps",
                "scale": {"domain": [0, 1]},
                "axis": {"format": ".0%", "labelFlush": True},
            },
            "color": {**_kinds(), "legend": {"symbolStrokeWidth": 0}},
            "order": {"field": "place", "type": "quantitative"},
            "tooltip": [
                {"field": "harness"},
                {"field": "kind"},
                {"field": "steps", "format": ","},
                {"field": "share", "format": ".1%"},
                {"field": "each", "title": "a session", "format": ",.1f"},
            ],
        },
    }


def steps() -> Spec:
    """What one session did, step by step."""
    return {
        "data": _ROWS,
        "height": 170,
        "layer": [
            {
                "transform": [{"filter": "isValid(datum.kind)"}],
                "mark": {"type": "tick", "thickness": 2, "height": {"band": 0.7}},
                "encoding": {
                    "x": _STEP,
                    "y": {
                        "field": "kind",
                        "type": "nominal",
                        "sort": list(KINDS.values()),
                        "title": None,
                        "scale": {"domain": list(KINDS.values())},
                    },
                    "color": {**_kinds(), "legend": None},
                    "tooltip": [{"field": "step", "type": "quantitative"}, {"field": "kind"}],
                },
            },
            _compactions(),
        ],
    }


def _colour(strategies: Sequence[str], *, legend: bool = True) -> Spec:
    spare = iter(_SPARE * len(strategies))
    colours = [_COLOURS.get(name) or next(spare) for name in strategies]
    colour: Spec = {"field": "strategy", "type": "nominal", "title": None}
    colour["scale"] = {"domain": list(strategies), "range": colours}
    return colour if legend else {**colour, "legend": None}


def _kinds() -> Spec:
    scale = {"domain": list(KINDS.values()), "range": list(_KIND_COLOURS)}
    return {"field": "kind", "type": "nominal", "title": None, "scale": scale}


def _tokens(field: str, title: str) -> Spec:
    axis = {"labelExpr": _TOKENS, "tickCount": 8}
    return {"field": field, "type": "quantitative", "title": title, "axis": axis}


def _change() -> Spec:
    return {
        "field": "change",
        "type": "quantitative",
        "title": "cost compared with keeping all",
        "scale": {"zero": True},
        "axis": {"labelExpr": _PERCENT, "grid": True},
    }


def _zero() -> Spec:
    return {
        "data": {"values": [{}]},
        "mark": {"type": "rule", "strokeDash": [2, 2]},
        "encoding": {"y": {"datum": 0}},
    }


def _compactions() -> Spec:
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


def _nearest(field: str) -> Spec:
    return {
        "type": "point",
        "fields": [field],
        "nearest": True,
        "on": "pointerover",
        "clear": "pointerout",
    }
