"""The closed form finds the threshold that trying them all finds, where growth is constant."""

from dataclasses import replace
from math import inf, isclose

from hypothesis import assume, given
from hypothesis import strategies as st

from cuesta.core.policy import profile
from cuesta.lab.closed_form import Shape, base_of, floor_of, formula
from cuesta.lab.cost import CacheRules, engine, perfect
from cuesta.lab.replay import Step

CALLS = 1_500


def grown(shape, threshold):
    """Return the calls of a session that grows evenly and drops above a threshold."""
    steps, prompt, base = [], shape.base, round(shape.base)
    for call in range(CALLS):
        common, dropped = prompt - shape.growth, False
        if prompt > threshold:
            prompt = base + shape.slope * (prompt - base)
            common, dropped = shape.cached, True
        steps.append(Step(call, "m", round(prompt), round(max(common, 0)), 0, 0, cliff=dropped))
        prompt += shape.growth
    return steps


def cost(shape, threshold, extra):
    """Bill such a session by the model of the cache that its shape speaks of."""
    steps = grown(shape, threshold)
    bills = engine(steps, CacheRules()) if shape.cached else perfect(steps)
    billed = sum(b.input * shape.miss + b.cache_read * shape.hit for b in bills)
    again = sum(s.prompt * shape.hit + shape.growth * shape.miss for s in steps if s.cliff)
    return billed + extra * again


@st.composite
def shapes(draw):
    base = draw(st.integers(4_000, 40_000))
    growth = draw(st.integers(base // 80, base // 25))
    hit, times = draw(st.floats(0.1, 1)), draw(st.floats(5, 25))
    cached = draw(st.sampled_from([0.0, 0.5, 0.7])) * base
    return Shape(
        steps=CALLS,
        base=base,
        slope=draw(st.floats(0, 0.5)),
        growth=growth,
        cached=round(cached),
        miss=hit * times,
        hit=hit,
        step=base * hit + growth * hit * times,
    )


@given(shape=shapes(), extra=st.sampled_from([0, 1, 3, 5]))
def test_no_threshold_is_much_cheaper_than_the_closed_form(shape, extra):
    found = formula([shape], extra)
    # A drop comes up to one step late, which matters where an epoch has few.
    assume((found - shape.base) * (1 - shape.slope) >= 8 * shape.growth)
    tried = [shape.base + (found - shape.base) * 1.25**power for power in range(-6, 7)]
    assert cost(shape, found, extra) <= 1.02 * min(cost(shape, one, extra) for one in tried)


@given(shape=shapes())
def test_what_makes_a_cliff_dear_raises_the_threshold(shape):
    thresholds = [formula([shape], extra) for extra in (0, 1, 3, 5)]
    assert sorted(set(thresholds)) == thresholds
    assert formula([replace(shape, cached=0)], 0) >= formula([shape], 0)
    assert formula([replace(shape, miss=2 * shape.miss)], 0) > formula([shape], 0)


@given(shape=shapes(), extra=st.sampled_from([0, 3]), count=st.integers(2, 5))
def test_the_same_session_several_times_changes_nothing(shape, extra, count):
    assert isclose(formula([shape] * count, extra), formula([shape], extra))
    assert isclose(base_of([shape] * count), shape.base)


def test_the_formula_by_hand():
    shape = Shape(100, 25_000, 0.2, 900, 20_000, 3.0, 0.3, 10_000)
    # 2 x (10 - 1) x 900 x (25,000 - 20,000 + 3 x 10,000 / 2.7) / (1 - 0.04)
    assert round(formula([shape], 3)) == 41_489


def test_a_cache_for_nothing_never_drops_and_one_that_saves_nothing_always_does():
    shape = Shape(100, 25_000, 0.2, 900, 0, 3.0, 0.0, 10_000)
    assert formula([shape], 3) == inf
    assert formula([replace(shape, hit=3.0)], 0) == shape.base


def test_the_floor_is_head_tail_and_gap():
    assert floor_of(3_000, profile("default")) == 5_000
    assert floor_of(30_000, profile("default")) == 50_000
    assert floor_of(30_000, profile("paper")) == 30_000
