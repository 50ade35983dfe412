"""Intervals, curves, and the table over probed sessions."""

import random

import lab_sessions
import pytest

from cuesta.lab.losses import BLIND, HEAD_ONLY, Loss, Probed, Probing, Table, bucket
from cuesta.lab.records import BASE, Variant
from cuesta.lab.rereads import STEPS, rereads
from cuesta.lab.resample import at_cost, interval, ratio

PAPER, OURS = Variant("cliff", 8_000, "paper"), Variant("cliff", 8_000, "default")
DEARER = Variant("cliff", 16_000, "paper")


def test_intervals_are_the_same_for_the_same_sessions_and_hold_the_value():
    draw = random.Random(1)
    lost = [draw.randrange(50) for _ in range(60)]
    calls = [draw.randrange(20, 90) for _ in range(60)]
    rate = ratio(lost, calls)
    low, high = interval(60, rate)
    assert interval(60, rate) == (low, high)
    assert low < rate(range(60)) < high


def test_one_session_has_no_interval_and_equal_ones_a_narrow_one():
    assert interval(1, ratio([1], [1])) is None
    assert interval(5, ratio([2] * 5, [4] * 5)) == (0.5, 0.5)
    assert interval(5, ratio([2] * 5, [0] * 5)) is None


def test_a_curve_is_read_at_the_least_it_reaches_for_the_money():
    curve = [(0.9, 10.0), (0.7, 30.0), (0.8, 40.0)]
    assert at_cost(curve, 0.6) is None
    assert at_cost(curve, 0.7) == at_cost(curve, 0.8) == 30.0
    assert at_cost(curve, 0.85) == pytest.approx(20.0)
    assert at_cost(curve, 2.0) == 10.0


def probed(lost, cost):
    cell = ("result", "path", "4-10")
    losses = {variant: Loss({cell: n}, cost[variant]) for variant, n in lost.items()}
    return Probed("a file", "an agent", 50, 100, {BASE: Loss({}, 1.0), **losses})


def test_rows_sum_over_sessions_and_compare_the_same_ones():
    cost = {PAPER: 0.5, OURS: 0.6, DEARER: 0.7}
    table = Table([probed({PAPER: 10, OURS: 6, DEARER: 4}, cost) for _ in range(3)])
    row = table.row(OURS, PAPER)
    assert (row.sessions, row.rate, row.change) == (3, 12.0, pytest.approx(-0.4))
    assert row.change_spread == pytest.approx((-0.4, -0.4))
    assert row.cost == pytest.approx(0.6)
    assert row.instead == pytest.approx(14.0)
    assert row.by_kind == {"path": 12.0}
    assert table.uses == 200


def test_a_variant_that_nobody_has_is_an_empty_row():
    assert Table([probed({}, {})]).row(OURS, PAPER).sessions == 0


def test_distances_fall_into_named_buckets():
    assert [bucket(n) for n in (1, 3, 4, 10, 11, 30, 31, 999)] == [
        "1-3", "1-3", "4-10", "4-10", "11-30", "11-30", "31+", "31+",
    ]  # fmt: skip


def test_a_session_is_probed_under_all_variants_at_once():
    steps = [(f"cat name_{n}_here", "text " * 400) for n in range(60)]
    prepared = lab_sessions.session([*steps, ("cat name_0_here", "ok")])
    one = Probing((BASE, PAPER, OURS), frozenset({OURS})).probe("a file", prepared)
    assert one.losses[BASE].count == 0
    assert one.losses[PAPER].count <= one.losses[HEAD_ONLY].count
    assert Variant("cliff", 8_000, BLIND) in one.losses
    assert 0 < one.losses[PAPER].cost < one.losses[BASE].cost


def test_files_read_again_are_counted_around_compactions():
    steps = [(f"cat src/file_{n % 15}.py", "text") for n in range(40)]
    quiet = lab_sessions.session(steps)
    assert list(rereads(quiet)) == []
    prepared = lab_sessions.session(steps, compactions=[15, 38])
    (one,) = rereads(prepared)
    assert (one.call, one.before, one.behind) == (15, 0, STEPS)


def test_what_writes_is_no_reading():
    steps = [("echo x > src/file.py", "text") for _ in range(30)]
    (one,) = rereads(lab_sessions.session(steps, compactions=[15]))
    assert (one.before, one.behind) == (0, 0)
