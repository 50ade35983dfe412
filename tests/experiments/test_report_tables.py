"""The paper's tables from made records, every number worked out by hand."""

import pytest
from made_records import run

from cuesta.experiments.contests import geometric_mean, oracle
from cuesta.experiments.groups import grouped
from cuesta.experiments.record import REFUSED, STEPS, WINDOW, Record
from cuesta.experiments.report import Report, report
from cuesta.experiments.spread import Unit, Value
from cuesta.experiments.tables import Block, Table

FULL, CLIFF = ("keep_all", 0), ("cliff", 2_500)


def table(found: Report, number: str) -> Table:
    return next(one for one in found.tables if one.number == number)


def numbers(block: Block) -> dict[tuple[str, ...], list[float | None]]:
    return {
        row.labels: [cell and pytest.approx(cell.mean) for cell in row.cells] for row in block.rows
    }


def _two_seeds(**more) -> list[Record]:
    """Full context: 3 of 4 resolved, and cliffs: 2 of 4."""
    outcomes = {FULL: ((1, 0), (1, 1)), CLIFF: ((1, 0), (0, 1))}
    prompts = {FULL: (1_000, 2_000, 3_000), CLIFF: (1_000, 2_000, 1_000)}
    return [
        run(*setting, task=task, seed=seed, resolved=bool(done), prompts=prompts[setting], **more)
        for setting, seeds in outcomes.items()
        for seed, tasks in enumerate(seeds)
        for task, done in zip("ab", tasks, strict=True)
    ]


def test_success_and_cost_by_threshold() -> None:
    # 3,000 new, 3,000 cached, 300 written: 3,000 + 300 + 1,200 millionths of a dollar; behind the
    # cliff all 1,000 are new: 3,000 new, 1,000 cached.
    found = table(report(_two_seeds()), "2")
    (block,) = found.blocks
    assert [(column.over, column.name) for column in block.columns] == [
        ("Full context", "% Resolved"), ("Full context", "Cost"),
        ("2,500", "% Resolved"), ("2,500", "Cost"),
    ]  # fmt: skip
    assert numbers(block) == {("m-1", "cliff"): [0.75, 0.0045, 0.5, 0.0043]}


def test_spread_is_that_of_the_seeds() -> None:
    (block,) = table(report(_two_seeds()), "2").blocks
    full, cost, cliff, _ = block.rows[0].cells
    assert full.seeds == (0.5, 1.0)
    assert full.deviation == pytest.approx(0.353553, rel=1e-5)
    assert full.to_dict() == {
        "unit": "percent", "mean": 0.75, "sd": full.deviation, "min": 0.5, "max": 1.0, "n": 2,
    }  # fmt: skip
    assert cliff.deviation == 0
    assert cost.deviation == 0
    assert Value((0.5,), Unit.PERCENT).deviation is None
    assert "over 2 seeds" in table(report(_two_seeds()), "2").notes[0]


def test_the_papers_benchmarks_stand_in_their_own_tables_and_own_tasks_in_all() -> None:
    swe = report(_two_seeds(task_set="swe-bench-verified", scaffold="openhands"))
    terminal = report(_two_seeds(task_set="terminal-bench-2.0", scaffold="terminus-2"))
    own = report(_two_seeds())
    assert {t.number for t in swe.tables if t.blocks} == {"3", "8", "10", "11", "13", ""}
    assert {t.number for t in terminal.tables if t.blocks} == {"2", "4", "8", ""}
    assert {t.number for t in own.tables if t.blocks} == {"2", "3", "4", "8", "10", "11", "13", ""}


def test_what_is_billed_and_found_in_the_cache() -> None:
    # 6,000 prompt tokens, half of them cached: 3,000 + 300 + 1,200; with a cliff 4,000 of which a
    # quarter is cached: 3,000 + 100 + 1,200.
    records = [run(*FULL), run(*CLIFF, prompts=(1_000, 2_000, 1_000), hits=0.25)]
    (block,) = table(report(records), "8").blocks
    change = 0.0043 / 0.0045 - 1
    assert numbers(block) == {("own", "m-1"): [0.0045, 0.5, 0.0043, change, 0.25]}


