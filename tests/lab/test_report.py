"""The report: one page that loads nothing, says nothing of what was said, and stays small."""

import base64
import json
import re
import sys
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser

import pytest
from made_sessions import session

from cuesta.core.errors import ConfigError
from cuesta.core.prices import Price, PriceBook
from cuesta.lab.files import Outcome, Task
from cuesta.lab.prepared import prepare
from cuesta.lab.records import variants
from cuesta.lab.report import Collected, Report, html, need_drawing, write_figures
from cuesta.lab.report.collected import STEPS
from cuesta.lab.report.numbers import dollars, short, signed_percent
from cuesta.lab.report.rows import KINDS
from cuesta.lab.sweep import Sweep
from cuesta.lab.tally import tally

pytest.importorskip("vl_convert", reason="needs the extra: pip install 'cuesta[lab]'")

_BOOK = PriceBook({"claude-sonnet-4-5": Price(4, 20, 0.5, 5, 8)})
_NAMES = ("recorded", "keep_all", "cliff", "sliding_window", "microcompaction")
_VARIANTS = tuple(variants(_NAMES, [0, 2_000, 4_000], reclaims=[1_000]))
_EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&quot;'\u2028"
_FIGURES = {
    "context",
    "cost-by-step",
    "cost-by-threshold",
    "cost-by-size",
    "components",
    "activity",
    "steps",
}


def outcome(path, *sessions, problems=None, others=()):
    sweep = Sweep(_VARIANTS, _BOOK, traces=True)
    prepared = [prepare(one) for one in sessions]
    tallies = tuple(tally(path, one, _BOOK) for one in prepared)
    records = tuple(tuple(sweep.records(path, one)) for one in prepared)
    return Outcome(Task(path), tallies, records, problems or {}, others)


def report(*outcomes):
    collected = Collected()
    for one in outcomes:
        collected.add(one)
    return Report(collected, _VARIANTS)


@pytest.fixture(scope="module")
def outcomes():
    return [
        outcome(f"/home/somebody/runs/{n}.jsonl", session(n, turns=10 + 6 * n, name=f"s{n}"))
        for n in range(4)
    ]


@pytest.fixture(scope="module")
def page(outcomes):
    return html(report(*outcomes))


