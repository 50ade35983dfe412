"""Tuning: the closed form beside the replayed optimum, the band, the floor, and when not to say."""

from dataclasses import replace

import pytest
from even_sessions import even_session

from cuesta.core.models import read_model, window_of
from cuesta.core.policy import WINDOW_SHARE, profile
from cuesta.core.prices import PriceBook
from cuesta.lab.closed_form import formula
from cuesta.lab.measured import Measured, Tuning
from cuesta.lab.prepared import prepare
from cuesta.lab.tune import Found, _plain, tune

TUNING = Tuning(PriceBook())


def only(*sessions, tuning=TUNING):
    (found,) = tune(sessions, tuning).groups
    return found


def replace_model(session, model):
    """Return a session that asked another model all along."""
    return replace(session, calls=tuple(replace(call, model=model) for call in session.calls))


@pytest.fixture(scope="module")
def long():
    """Six sessions that all grow far beyond what pays."""
    return [even_session(60 + 8 * n, 1_000 + 60 * n, name=str(n)) for n in range(6)]


@pytest.fixture(scope="module")
def tuned(long):
    return only(*long)


def test_the_closed_form_costs_little_more_than_the_replayed_optimum(tuned):
    assert len(tuned.answers) == 8
    for answer in tuned.answers:
        assert 1.0 <= answer.ratio <= 1.06, answer


def test_the_optimum_is_the_cheapest_of_all_that_were_replayed(tuned):
    for answer in tuned.answers:
        costs = [p.costs[answer.cache].total(answer.extra) for t, p in tuned.points.items() if t]
        assert answer.best_cost == min(costs)


def test_the_band_holds_what_costs_little_more_and_nothing_else(tuned):
    answer = tuned.answer("engine", 3)
    for threshold, point in tuned.points.items():
        if answer.low <= threshold <= answer.high:
            assert point.costs["engine"].total(3) <= 1.03 * answer.best_cost
    assert answer.low <= answer.best <= answer.high


def test_the_advice_lies_in_the_band_and_not_under_the_floor(tuned):
    answer = tuned.answer("engine", 3)
    assert answer.low <= tuned.advice <= answer.high
    assert tuned.advice >= tuned.floor
    assert tuned.advice % 1_000 == 0


def test_an_engine_that_keeps_the_head_drops_earlier_than_the_papers_cache(tuned):
    for extra in TUNING.extras:
        assert tuned.answer("engine", extra).formula < tuned.answer("perfect", extra).formula


def test_with_nothing_looked_up_again_the_engine_optimum_sits_at_the_floor(tuned):
    pure = tuned.answer("engine", 0)
    assert pure.at_floor
    assert not tuned.answer("engine", 3).at_floor
    cliffs = [tuned.points[tuned.answer("engine", extra).best].cliffs for extra in TUNING.extras]
    assert cliffs == sorted(cliffs, reverse=True)


def test_ever_fewer_sessions_cross_ever_higher_thresholds(tuned):
    points = [point for threshold, point in tuned.points.items() if threshold]
    crossed = [point.crossed for point in points]
    assert crossed == sorted(crossed, reverse=True)
    assert (crossed[0], crossed[-1]) == (6, 0)
    assert points[0].worth == pytest.approx(tuned.worth)
    assert points[-1].worth == 0


def backwards(function, tasks):
    """Run a function over sessions, the last one first."""
    return [(number, function(task)) for number, task in reversed([*enumerate(tasks)])]


def test_the_same_sessions_give_the_same_answer_whoever_is_faster(long, tuned):
    assert tune(long, TUNING, run=backwards).groups == (tuned,)


def test_a_session_costs_the_same_whatever_it_is_measured_with(long):
    measured = Measured(prepare(long[0]), TUNING)
    together = measured.points([0, 30_000, 60_000])
    assert {t: measured.points([t])[t] for t in together} == together


def test_from_the_top_on_nothing_is_dropped(long):
    measured = Measured(prepare(long[0]), TUNING)
    points = measured.points([measured.top - 1_000, measured.top])
    assert [point.cliffs for point in points.values()] == [1, 0]


def test_a_cliff_costs_its_extra_steps_and_nothing_else():
    point = Measured(prepare(even_session(40)), TUNING).points([45_000])[45_000]
    cost = point.costs["perfect"]
    # A sonnet's step from a base of 23 to 30 thousand tokens: cached, 900 new ones, 60 answered.
    least = (23_000 * 0.3 + 900 * 3 + 60 * 15) / 1e6
    most = (30_000 * 0.3 + 900 * 3 + 60 * 15) / 1e6
    assert point.cliffs == 1
    assert least < cost.again < most
    assert cost.total(3) == cost.billed + 3 * cost.again