def test_wall_time_of_a_task_and_of_all() -> None:
    records = [run(*FULL, task=task, seconds=s) for task, s in (("a", 900.0), ("b", 700.0))]
    records += [run(*CLIFF, task=task, seconds=s) for task, s in (("a", 500.0), ("b", 300.0))]
    found = report(records)
    (wall,) = table(found, "10").blocks
    assert numbers(wall) == {("m-1",): [800, 400, -0.5, 0]}
    (whole,) = table(found, "11").blocks
    assert numbers(whole) == {("Full context",): [1600, None], ("2,500",): [800, 2.0]}


def test_best_of_k() -> None:
    # Of three runs task a is resolved by one, task b by all: 1 - C(2,2)/C(3,2) = 2/3 for k = 2.
    won = {"a": (True, False, False), "b": (True, True, True)}
    records = [
        run(*setting, task=task, seed=seed, resolved=done)
        for setting in (FULL, CLIFF)
        for task, seeds in won.items()
        for seed, done in enumerate(seeds)
    ]
    (group,) = grouped(records).groups
    assert [oracle(group.settings[1], k) for k in (1, 2, 3)] == pytest.approx([2 / 3, 5 / 6, 1])
    (block,) = table(report(records), "4").blocks
    cells = [[cell and cell.mean for cell in row.cells] for row in block.rows]
    assert [row.labels for row in block.rows] == [
        *[("m-1", "Full context")] * 3, *[("m-1", "cliff 2,500")] * 3
    ]  # fmt: skip
    assert cells[4] == [2, pytest.approx(4 * 0.0045), pytest.approx(2), None, pytest.approx(5 / 6)]
    assert cells[3] == [1, pytest.approx(2 * 0.0045), 1, pytest.approx(2 / 3), None]
    assert not {"Practical", "Gain"} & {column.name for column in block.columns}


def test_the_oracle_is_the_mean_over_all_choices_of_k_runs() -> None:
    # Two of four runs resolved: one of the six pairs has none of them, no three have none.
    runs = [run(*CLIFF, seed=seed, resolved=seed < 2) for seed in range(4)]
    (group,) = grouped(runs).groups
    assert [oracle(group.settings[0], k) for k in (1, 2, 3)] == pytest.approx([1 / 2, 5 / 6, 1])


def test_best_of_k_needs_two_seeds() -> None:
    found = table(report([run(*FULL), run(*CLIFF)]), "4")
    assert not found.blocks
    assert "two seeds or more" in found.to_dict()["needs"]


def test_strategies_are_compared_at_the_same_mean_peak_only() -> None:
    records = [
        run("cliff", 16_000, prompts=(10_000, 5_000)),
        run("summary", 16_000, prompts=(10_900, 5_000)),
        run("summary", 8_000, prompts=(4_000, 5_000)),
        run("sliding_window", 16_000, prompts=(12_000, 12_000)),
        run("sliding_window", 8_000, prompts=(8_500, 8_000)),
    ]
    (block,) = table(report(records), "6").blocks
    assert [row.labels for row in block.rows] == [("summary",), ("cliff",)]
    assert [row.cells[0].mean for row in block.rows] == [10_900, 10_000]
    (note,) = block.notes
    assert note == (
        "m-1: sliding_window is not compared: its nearest mean peak is 8.5K (threshold 8K), "
        "the cliff's 10.0K"
    )


def test_that_no_strategy_has_the_cliffs_budget_is_told() -> None:
    records = [run("cliff", 8_000, prompts=(7_000,)), run("summary", 8_000, prompts=(2_000,))]
    (block,) = table(report(records), "6").blocks
    assert [row.labels for row in block.rows] == [("cliff",)]
    assert "summary is not compared" in block.notes[0]
    assert not table(report(records[:1]), "6").blocks


def test_unlike_budgets_in_one_column_are_told() -> None:
    records = [
        run("cliff", 16_000, prompts=(10_000, 5_000)),
        run("summary", 16_000, prompts=(14_000, 5_000)),
    ]
    (block,) = table(report(records), "2").blocks
    assert "m-1 at 16K: mean peak contexts differ (cliff 10.0K, summary 14.0K)" in block.notes[1]


