"""Clearings: old results go in batches of W, nothing else does, and the latest stay."""

from dataclasses import replace
from itertools import pairwise

from cases import CHECKING, PLAIN, Step, case, cliff, entry, transcript
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.policy import profile
from cuesta.exchange.view import sent_tokens
from cuesta.strategies.base import Keep, Replace
from cuesta.strategies.microcompaction import Microcompaction
from cuesta.strategies.registry import fallen

W = 5_000
POLICY = replace(profile("default", threshold=8_000), reclaim_tokens=W)
STEPS = st.lists(
    st.builds(
        Step,
        tokens=st.integers(1_200, 9_000),
        thinks=st.just(0) | st.integers(1, 900),
        pinned=st.sampled_from([False] * 9 + [True]),
        reclaim=st.just(0) | st.integers(100, 1_000),
    ),
    min_size=1,
    max_size=50,
)


def decide(steps, **rest):
    return Microcompaction().decide(case(steps, policy=POLICY, **rest))


def walked(steps, **rest):
    """Decide after each turn, each time with what the turn before left in the ledger."""
    known = None
    for border in range(1, len(steps) + 1):
        decision = decide(steps[:border], known=known, **rest)
        if isinstance(decision, Replace) and decision.new:
            known = replace(entry(*decision.cliffs, policy=POLICY), strategy="microcompaction")
        yield decision


def test_it_clears_once_w_tokens_have_piled_up_before_the_last_three_turns():
    steps = [Step(2_000, reclaim=1_000)] * 7
    waiting = decide(steps)
    assert isinstance(waiting, Keep)
    assert waiting.reason == "4000 of 5000 tokens of results to clear"
    (last,) = decide([*steps, steps[0]]).cliffs
    assert (last.cut, last.border, last.cleared, last.digest) == (0, 8, 5, "")
    again = decide([*steps, *steps[:5]], known=entry(last, policy=POLICY))
    assert not again.new
    (next_,) = decide([*steps, *steps[:6]], known=entry(last, policy=POLICY)).cliffs
    assert (next_.border, next_.cleared) == (13, 10)


def test_the_threshold_has_no_part_in_it():
    small = replace(POLICY, threshold=1_000)
    assert isinstance(
        Microcompaction().decide(case([Step(9_000)] * 20, policy=small)), Keep
    )  # fmt: skip


def test_a_call_that_is_open_holds_it_up():
    steps = [Step(2_000, reclaim=1_000)] * 8
    held = decide([*steps[:7], Step(2_000, open=True)])
    assert isinstance(held, Keep)
    assert held.reason == "a call is still open"


@given(STEPS, st.sampled_from([PLAIN, CHECKING]))
def test_no_turn_goes_and_what_is_sent_shrinks_by_w_at_least(steps, model):
    over = transcript(steps)
    known = []
    for border, decision in enumerate(walked(steps, model=model), start=1):
        if not isinstance(decision, Replace):
            continue
        (last,) = decision.cliffs
        assert (last.cut, last.digest) == (0, "")
        assert last.cleared == max(0, last.border - 3)
        if decision.new:
            assert last.border == border
            known.append(last)
    for before, after in pairwise(known):
        assert over.turns.reclaimed(before.cleared, after.cleared) >= W
        assert sent_tokens(over, after) + W <= sent_tokens(over, before)


@given(STEPS)
def test_a_proxy_that_came_late_clears_the_same(steps):
    for border, decision in enumerate(walked(steps), start=1):
        fresh = decide(steps[:border])
        assert (() if isinstance(fresh, Keep) else fresh.cliffs) == (
            () if isinstance(decision, Keep) else decision.cliffs
        )


@given(STEPS, st.sampled_from([PLAIN, CHECKING]))
def test_one_walk_tells_every_clearing_of_a_conversation(steps, model):
    seen = [d.cliffs[-1] for d in walked(steps, model=model) if isinstance(d, Replace) and d.new]
    told = fallen(Microcompaction(), case(steps, policy=POLICY, model=model))
    assert list(told) == seen or (model == CHECKING and told[-1].external)


def test_a_pinned_turn_keeps_its_results():
    steps = [Step(9_000, reclaim=8_000, pinned=True), *[Step(500)] * 9]
    assert isinstance(decide(steps), Keep)


def test_too_long_a_prompt_clears_whatever_there_is():
    steps = [Step(2_000, reclaim=1_000)] * 6
    (last,) = decide(steps, demand="the prompt was too long").cliffs
    assert (last.cleared, last.external) == (3, True)


def test_behind_a_cliff_in_force_it_clears_and_cuts_no_more():
    known = entry(cliff(2, 5, threshold=8_000), policy=POLICY)
    steps = [Step(2_000, reclaim=1_000)] * 10
    (last,) = decide(steps, known=known).cliffs
    assert (last.cut, last.cleared, last.external) == (2, 7, True)
    assert last.digest == known.cliffs[0].digest


def test_where_thinking_cannot_go_nothing_is_cleared():
    stuck = Step(2_000, thinks=100, only_thinks=True, reclaim=1_000)
    notice = Step(2_000, system=True, reclaim=1_000)
    steps = [notice, stuck, *[Step(2_000, reclaim=1_000)] * 8]
    held = decide(steps, model=CHECKING)
    assert isinstance(held, Keep)
    assert "thinking" in held.reason
