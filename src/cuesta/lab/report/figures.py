"""The figures, as Vega-Lite draws them. Data stands outside, under the name `rows`."""

from __future__ import annotations

from collections.abc import Sequence

from cuesta.lab.records import RECORDED
from cuesta.lab.report.encodings import (
    CACHED,
    DOLLARS,
    GREY,
    PART_COLOURS,
    ROWS,
    STEP,
    Spec,
    change,
    colour,
    compactions,
    kinds,
    nearest,
    tokens,
    zero,
)
from cuesta.lab.report.rows import CACHES, KINDS, PARTS


def context(strategies: Sequence[str]) -> Spec:
    """Prompt tokens by step, a line a strategy (the paper's Figure 5)."""
    named = [{"field": name, "type": "quantitative", "format": ","} for name in strategies]
    over = {"name": "over", "select": nearest("step")}
    return {
        "data": ROWS,
        "height": 320,
        "encoding": {"x": STEP},
        "layer": [
            {
                "transform": [{"filter": "isValid(datum.tokens)"}],
                "mark": {"type": "line", "strokeWidth": 2, "strokeJoin": "round"},
                "encoding": {
                    "y": tokens("tokens", "prompt (tokens)"),
                    "color": colour(strategies),
                    "strokeDash": {
                        "condition": {"test": f"datum.strategy === '{RECORDED}'", "value": [5, 3]},
                        "value": [1, 0],
                    },
                },
            },
            compactions(),
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

    def bar(field: str, paint: Spec) -> Spec:
        height: Spec = {"field": field, "type": "quantitative", "title": "US$", "stack": None}
        height["axis"] = {"labelExpr": DOLLARS, "tickCount": 3}
        return {
            "mark": {"type": "rule", "strokeWidth": {"expr": "bar"}},
            "encoding": {
                "x": STEP,
                "y": height,
                "y2": {"datum": 0},
                "color": paint,
                "tooltip": tooltip,
            },
        }

    return {
        "data": ROWS,
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
                bar("total", colour(strategies, legend=False)),
                bar("cached", {"value": CACHED}),
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
        "y": change(),
        "color": colour(strategies),
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
        "legend": {"symbolFillColor": GREY},
    }
    shaped = {name: one for name, one in encoding.items() if name != "strokeDash"}
    return _dotted(encoding, {**shaped, "shape": shape})


def sizes(strategies: Sequence[str]) -> Spec:
    """Cost by the mean of the sessions' largest prompts: what strategies cost at equal size."""
    encoding = {
        "x": tokens("peak", "largest prompt of a session, mean (tokens)"),
        "y": change(),
        "color": colour(strategies),
        "order": {"field": "at", "type": "quantitative"},
        "tooltip": [
            {"field": "variant"},
            {"field": "peak", "title": "mean peak, tokens", "format": ","},
            {"field": "change", "format": "+.1%"},
            {"field": "cost", "title": "cost, US$", "format": ",.4~r"},
            {"field": "cliffs", "format": ","},
        ],
    }
    return _dotted(encoding, encoding)


def _dotted(line: Spec, points: Spec) -> Spec:
    """Draw the rows as lines through points, over a line at no change.

    Args:
        line: What rows with a threshold are joined by.
        points: How each row stands.
    """
    return {
        "data": ROWS,
        "height": 320,
        "layer": [
            zero(),
            {
                "transform": [{"filter": "datum.at > 0"}],
                "mark": {"type": "line", "strokeWidth": 2},
                "encoding": line,
            },
            {
                "mark": {"type": "point", "size": 75, "filled": True, "opacity": 1},
                "encoding": points,
            },
        ],
    }


def components(variants: Sequence[str]) -> Spec:
    """Cost by what it is paid for (the paper's Table 7)."""
    parts = list(PARTS.values())
    place = f"indexof({parts!r}, datum.part) * 2 + (datum.how === 'other' ? 1 : 0)"
    return {
        "data": ROWS,
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
                "axis": {"labelExpr": DOLLARS, "labelFlush": True},
            },
            "color": {
                "field": "part",
                "title": None,
                "scale": {"domain": parts, "range": list(PART_COLOURS)},
            },
            "opacity": {
                "field": "how",
                "type": "ordinal",
                "sort": ["cached", "other"],
                "title": None,
                "scale": {"domain": ["cached", "other"], "range": [0.5, 1]},
                "legend": {"symbolFillColor": GREY},
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
        "data": ROWS,
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
            "color": {**kinds(), "legend": {"symbolStrokeWidth": 0}},
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
        "data": ROWS,
        "height": 170,
        "layer": [
            {
                "transform": [{"filter": "isValid(datum.kind)"}],
                "mark": {"type": "tick", "thickness": 2, "height": {"band": 0.7}},
                "encoding": {
                    "x": STEP,
                    "y": {
                        "field": "kind",
                        "type": "nominal",
                        "sort": list(KINDS.values()),
                        "title": None,
                        "scale": {"domain": list(KINDS.values())},
                    },
                    "color": {**kinds(), "legend": None},
                    "tooltip": [{"field": "step", "type": "quantitative"}, {"field": "kind"}],
                },
            },
            compactions(),
        ],
    }
