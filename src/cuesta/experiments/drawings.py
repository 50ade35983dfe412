"""The figures that only experiments have, as Vega-Lite draws them; the others are `lab.report`'s.

Data stands outside, under the name `rows`.
"""

from __future__ import annotations

from collections.abc import Sequence

from cuesta.lab.report.encodings import DOLLARS, ROWS, Spec, colour
from cuesta.lab.report.rows import KINDS

_HEIGHT = 320


def frontier(strategies: Sequence[str]) -> Spec:
    """Success by cost a task, a point a setting, thresholds of one strategy joined."""
    scale = {"zero": False, "nice": False, "padding": 28}
    x: Spec = {"field": "cost", "type": "quantitative", "title": "cost a task (US$, perfect cache)"}
    x |= {"axis": {"labelExpr": DOLLARS, "tickCount": 8}, "scale": scale}
    y: Spec = {"field": "resolved", "type": "quantitative", "title": "tasks resolved"}
    y |= {"axis": {"format": ".1~%", "tickCount": 8}, "scale": scale}
    paint = colour(strategies)
    here = {"x": x, "y": y, "color": paint}
    tooltip = [
        {"field": "setting"},
        {"field": "cost", "title": "cost, US$", "format": ".4f"},
        {"field": "resolved", "format": ".1%"},
        {"field": "low", "title": "lowest seed", "format": ".1%"},
        {"field": "high", "title": "highest seed", "format": ".1%"},
    ]
    return {
        "data": ROWS,
        "height": _HEIGHT,
        "layer": [
            {
                "mark": {"type": "line", "strokeWidth": 1.5, "opacity": 0.6},
                "encoding": {**here, "order": {"field": "threshold", "type": "quantitative"}},
            },
            {
                "transform": [{"filter": "datum.high > datum.low"}],
                "mark": {"type": "rule", "strokeWidth": 1.5, "opacity": 0.5},
                "encoding": {**here, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "size": 90, "filled": True, "opacity": 1},
                "encoding": {**here, "tooltip": tooltip},
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 8, "dy": -8},
                "encoding": {**here, "text": {"field": "size"}},
            },
        ],
    }


def trend(strategies: Sequence[str], field: str, title: str) -> Spec:
    """Speed-up by steps, by cost, or by kernels: a line a strategy."""
    x: Spec = {"field": field, "type": "quantitative", "title": title, "scale": {"nice": False}}
    x["axis"] = {"labelExpr": DOLLARS} if field == "cost" else {"tickMinStep": 1}
    return {
        "data": ROWS,
        "height": _HEIGHT,
        "mark": {"type": "line", "strokeWidth": 2, "interpolate": "step-after"},
        "encoding": {
            "x": x,
            "y": {
                "field": "speedup",
                "type": "quantitative",
                "title": "speed-up against PyTorch eager (geometric mean)",
                "axis": {"labelExpr": "format(datum.value, '.2~f') + 'x'"},
            },
            "color": colour(strategies),
            "tooltip": [
                {"field": "strategy"},
                {"field": field, "title": title},
                {"field": "speedup", "format": ".3f"},
            ],
        },
    }


def extra_steps(strategies: Sequence[str]) -> Spec:
    """Steps a task beyond those at full context, by what they do (the paper's Figure 6)."""
    return {
        "data": ROWS,
        "height": 260,
        "layer": [
            {
                "mark": {"type": "bar"},
                "encoding": {
                    "x": {
                        "field": "kind",
                        "type": "nominal",
                        "sort": ["all", *KINDS.values()],
                        "title": None,
                        "axis": {"labelAngle": 0},
                    },
                    "xOffset": {"field": "strategy", "sort": list(strategies)},
                    "y": {
                        "field": "more",
                        "type": "quantitative",
                        "title": "steps a task beyond full context",
                        "axis": {"format": "+.1~f"},
                    },
                    "color": colour(strategies),
                    "tooltip": [
                        {"field": "strategy"},
                        {"field": "kind"},
                        {"field": "more", "title": "more steps a task", "format": "+.2f"},
                        {"field": "each", "title": "steps a task", "format": ".2f"},
                    ],
                },
            },
            {
                "data": {"values": [{}]},
                "mark": {"type": "rule"},
                "encoding": {"y": {"datum": 0}},
            },
        ],
    }
