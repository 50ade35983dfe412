"""The paper's figures from made records: their rows by hand, their files and their page."""

import csv
import json
import math
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_records import PRICE, perfect, run

from cuesta.experiments.figures import Figure, step_costs
from cuesta.experiments.page import html, write_all
from cuesta.experiments.record import Record
from cuesta.experiments.report import Report, report

PROMPTS = (1_000, 2_000, 1_000)


def rows(found: Report, number: str) -> list[dict]:
    (one,) = [figure for figure in found.figures if figure.number == number]
    return one.rows


def everything() -> list[Record]:
    """One record a strategy, with whatever a figure may draw."""
    kernels = {"keep_all": [(0, True, 2.0)], "cliff": [(1, True, 1.0), (2, True, 4.0)]}
    own = [
        run("keep_all", 0, kinds="ree"),
        run("cliff", 2_000, kinds="rRt", prompts=PROMPTS, resolved=False),
        run("summary", 2_000, kinds="rrt", prompts=(1_000, 2_000, 900)),
    ]
    problems = [
        run(
            name, 2_000 * (name == "cliff"), kernels=made, prompts=PROMPTS, resolved=None,
            task_set="kernelbench-l3", scaffold="kernels",
        )
        for name, made in kernels.items()
    ]  # fmt: skip
    return own + problems


def test_success_by_cost() -> None:
    points = rows(report(everything()), "1")
    assert [(one["strategy"], one["threshold"], one["resolved"]) for one in points] == [
        ("keep_all", 0, 1), ("summary", 2_000, 1), ("cliff", 2_000, 0),
    ]  # fmt: skip
    assert points[0]["cost"] == pytest.approx(0.0045)


def test_a_cliffs_prompts_and_costs_by_step() -> None:
    found = report([run("cliff", 2_000, prompts=PROMPTS)])
    assert [row["tokens"] for row in rows(found, "5")] == list(PROMPTS)
    # 1,000 new; 1,000 new and 1,000 cached; 1,000 new behind the cliff; each with 100 written.
    costs = [(row["cached"], row["total"]) for row in rows(found, "4")]
    expected = [(0, 0.0014), (0.0001, 0.0015), (0, 0.0014)]
    assert costs == [pytest.approx(one) for one in expected]


@given(st.lists(st.integers(1, 90_000), min_size=1, max_size=30), st.data())
def test_steps_cost_together_what_the_run_did(prompts, data) -> None:
    record = run("summary", 2_000, prompts=prompts)
    ours = (*(data.draw(st.booleans()) for _ in prompts[1:]), False)
    record = replace(record, calls=replace(record.calls, ours=ours))
    costs = step_costs(record)
    assert len(costs) == ours.count(False)
    assert math.fsum(map(sum, costs)) == pytest.approx(record.perfect_cost)
    cached = PRICE.cost(replace(record.perfect, input=0, output=0))
    assert math.fsum(part for part, _ in costs) == pytest.approx(cached)


def test_conversations_beside_each_other_are_not_priced_step_by_step() -> None:
    prompts = (10_000, 500, 10_500, 600)
    threads = perfect(prompts[::2], (100, 100)) + perfect(prompts[1::2], (100, 100))
    record = run("cliff", 20_000, prompts=prompts)
    assert step_costs(replace(record, perfect_cost=PRICE.cost(threads))) == []
    assert step_costs(replace(record, price=None)) == []


def test_steps_beyond_full_context_by_what_they_do() -> None:
    more = {(row["strategy"], row["kind"]): row["more"] for row in rows(report(everything()), "6")}
    assert more["cliff", "all"] == more["summary", "all"] == 0
    assert more["cliff", "read again"] == 1
    assert more["cliff", "edit"] == -2
    assert more["summary", "read"] == 1
    assert more["summary", "test"] == 1


def test_steps_are_compared_over_tasks_of_which_all_tell_them() -> None:
    told = [
        run(*setting, task=task, kinds=kinds)
        for setting, kinds in ((("keep_all", 0), "ree"), (("cliff", 2_500), "rRe"))
        for task in "ab"
    ]
    told.append(run("cliff", 2_500, task="c"))
    told.append(run("keep_all", 0, task="c", kinds="eee"))
    told.append(run("summary", 2_500, task="a"))
    found = report([*told, *(run("summary", 2_500, task=task) for task in "bc")])
    (figure,) = [one for one in found.figures if one.number == "6"]
    assert figure.title.endswith("steps beyond full context, over 2 of 3 tasks")
    more = {row["kind"]: row["more"] for row in figure.rows if row["strategy"] == "cliff"}
    assert (more["read again"], more["edit"], more["all"]) == (1, -1, 0)
    assert {row["strategy"] for row in figure.rows} == {"cliff"}


def test_speed_up_by_step_by_cost_and_by_kernel() -> None:
    found = report(everything())

    def curve(number: str, field: str) -> dict[str, list]:
        curves: dict[str, list] = {}
        for row in rows(found, number):
            curves.setdefault(row["strategy"], []).append((row[field], row["speedup"]))
        return {name: [pytest.approx(one) for one in curve] for name, curve in curves.items()}

    assert curve("3a", "step") == {
        "keep_all": [(1, 2), (2, 2), (3, 2)], "cliff": [(1, 0.1), (2, 1), (3, 4)]
    }  # fmt: skip
    costs = [0.0014, 0.0029, 0.0043]
    assert curve("3b", "cost")["cliff"] == list(zip(costs, [0.1, 1, 4], strict=True))
    assert curve("7", "kernel") == {"keep_all": [(1, 2)], "cliff": [(1, 1), (2, 4)]}


def test_figures_that_are_not_there_say_what_they_need() -> None:
    found = report([run("cliff", 2_000, price=None)])
    assert {figure.number for figure in found.figures} == {"5"}
    assert set(found.wanting) == {"1", "3", "4", "6", "7"}


def test_each_figure_is_written_as_pictures_and_as_numbers(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert", reason="figures are drawn by cuesta[lab]")
    found = report(everything())
    written = write_all(found, tmp_path)
    assert Counter(path.suffix for path in written) == dict.fromkeys(
        (".svg", ".png", ".csv", ".json"), len(found.figures)
    )
    assert {figure.number for figure in found.figures} == {"1", "3a", "3b", "4", "5", "6", "7"}
    for figure in found.figures:
        _check(figure, tmp_path)


def _check(figure: Figure, folder: Path) -> None:
    assert json.loads((folder / f"{figure.name}.json").read_text())["rows"] == figure.rows
    with (folder / f"{figure.name}.csv").open(newline="") as lines:
        assert len(list(csv.DictReader(lines))) == len(figure.rows)
    assert (folder / f"{figure.name}.png").read_bytes().startswith(b"\x89PNG")


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.asked: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        self.tags[tag] += 1
        self.asked += [value for name, value in attrs if name in {"src", "href"} and value]


def test_the_page_stands_alone_and_runs_nothing() -> None:
    pytest.importorskip("vl_convert", reason="figures are drawn by cuesta[lab]")
    found = report(
        [*everything(), run("cliff", 2_000, model="<img src=x>"), run("cliff", 1_000, spec="t")]
    )
    page = _Page()
    page.feed(text := html(found, "a <b>"))
    assert not page.tags["script"] + page.tags["img"] + page.tags["link"] + page.tags["b"]
    assert not page.asked
    assert page.tags["figure"] == len(found.figures)
    assert "Kept apart" in text
