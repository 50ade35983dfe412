"""The saw-tooth: prompt tokens of each call, straight and through Cuesta, on the same axes.

Once as text for a terminal, once as an SVG file. Both are pure functions of a `Chart`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape

from cuesta.cli.bill import cliffs_of, short_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, slots=True)
class Chart:
    """Two runs of one job.

    Attributes:
        title: What is shown.
        straight: Prompt tokens of each call without Cuesta; at least one.
        compacted: The same through Cuesta; at least one.
        straight_label: What the legend says of the first run, its cost included.
        compacted_label: What the legend says of the second.
    """

    title: str
    straight: Sequence[int]
    compacted: Sequence[int]
    straight_label: str
    compacted_label: str

    @property
    def calls(self) -> int:
        """How many calls the x axis has to hold."""
        return max(len(self.straight), len(self.compacted))

    @property
    def peak(self) -> int:
        """The largest prompt of both."""
        return max(*self.straight, *self.compacted)


class _Scale(NamedTuple):
    """An axis from 0 to a round number."""

    top: int
    step: int

    @property
    def ticks(self) -> list[int]:
        return list(range(0, self.top + 1, self.step))


def _scale(peak: int, most_ticks: int) -> _Scale:
    """Return the axis whose steps of 1, 2 or 5 times a power of ten are as few as asked for."""
    step = next(
        factor * 10**power
        for power in range(12)
        for factor in (1, 2, 5)
        if factor * 10**power * most_ticks >= peak
    )
    return _Scale(step * max(1, -(-peak // step)), step)


class _Glyphs(NamedTuple):
    """What a terminal chart is drawn with; no two of a kind need colour to be told apart."""

    fills: str
    """Of the columns, from an eighth or the whole of a row to the full row."""
    line: str
    """Of the straight run, from the bottom of a row to its top."""
    side: str
    tick: str
    corner: str
    floor: str
    cliff: str


UNICODE = _Glyphs("▁▂▃▄▅▆▇█", "⣀⠤⠒⠉", "│", "┤", "└", "─", "▲")
ASCII = _Glyphs("#", "o", "|", "+", "+", "-", "^")

_ROWS = 12
_MARGIN = 7


def glyphs_for(encoding: str | None) -> _Glyphs:
    """Return the glyphs that an output's encoding has."""
    try:
        "".join(UNICODE).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def draw(chart: Chart, glyphs: _Glyphs = UNICODE, width: int = 80) -> str:
    """Draw the chart as text.

    Args:
        chart: The two runs.
        glyphs: See `glyphs_for`.
        width: Columns of the terminal; no line is longer.

    Returns:
        At most 19 lines: columns for the run through Cuesta, a line for the straight one, the
        number of calls below, and a mark under each cliff. Where there are more calls than columns,
        a column shows the largest prompt of its calls.
    """
    room = width - _MARGIN - 1
    scale = _scale(chart.peak, 4)
    straight = _columns(chart.straight, chart.calls, room)
    compacted = _columns(chart.compacted, chart.calls, room)
    labels = {_ROWS - round(tick / scale.top * _ROWS): tick for tick in scale.ticks[1:]}
    rows = [chart.title, ""]
    for row in range(_ROWS):
        tick = labels.get(row)
        axis = f"{short_tokens(tick):>5} {glyphs.tick}" if tick else f"{'':6}{glyphs.side}"
        cells = "".join(
            _cell(_part(low, scale.top, row), _part(high, scale.top, row), glyphs)
            for high, low in zip(straight, compacted, strict=True)
        )
        rows.append(axis + cells.rstrip())
    rows.append(f"{0:>5} {glyphs.corner}{glyphs.floor * len(straight)}")
    rows.append(" " * _MARGIN + _call_numbers(chart.calls, len(straight)))
    marks = {_column(place, chart.calls, room) for place in cliffs_of(chart.compacted)}
    if marks:
        line = "".join(glyphs.cliff if c in marks else " " for c in range(len(straight)))
        rows.append(" " * _MARGIN + line.rstrip())
    middle = glyphs.line[len(glyphs.line) // 2]
    rows.append(f"{'':{_MARGIN}}{middle * 2} {chart.straight_label}")
    rows.append(f"{'':{_MARGIN}}{glyphs.fills[-1] * 2} {chart.compacted_label}")
    return "\n".join(row[:width].rstrip() for row in rows)


def _column(place: int, calls: int, room: int) -> int:
    """Return the column in which a call begins."""
    return place * (room // calls) if calls <= room else place * room // calls


def _columns(prompts: Sequence[int], calls: int, room: int) -> list[int]:
    """Return the prompt that each column shows; 0 behind the end."""
    wide = max(1, room // calls)
    columns = [0] * (calls * wide if calls <= room else room)
    for place, prompt in enumerate(prompts):
        first = _column(place, calls, room)
        for column in range(first, min(first + wide, len(columns))):
            columns[column] = max(columns[column], prompt)
    return columns


def _part(value: int, top: int, row: int) -> float:
    """Return how far a value reaches into a row from its bottom; outside of 0 to 1 beyond it."""
    return value / top * _ROWS - (_ROWS - 1 - row)


def _cell(low: float, high: float, glyphs: _Glyphs) -> str:
    """Return the glyph of one place: the column of the compacted run before the line."""
    filled = round(min(low, 1) * len(glyphs.fills))
    if filled > 0:
        return glyphs.fills[filled - 1]
    if 0 < high <= 1:
        return glyphs.line[min(int(high * len(glyphs.line)), len(glyphs.line) - 1)]
    return " "


def _call_numbers(calls: int, columns: int) -> str:
    """Return the x axis: round numbers of calls, each below its column."""
    step = _scale(calls, max(1, columns // 9)).step
    line = ""
    for call in [1, *range(max(step, 2), calls + 1, step)]:
        column = _column(call - 1, calls, columns)
        if column > len(line) or not line:
            line = f"{line:<{column}}{call}"
    return f"{line} calls" if len(line) + 6 <= columns else line


_WIDE, _HIGH = 860, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 28, 118, 52

_STYLE = """
text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #57606a }
.paper { fill: #ffffff }
.title { font-size: 18px; font-weight: 600; fill: #1f2328 }
.legend { fill: #1f2328 }
.grid { stroke: #d8dee4; stroke-width: 1 }
.axis { stroke: #8c959f; stroke-width: 1 }
.straight { fill: none; stroke: #6e7781; stroke-width: 2; stroke-dasharray: 6 4 }
.compacted { fill: none; stroke: #0969da; stroke-width: 2.5; stroke-linejoin: round }
.area { fill: #0969da; fill-opacity: 0.14 }
.cliff { fill: #bc4c00 }
@media (prefers-color-scheme: dark) {
  text { fill: #9198a1 }
  .paper { fill: #0d1117 }
  .title, .legend { fill: #f0f6fc }
  .grid { stroke: #262c36 }
  .axis { stroke: #656c76 }
  .straight { stroke: #9198a1 }
  .compacted { stroke: #58a6ff }
  .area { fill: #58a6ff; fill-opacity: 0.2 }
  .cliff { fill: #f0883e }
}
"""


class _Plane(NamedTuple):
    """Where calls and tokens lie in the picture."""

    calls: int
    top: int

    def x(self, call: int) -> float:
        """Return the place of a call, counted from 1."""
        return _LEFT + (call - 1) / max(self.calls - 1, 1) * (_WIDE - _LEFT - _RIGHT)

    def y(self, tokens: int) -> float:
        return _HIGH - _BOTTOM - tokens / self.top * (_HIGH - _TOP - _BOTTOM)

    def points(self, prompts: Sequence[int]) -> str:
        return " ".join(f"{self.x(i):.1f},{self.y(p):.1f}" for i, p in enumerate(prompts, 1))


def svg(chart: Chart) -> str:
    """Draw the chart as a self-contained SVG document, for light and dark backgrounds."""
    scale = _scale(chart.peak, 5)
    plane = _Plane(chart.calls, scale.top)
    parts = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {_HIGH}" role="img">',
        f"<title>{escape(chart.title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="paper" width="{_WIDE}" height="{_HIGH}" rx="6"/>',
        _text(_LEFT - 40, 34, chart.title, "title"),
        *_legend(chart),
        *_axes(plane, scale),
        *_curves(plane, chart),
        "</svg>",
    )
    return "\n".join(parts) + "\n"


def _text(x: float, y: float, text: str, css: str = "", anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" class="{css}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _line(start: tuple[float, float], end: tuple[float, float], css: str) -> str:
    (x1, y1), (x2, y2) = start, end
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{css}"/>'


def _legend(chart: Chart) -> Iterator[str]:
    left = _LEFT - 40
    yield _line((left, 57), (left + 30, 57), "straight")
    yield _text(left + 40, 61, chart.straight_label, "legend")
    yield _line((left, 79), (left + 30, 79), "compacted")
    yield _text(left + 40, 83, chart.compacted_label, "legend")
    if cliffs_of(chart.compacted):
        yield _triangle(_WIDE - _RIGHT - 44, 74)
        yield _text(_WIDE - _RIGHT, 83, "cliff", "legend", "end")


def _axes(plane: _Plane, scale: _Scale) -> Iterator[str]:
    for tick in scale.ticks:
        y = plane.y(tick)
        yield _line((_LEFT, y), (_WIDE - _RIGHT, y), "grid" if tick else "axis")
        yield _text(_LEFT - 10, y + 4, short_tokens(tick) if tick else "0", "", "end")
    step = _scale(plane.calls, 8).step
    for call in [1, *range(max(step, 2), plane.calls + 1, step)]:
        yield _text(plane.x(call), _HIGH - _BOTTOM + 20, str(call), "", "middle")
    yield _text((_LEFT + _WIDE - _RIGHT) / 2, _HIGH - 12, "call", "", "middle")
    yield _text(_LEFT - 40, _TOP - 14, "prompt tokens")


def _curves(plane: _Plane, chart: Chart) -> Iterator[str]:
    points = plane.points(chart.compacted)
    floor = f"{plane.y(0):.1f}"
    begin, end = (f"{plane.x(call):.1f},{floor}" for call in (1, len(chart.compacted)))
    yield f'<polygon class="area" points="{begin} {points} {end}"/>'
    yield f'<polyline class="straight" points="{plane.points(chart.straight)}"/>'
    yield f'<polyline class="compacted" points="{points}"/>'
    for place in cliffs_of(chart.compacted):
        yield _triangle(plane.x(place), plane.y(chart.compacted[place - 1]) - 14)


def _triangle(x: float, y: float) -> str:
    """Return a mark that points down to the place where the prompt is about to drop."""
    return f'<path class="cliff" d="M{x - 5:.1f} {y:.1f}h10l-5 8z"/>'