def test_short_sessions_have_no_shape_and_no_advice():
    found = only(even_session(4), even_session(6))
    assert found.shapes == {}
    assert found.advice is None
    answer = found.answer("engine", 3)
    assert (answer.high, answer.formula, answer.ratio) == (None, None, 1)


def test_a_session_without_a_call_is_no_session():
    assert tune([even_session(0)], TUNING) == Found((), ())


def test_one_call_is_a_session():
    found = only(even_session(1))
    assert (found.sessions, found.calls, found.advice) == (1, 1, None)


def test_a_session_that_cannot_be_read_is_named_and_costs_no_other():
    broken = replace(even_session(3, name="broken"), messages=(b"[]",) * 7)
    found = tune([broken, even_session(5)], TUNING)
    assert [one.sessions for one in found.groups] == [1]
    assert [reason.split(":")[0] for reason in found.refused] == ["made-up broken"]


def test_a_task_may_hold_several_sessions(long):
    halves = [long[:1], long[1:2]]
    assert tune(halves, TUNING, read=iter) == tune(long[:2], TUNING)


def test_groups_are_told_apart_by_harness_and_by_model():
    sessions = [
        even_session(30, harness="b"),
        even_session(30, harness="a", model="claude-opus-5"),
        even_session(30, harness="a"),
    ]
    assert [found.name for found in tune(sessions, TUNING).groups] == ["a", "b"]
    by_model = tune(sessions, replace(TUNING, by_model=True)).groups
    names = ["a, claude-opus-5", "a, claude-sonnet-4-5", "b, claude-sonnet-4-5"]
    assert [found.name for found in by_model] == names


def test_where_never_dropping_is_cheaper_the_closed_form_says_never():
    found = only(even_session(28))
    never = found.points[found.top]
    for answer in found.answers:
        assert answer.formula_cost <= never.costs[answer.cache].total(answer.extra)
    # One cliff would fall just before the end, and cost more than what is left could save.
    assert formula(found.shapes["engine"], 5) < found.top
    assert found.answer("engine", 5).formula is None


@pytest.mark.parametrize("calls", [28, 35, 41])
def test_sessions_shorter_than_what_is_measured_at_have_a_shape_too(calls):
    found = only(even_session(calls))
    assert found.top < 2.5 * 23_000
    for cache in ("engine", "perfect"):
        assert found.answer(cache, 0).ratio <= 1.06
        assert found.answer(cache, 3).ratio <= 1.06


def test_sessions_without_a_price_are_counted_and_cost_no_other():
    known = even_session(5)
    unknown = [even_session(3, model=model) for model in ("gpt-oss", "gpt-oss", "")]
    found = tune([*unknown, known], TUNING)
    assert [one.sessions for one in found.groups] == [1]
    assert found.groups == tune([known], TUNING).groups
    named, nameless = found.unpriced.items()
    assert "`gpt-oss`" in named[0]
    assert named[1] == 2
    assert nameless == ("the file does not name the model", 1)
    assert tune(unknown, TUNING).groups == ()


def test_all_calls_can_be_billed_as_another_models(long):
    sessions = [replace_model(session, "claude-opus-4-5") for session in long[:2]]
    found = only(*sessions, tuning=replace(TUNING, model="claude-sonnet-4-5"))
    known = only(*long[:2])
    assert (found.answers, found.advice) == (known.answers, known.advice)
    assert (set(found.models), found.worth) == ({"claude-opus-4-5"}, known.worth)


def test_the_advice_leaves_room_in_the_window():
    long = even_session(110, growth=3_000, fixed=70_000)
    found = only(long)
    window = window_of(read_model(long.calls[0].model))
    assert found.answer("engine", 3).best > WINDOW_SHARE * window
    assert found.advice <= WINDOW_SHARE * window


@pytest.mark.parametrize(
    ("tokens", "low", "high", "said"),
    [(48_063, 36_000, 50_000, 48_000), (12_254, 12_200, 26_000, 13_000),
     (12_700, 9_000, 12_900, 12_000), (12_254, 12_200, 12_900, 12_254),
     (5_407, 5_000, 9_000, 5_400)],
)  # fmt: skip
def test_a_threshold_is_said_in_two_figures_where_the_band_has_some(tokens, low, high, said):
    assert _plain(tokens, low, high) == said


def test_the_papers_profile_can_be_tuned_too(long):
    found = only(*long[:2], tuning=Tuning(PriceBook(), profile("paper")))
    assert found.answer("perfect", 3).ratio <= 1.06