class _Page(HTMLParser):
    """Notes what a page would load, its scripts, and its data."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.loads, self.scripts, self.text = [], [], [], ""
        self._script = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.loads += [value for name, value in attributes if name in {"src", "href", "data"}]
        if tag == "script":
            self._script = dict(attributes).get("type", "run")
            self.scripts.append([self._script, ""])

    def handle_endtag(self, tag):
        if tag == "script":
            self._script = None

    def handle_data(self, data):
        if self._script is None:
            self.text += data
        else:
            self.scripts[-1][1] += data

    @property
    def data(self):
        return json.loads(self.scripts[0][1])


def test_the_page_loads_nothing_and_may_load_nothing(page):
    read = _Page(page)
    assert read.loads == []
    assert not {"link", "img", "iframe", "object", "embed"} & set(read.tags)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src &#x27;none&#x27;;")
    assert "http" not in policy
    assert "unsafe-eval" not in policy
    run = [text for kind, text in read.scripts if kind == "run"]
    allowed = re.findall(r"sha256-([\w+/=]+)", policy)
    assert allowed == [base64.b64encode(sha256(one.encode()).digest()).decode() for one in run]


def test_addresses_stand_only_in_what_draws(page):
    own = "".join(page.split(text)[0] for text in [_Page(page).scripts[1][1]])
    own += page.split(_Page(page).scripts[1][1])[1]
    assert "http" not in re.sub(r'http-equiv="', "", own)


def test_all_figures_are_there_with_something_to_draw(page, outcomes):
    data = _Page(page).data
    assert set(data["figures"]) == _FIGURES
    assert set(re.findall(r'data-figure="([^"]+)"', page)) == _FIGURES
    assert all(values for _, values in report(*outcomes).figures().values())


def test_it_says_what_a_replay_is_and_why_there_are_two_caches(page):
    text = " ".join(_Page(page).text.split())
    assert "A replay keeps the recorded steps." in text
    assert "Two models of the prefix cache." in text
    assert "stays cached across a cliff" in text


def test_names_of_any_kind_stay_text(outcomes):
    evil = outcome(
        f"/x/{_EVIL}.jsonl",
        session(9, turns=14, name=_EVIL),
        problems={_EVIL: 3},
        others=((f"/x/{_EVIL}", _EVIL),),
    )
    read, plain = _Page(html(report(evil))), _Page(html(report(outcomes[0])))
    assert set(read.tags) - set(plain.tags) <= {"li", "ul", "h3"}
    assert len(read.scripts) == len(plain.scripts)
    assert read.text.count("alert(1)") >= 3
    assert [text for kind, text in read.scripts if kind == "run"] == [
        text for kind, text in plain.scripts if kind == "run"
    ]


def test_nothing_that_was_said_and_no_folder_above_is_on_it(page):
    own = page.replace(_Page(page).scripts[1][1], "")
    for said in ("bravo", "src/core/parser.py", "Fix the parser", "test_merge"):
        assert said not in own
    assert "somebody" not in own
    assert "s3" in own


def test_the_order_of_reading_changes_nothing(outcomes, page):
    assert html(report(*outcomes)) == page
    turned = _Page(html(report(*reversed(outcomes)))).data
    assert turned["sessions"] == _Page(page).data["sessions"]
    assert turned["choices"] == _Page(page).data["choices"]


def many(count):
    """Return a report on so many sessions of one file."""
    one = outcome("/x/a.jsonl", session(1, turns=30))
    collected = Collected()
    for n in range(count):
        tallies = tuple(replace(told, session=f"{n}") for told in one.tallies)
        records = tuple(tuple(replace(r, session=f"{n}") for r in told) for told in one.records)
        collected.add(Outcome(one.task, tallies, records))
    return Report(collected, _VARIANTS)


def test_page_and_memory_do_not_grow_with_the_sessions():
    few, lots = many(20), many(300)
    assert len(few.sessions) == len(lots.sessions) <= 2
    assert lots.collected.files["/x/a.jsonl"].sessions == 300
    assert len(html(lots)) == pytest.approx(len(html(few)), rel=0.001)


def test_a_long_session_is_shown_in_part_with_its_cliffs():
    collected = report(outcome("/x/a.jsonl", session(1, turns=STEPS + 200, words=8))).collected
    (shown,) = collected.shown()
    assert len(shown.steps) <= STEPS
    assert shown.steps[0] == 0
    assert shown.steps[-1] == shown.calls - 1
    rarest = min(
        (line for line in shown.lines.values() if any(line.cliff)), key=lambda one: sum(one.cliff)
    )
    assert sum(rarest.cliff) > 0
    assert all(len(line.prompt) == len(shown.steps) for line in shown.lines.values())


def test_what_is_paid_for_sums_up_to_the_cost(outcomes):
    made = report(*outcomes)
    for row in made.table:
        spent = made.collected.spent().get(row.variant)
        if row.variant.strategy == "recorded":
            assert spent is None
        else:
            assert sum(spent.cached) + sum(spent.other) == pytest.approx(row.engine.cost)
            assert min(*spent.cached, *spent.other) >= -1e-9


def test_costs_by_step_sum_up_to_the_cost(outcomes):
    made = report(outcomes[2])
    (shown,) = made.collected.shown()
    for row in made.table:
        line = shown.lines[row.variant]
        micro = sum(c + o for c, o in zip(line.cached_cost, line.other_cost, strict=True) if o)
        assert micro / 1e6 == pytest.approx(row.engine.cost, abs=2e-6 * shown.calls)


def test_a_session_without_a_price_has_its_context_and_no_cost():
    made = report(outcome("/x/a.jsonl", session(1, turns=20, model="nobodys-model")))
    drawn = made.figures()
    assert drawn["context"][1]
    assert not drawn["cost-by-step"][1]
    assert "without a price" in html(made)


def test_what_the_harness_compacted_is_marked():
    made = report(outcome("/x/a.jsonl", replace(session(1, turns=20), compactions=(7, 15))))
    for name in ("context", "steps"):
        marks = [value["step"] for value in made.figures()[name][1] if value.get("compaction")]
        assert marks == [8, 16]
    assert made.collected.activity["made"].compactions == 2


def test_figures_become_pictures(tmp_path, outcomes):
    written = write_figures(report(outcomes[1]).figures(), tmp_path / "plots")
    assert {path.name for path in written} == {
        f"{name}.{kind}" for name in _FIGURES for kind in ("svg", "png")
    }
    for path in written:
        content = path.read_bytes()
        assert content.startswith(b"\x89PNG" if path.suffix == ".png" else b"<svg"), path
        assert len(content) > 2_000


def test_without_the_library_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(ConfigError, match=r"vl-convert-python: pip install 'cuesta\[lab\]'"):
        need_drawing()


def test_every_letter_has_a_name():
    assert len(set(KINDS.values())) == len(KINDS) == 6


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (0, "0"),
        (950, "950"),
        (999.6, "1K"),
        (16_000, "16K"),
        (31_449, "31.4K"),
        (333_047_929, "333M"),
    ],
)
def test_tokens_are_short(tokens, text):
    assert short(tokens) == text


def test_unknown_costs_are_no_zero():
    assert dollars(None) == signed_percent(None) != dollars(0.0)
