"""The window: as many of the last turns as fit, at every step."""

from dataclasses import replace

import pytest
from cases import CHECKING, PLAIN, Step, case, cliff, entry, transcript
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.policy import profile
from cuesta.strategies.base import Keep, Replace
from cuesta.strategies.registry import fallen
from cuesta.strategies.sliding_window import SlidingWindow

AT_10K = profile("default", threshold=10_000)
HEAD = 2_000
STEPS = st.lists(
    st.builds(
        Step,
        tokens=st.integers(1_200, 9_000),
        thinks=st.just(0) | st.integers(1, 900),
        barrier=st.sampled_from([False] * 19 + [True]),
        pinned=st.sampled_from([False] * 9 + [True]),
    ),
    min_size=1,
    max_size=40,
)


def decide(steps, **rest):
    return SlidingWindow().decide(case(steps, policy=AT_10K, **rest))


def walked(steps, **rest):
    """Decide after each turn, each time with what the turn before left in the ledger."""
    known = None
    for border in range(1, len(steps) + 1):
        decision = decide(steps[:border], known=known, **rest)
        if isinstance(decision, Replace) and decision.new:
            known = replace(entry(*decision.cliffs, policy=AT_10K), strategy="sliding_window")
        yield decision


def test_at_its_ceiling_it_keeps_all_and_one_token_more_drops_the_oldest_turn():
    at = [Step(2_000)] * 4
    assert isinstance(decide(at), Keep)
    (last,) = decide([*at[:3], Step(2_001)]).cliffs
    assert (last.cut, last.border, last.digest, last.digest_tokens) == (1, 4, "", 0)


@given(st.lists(st.integers(50, 9_000), min_size=1, max_size=40))
def test_it_keeps_the_longest_end_that_fits_and_the_last_turn_whatever_it_weighs(sizes):
    steps = [Step(max(size, 20)) for size in sizes]
    for border, decision in enumerate(walked(steps), start=1):
        weights = [step.tokens for step in steps[:border]]
        fitting = [c for c in range(border) if HEAD + sum(weights[c:]) <= 10_000]
        wanted = fitting[0] if fitting else border - 1
        assert (decision.cliffs[-1].cut if isinstance(decision, Replace) else 0) == wanted


@given(STEPS, st.sampled_from([PLAIN, CHECKING]))
def test_nothing_ever_stands_in_place_of_what_is_dropped(steps, model):
    over = transcript(steps)
    for decision in walked(steps, model=model):
        if isinstance(decision, Replace):
            (last,) = decision.cliffs
            assert (last.digest, last.digest_tokens) == ("", 0)
            assert last.cut < last.border
            assert not over.turns.sums.barriers[last.cut]
            assert last.strip == (
                model == CHECKING and any(t.thinks for t in over.kept(last.cut, last.border))
            )


@given(STEPS)
def test_a_proxy_that_came_late_finds_the_same_window(steps):
    for border, decision in enumerate(walked(steps), start=1):
        fresh = decide(steps[:border])
        assert (() if isinstance(fresh, Keep) else fresh.cliffs) == (
            () if isinstance(decision, Keep) else decision.cliffs
        )


@given(STEPS)
def test_one_walk_tells_every_drop_of_a_conversation(steps):
    seen = [d.cliffs[-1] for d in walked(steps) if isinstance(d, Replace) and d.new]
    assert list(fallen(SlidingWindow(), case(steps, policy=AT_10K))) == seen


def test_a_retry_is_served_as_stored_and_an_open_turn_waits():
    steps = [Step(2_000)] * 5
    known = entry(*decide(steps).cliffs, policy=AT_10K)
    again = decide(steps, known=known, answered=True)
    assert (again.cliffs, again.new) == (known.cliffs, False)
    waiting = decide([*steps, Step(2_000, open=True)], known=known)
    assert (waiting.cliffs, waiting.new, waiting.reason) == (
        known.cliffs, False, "a call is still open",
    )  # fmt: skip


def test_what_a_cliff_left_in_the_ledger_is_served_until_it_no_longer_fits():
    known = entry(cliff(2, 5, threshold=10_000), policy=AT_10K)
    same = decide([Step(1_500)] * 6, known=known)
    assert (same.cliffs, same.new) == (known.cliffs, False)
    moved = decide([Step(1_500)] * 8, known=known)
    (last,) = moved.cliffs
    assert (last.cut, last.border, last.digest, last.external) == (3, 8, "", True)


@pytest.mark.parametrize(("demand", "cut"), [("the prompt was too long", 6), ("", 5)])
def test_what_the_provider_found_too_long_keeps_the_last_turns_alone(demand, cut):
    steps = [Step(2_000)] * 9
    known = replace(
        entry(cliff(4, 8, digest="", threshold=10_000), policy=AT_10K), strategy="sliding_window"
    )
    (last,) = decide(steps, known=known, demand=demand).cliffs
    assert last.cut == cut