def test_kernels_are_compared_by_their_geometric_mean() -> None:
    # Best 4x, 0.1 where none is correct, and 25x clamped at 10x.
    made = {
        "a": [(0, True, 4.0), (3, True, 2.0)],
        "b": [(1, False, 0.0)],
        "c": [(2, True, 25.0), (4, True, 1.0), (5, True, 1.0)],
    }
    records = [
        run(
            *setting, task=task, kernels=kernels, resolved=None, task_set="kernelbench-l3",
            scaffold="kernels",
        )
        for setting in (("cliff", 128_000), ("summary", 128_000))
        for task, kernels in made.items()
    ]  # fmt: skip
    (block,) = table(report(records), "6").blocks
    assert [column.name for column in block.columns] == ["Mean peak", "Speedup", "Kernels", "Cost"]
    expected = geometric_mean([4, 0.1, 10])
    assert expected == pytest.approx(4 ** (1 / 3))
    assert [row.cells[1].mean for row in block.rows] == pytest.approx([expected, expected])
    assert block.rows[0].cells[2].mean == 2


def test_early_ends_and_their_median_step() -> None:
    ends = [(WINDOW, 3), (REFUSED, 5), (STEPS, 9), (WINDOW, 8)]
    records = [
        run("keep_all", 0, task=str(i), end=end, prompts=range(1_000, 1_000 + steps))
        for i, (end, steps) in enumerate(ends)
    ]
    (block,) = report(records).tables[-1].blocks
    assert [column.name for column in block.columns][-3:] == ["At limit", "Early", "Median step"]
    assert [cell.mean for cell in block.rows[0].cells][-3:] == [0.25, 0.75, 5]
    assert "effective window 100,000" in block.heading


def test_a_table_without_runs_says_which_it_needs() -> None:
    found = report([])
    assert [one.number for one in found.tables] == ["2", "3", "4", "6", "8", "10", "11", "13", ""]
    assert all(not one.blocks and one.to_dict()["needs"] for one in found.tables)
    assert set(found.wanting) == {"1", "3", "4", "5", "6", "7"}


def test_nothing_is_filled_in_where_it_is_not_known() -> None:
    records = [run(*FULL, resolved=None, price=None), run(*CLIFF, resolved=None, price=None)]
    found = report(records)
    assert not table(found, "2").blocks
    (block,) = table(found, "8").blocks
    assert [cell and cell.mean for cell in block.rows[0].cells] == [None, 0.5, None, None, 0.5]
    assert found.tables[-1].blocks[0].notes == (
        "2 of 2 runs: not checked, so that no success is told",
        "2 of 2 runs: without a price, so that no cost is told",
    )


def test_the_papers_costs_stand_beside_those_of_its_own_spec() -> None:
    paper = {"s": {"m-1 keep_all 0": 0.4, "m-1 cliff 2500": 0.24}, "t": {"m-1 cliff 2500": 9.0}}
    (block,) = table(report(_two_seeds(), paper), "2").blocks
    assert numbers(block)["m-1", "  the paper"] == [None, 0.4, None, 0.24]
    (block,) = table(report(_two_seeds(spec="u"), paper), "2").blocks
    assert len(block.rows) == 1


def test_success_is_not_told_of_a_setting_that_was_checked_in_part() -> None:
    records = [run(*CLIFF, task="a"), run(*CLIFF, task="b", resolved=None)]
    (block,) = table(report(records), "2").blocks
    assert block.rows[0].cells[2] is None
    assert block.rows[0].cells[3] is not None


def test_the_scaffolds_own_compaction_has_a_full_context_of_its_own() -> None:
    native = [run("native", 0, resolved=False), run("native", 16_000, resolved=False)]
    records = [run(*FULL), run("cliff", 16_000), *native]
    (block,) = table(report(records), "2").blocks
    full = {row.labels[-1]: row.cells[0].mean for row in block.rows}
    assert full == {"native": 0, "cliff": 1}
    assert "full context: the scaffold's own default" not in block.notes
    (block,) = table(report(records[1:]), "2").blocks
    assert {row.cells[0].mean for row in block.rows} == {0}
    assert "full context: the scaffold's own default" in block.notes
