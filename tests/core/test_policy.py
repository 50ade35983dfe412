from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.errors import ConfigError
from cuesta.core.policy import PROFILES, Policy, automatic_threshold, ladder, profile


@pytest.mark.parametrize(
    "knobs",
    [
        {"keep_turns": 0},
        {"keep_turns": -3},
        {"signature_chars": -1},
        {"result_chars": -1},
        {"error_chars": -1},
        {"thought_chars": -1},
        {"human_chars": -1},
        {"notice_chars": -1},
        {"gap_tokens": -1},
        {"threshold": -1},
        {"human_share": 1.01},
        {"human_share": -0.01},
        {"gap_share": 2},
        {"gap_share": float("nan")},
    ],
)
def test_a_knob_out_of_its_range_is_refused(knobs: dict[str, float]):
    with pytest.raises(ConfigError):
        Policy("odd", **knobs)


@pytest.mark.parametrize("knobs", [{"keep_turns": 1}, {"human_share": 0}, {"gap_share": 1}])
def test_the_ends_of_the_ranges_are_allowed(knobs: dict[str, float]):
    assert Policy("edge", **knobs)


@pytest.mark.parametrize("name", list(PROFILES))
def test_a_policy_survives_as_plain_values(name: str):
    assert Policy.from_dict(profile(name).to_dict()) == profile(name)
    assert profile(name).name == name


def test_an_unknown_knob_is_named():
    with pytest.raises(ConfigError, match="keep_turnips"):
        Policy.from_dict({"name": "x", "keep_turnips": 3})


def test_an_unknown_profile_is_answered_with_the_known_ones():
    with pytest.raises(ConfigError, match="default, paper"):
        profile("papers")


def test_a_threshold_overrides_the_profiles_own():
    assert profile("paper").threshold == 32_000
    assert profile("paper", threshold=8_000).threshold == 8_000
    assert profile("default").threshold == 0
    with pytest.raises(ConfigError):
        profile("default", threshold=-1)


def test_the_paper_profile_holds_the_numbers_of_algorithm_1():
    paper = profile("paper")
    assert paper.keep_turns == 3
    assert paper.thought_chars == 300
    assert paper.signature_chars == 150
    assert paper.result_chars == paper.error_chars == 500
    assert paper.reasoning
    assert paper.head_to_first_human
    assert not paper.human_for_ever
    assert not paper.round_fixed


@pytest.mark.parametrize(
    ("head", "median_turn", "keep", "window", "threshold"),
    [
        (0, 0, 3, None, 32_000),
        (5_000, 2_000, 3, None, 32_000),
        (10_000, 1_000, 3, None, 32_500),
        (20_000, 4_000, 3, None, 80_000),
        (20_000, 4_000, 1, None, 60_000),
        (20_000, 2_500.5, 3, None, 68_753),
        (20_000, 4_000, 3, 200_000, 80_000),
        (40_000, 10_000, 3, 200_000, 120_000),
        (40_000, 10_000, 3, 1_000_000, 175_000),
        (0, 0, 3, 40_000, 24_000),
        (400_000, 50_000, 3, 1_000_000, 600_000),
    ],
)
def test_the_automatic_threshold_by_hand(head, median_turn, keep, window, threshold):
    assert automatic_threshold(head, median_turn, keep, window) == threshold


@given(st.integers(0, 10**6), st.floats(0, 10**6), st.integers(1, 9), st.integers(1, 2 * 10**6))
def test_a_known_window_only_ever_lowers_it_to_its_share(head, median_turn, keep, window):
    free = automatic_threshold(head, median_turn, keep, None)
    assert automatic_threshold(head, median_turn, keep, window) == min(free, int(0.6 * window))


@pytest.mark.parametrize("name", list(PROFILES))
def test_a_ladder_begins_with_the_policy_and_no_rung_keeps_more_than_the_one_before(name):
    rungs = ladder(profile(name))
    assert rungs[0] == profile(name)
    assert len(set(rungs)) == len(rungs) >= 2
    for mild, harsh in pairwise(rungs):
        before, after = mild.to_dict(), harsh.to_dict()
        sizes = [key for key in before if key.endswith("_chars")]
        assert all(after[key] <= before[key] for key in [*sizes, "keep_turns", "human_share"])
        same = {"name", "human_for_ever", "head_to_first_human", "round_fixed", "threshold"}
        assert {key: after[key] for key in same} == {key: before[key] for key in same}
