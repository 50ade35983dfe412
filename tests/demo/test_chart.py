import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.cli.chart import ASCII, UNICODE, Chart, draw, glyphs_for, svg

SVG = "{http://www.w3.org/2000/svg}"
STRAIGHT = [5_000 + 2_000 * call for call in range(70)]
COMPACTED = [5_000 + 2_000 * (call % 14) for call in range(70)]
CLIFFS = (14, 28, 42, 56)
CHART = Chart("Tokens", STRAIGHT, COMPACTED, "straight: $2", "through Cuesta: $1")

prompts = st.lists(st.integers(1, 3_000_000), min_size=1, max_size=300)


def plot(text, glyphs):
    """Return the rows of the plot, top first, without axis."""
    rows = [line for line in text.splitlines() if line[6:7] in (glyphs.side, glyphs.tick)]
    return [line[7:] for line in rows if not line.startswith("    0")]


def height(rows, column, glyphs):
    """Return how many rows of a column hold a part of the compacted run."""
    return sum(row[column : column + 1] in (*glyphs.fills,) for row in rows)


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_both_runs_are_told_apart_without_colour(glyphs):
    rows = plot(draw(CHART, glyphs), glyphs)
    drawn = "".join(rows)
    assert set(drawn) & set(glyphs.fills)
    assert set(drawn) & set(glyphs.line)
    assert not set(glyphs.fills) & set(glyphs.line)


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_peaks_stand_before_the_cliffs(glyphs):
    rows = plot(draw(CHART, glyphs), glyphs)
    for cliff in CLIFFS:
        assert height(rows, cliff - 1, glyphs) > height(rows, cliff, glyphs)


def test_the_straight_run_reaches_the_top_and_the_other_does_not():
    rows = plot(draw(CHART), UNICODE)
    assert rows[0].strip() or rows[1].strip()
    assert set("".join(rows[:6])) <= {" ", *UNICODE.line}
    assert rows[-1][:70].strip(UNICODE.fills) == ""


def test_cliffs_are_marked_below():
    lines = draw(CHART).splitlines()
    (marks,) = (line for line in lines if "▲" in line)
    assert tuple(i - 7 for i, glyph in enumerate(marks) if glyph == "▲") == CLIFFS


def test_axes_are_labelled():
    lines = draw(CHART).splitlines()
    labels = [line[:5].strip() for line in lines if line[:5].strip()]
    assert labels == ["Token", "150K", "100K", "50K", "0"]
    calls = lines[lines.index(next(line for line in lines if "└" in line)) + 1]
    for number in ("1", "10", "70"):
        assert calls[7 + int(number) - 1 :].startswith(number)


def test_legend_shows_both_costs():
    text = draw(CHART)
    assert "straight: $2" in text
    assert "through Cuesta: $1" in text


def test_ascii_is_ascii():
    assert draw(CHART, ASCII).isascii()


@pytest.mark.parametrize(
    ("encoding", "glyphs"),
    [("utf-8", UNICODE), ("ascii", ASCII), ("latin-1", ASCII), (None, ASCII), ("nonsense", ASCII)],
)
def test_glyphs_go_by_the_encoding(encoding, glyphs):
    assert glyphs_for(encoding) is glyphs


@given(prompts, prompts, st.integers(40, 80))
def test_any_chart_fits(straight, compacted, width):
    text = draw(Chart("t", straight, compacted, "a" * 200, "b"), width=width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    assert len(lines) <= 19
    assert set("".join(plot(text, UNICODE))) - {" "}


@given(prompts, prompts)
def test_any_svg_is_well_formed_and_stays_inside(straight, compacted):
    root = ET.fromstring(svg(Chart("t", straight, compacted, "a", "b")))
    _, _, wide, high = map(float, root.attrib["viewBox"].split())
    for line in root.iter(f"{SVG}polyline"):
        for point in line.attrib["points"].split():
            x, y = map(float, point.split(","))
            assert 0 <= x <= wide
            assert 0 <= y <= high


def test_svg_shows_both_runs_cliffs_and_costs():
    root = ET.fromstring(svg(CHART))
    points = {
        line.attrib["class"]: len(line.attrib["points"].split())
        for line in root.iter(f"{SVG}polyline")
    }
    assert points == {"straight": 70, "compacted": 70}
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert {"Tokens", "straight: $2", "through Cuesta: $1", "150K", "50K", "0"} <= set(texts)
    assert len(list(root.iter(f"{SVG}path"))) == len(CLIFFS) + 1
    assert root.find(f"{SVG}title").text == "Tokens"


def test_svg_is_self_contained_and_escapes():
    text = svg(Chart('<&">', [1, 2], [1, 2], "<b>", "&"))
    root = ET.fromstring(text)
    assert root.find(f"{SVG}title").text == '<&">'
    assert text.count("http") == 1
    assert "prefers-color-scheme: dark" in text


def test_higher_prompts_are_drawn_higher():
    root = ET.fromstring(svg(CHART))
    (line,) = (p for p in root.iter(f"{SVG}polyline") if p.attrib["class"] == "straight")
    heights = [float(point.split(",")[1]) for point in line.attrib["points"].split()]
    assert heights == sorted(heights, reverse=True)
