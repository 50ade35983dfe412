"""What may be compared, what is kept apart, and that the order of records changes nothing."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_records import PRICE, run

from cuesta.experiments.groups import grouped
from cuesta.experiments.record import ERROR, Record
from cuesta.experiments.report import report

_SETTINGS = (("keep_all", 0), ("cliff", 8_000), ("summary", 8_000), ("cliff", 16_000))
_runs = st.builds(
    lambda setting, task, seed, prompts, resolved, window: run(
        *setting, task=task, seed=seed, prompts=prompts, resolved=resolved, window=window
    ),
    st.sampled_from(_SETTINGS),
    st.sampled_from("abc"),
    st.integers(0, 2),
    st.lists(st.integers(1, 9_000), min_size=1, max_size=5),
    st.booleans(),
    st.sampled_from((50_000, 100_000)),
)


@given(st.lists(_runs, max_size=25, unique_by=lambda one: (one.cell, one.window)), st.randoms())
def test_the_order_of_records_changes_nothing(records: list[Record], random) -> None:
    shuffled = list(records)
    random.shuffle(shuffled)
    assert report(shuffled).to_dict() == report(records).to_dict()


@given(st.lists(_runs, max_size=25, unique_by=lambda one: (one.cell, one.window)))
def test_every_setting_of_a_group_has_the_same_tasks_once_a_seed(records: list[Record]) -> None:
    found = grouped(records)
    counted = 0
    for group in found.groups:
        for setting in group.settings:
            for seed in setting.seeds:
                assert tuple(one.cell.task for one in seed) == group.tasks
                assert len({one.cell.seed for one in seed}) == 1
            assert {one.window for one in setting.runs} == {group.window}
            counted += len(setting.runs)
        counted += group.left_out
    assert counted == len(records)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"window": 50_000}, "effective window (50,000, 100,000)"),
        ({"spec": "t"}, "spec (s, t)"),
        ({"basis": "c"}, "settings of the runs (b, c)"),
        ({"price": replace(PRICE, output=5.0)}, "(1/4/0.1/1/1, 1/5/0.1/1/1)"),
        ({"price": replace(PRICE, cache_write_1h=2.0)}, "(1/4/0.1/1/1, 1/4/0.1/1/2)"),
    ],
)
def test_unlike_settings_stand_in_groups_of_their_own(other, why) -> None:
    records = [run("keep_all", 0), run("cliff", 8_000, **other)]
    found = report(records)
    assert [group.name for group in found.grouped.groups] == ["m-1 [a]", "m-1 [b]"]
    assert all(len(group.settings) == 1 for group in found.grouped.groups)
    (note,) = found.notes()
    assert why in note
    for row in found.tables[0].blocks[0].rows:
        full, cliff = row.cells[0], row.cells[2]
        assert full is None or cliff is None


def test_other_models_tasks_and_scaffolds_are_groups_without_a_letter() -> None:
    records = [
        run("cliff", 8_000),
        run("cliff", 8_000, model="m-2"),
        run("cliff", 8_000, scaffold="terminus-2", task_set="terminal-bench-2.0"),
    ]
    found = grouped(records)
    assert [group.mark for group in found.groups] == ["", "", ""]
    assert not found.apart


def test_tasks_that_a_setting_lacks_are_left_out_of_all() -> None:
    records = [run(s, t, task=task) for s, t in _SETTINGS[:2] for task in "abc"][:-1]
    (group,) = grouped(records).groups
    assert group.tasks == ("a", "b")
    assert group.left_out == 1
    (block,) = report(records).tables[0].blocks
    assert block.notes == (
        "over 2 tasks; 1 run left out, whose task or seed another setting lacks",
    )


def test_a_seed_that_has_only_begun_is_left_out_and_not_the_tasks() -> None:
    whole = [run(s, t, task=task) for s, t in _SETTINGS[:2] for task in "abcd"]
    begun = [run("cliff", 8_000, task="a", seed=1), run("cliff", 8_000, task="b", seed=1)]
    (group,) = grouped(whole + begun).groups
    assert group.tasks == ("a", "b", "c", "d")
    assert [len(setting.seeds) for setting in group.settings] == [1, 1]
    assert group.left_out == 2


def test_a_run_that_broke_counts_for_nothing_and_its_next_attempt_does() -> None:
    broken = run("cliff", 8_000, end=ERROR, resolved=None, prompts=(9_000,))
    other = run("cliff", 8_000, task="b", end=ERROR)
    again = run("cliff", 8_000, attempt=2)
    found = report([again, broken, other])
    (group,) = found.grouped.groups
    assert group.settings[0].runs == (again,)
    assert found.notes() == ["1 run ended in an error of its own and counts for nothing"]


def test_of_as_many_runs_the_choice_with_more_tasks_is_taken() -> None:
    records = [
        run("cliff", 8_000, task=task, seed=seed) for task, seed in (("a", 0), ("b", 0), ("a", 1))
    ]
    (group,) = grouped(records).groups
    assert group.tasks == ("a", "b")
    assert len(group.settings[0].seeds) == 1


def test_the_window_that_tells_a_scaffold_its_threshold_keeps_nothing_apart() -> None:
    native = [run("native", size, window=size + 8_000) for size in (16_000, 32_000)]
    (group,) = grouped([run("native", 0), run("cliff", 16_000), *native]).groups
    assert group.window == 100_000
    assert len(group.settings) == 4
    assert len(grouped(native).groups) == 1
    others = [run("cliff", 16_000), run("cliff", 16_000, window=50_000)]
    assert len(grouped(native + others).groups) == 3
    assert len(grouped([run("cliff", 16_000), replace(native[0], basis="c")]).groups) == 2
