"""Two tiers: results are cleared first, and a summary is asked for where that is not enough."""

from dataclasses import replace
from itertools import pairwise

from cases import Step, case, cliff, entry
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.policy import profile
from cuesta.strategies.base import AskModel, Keep, Replace
from cuesta.strategies.micro_summary import MicroSummary
from cuesta.strategies.microcompaction import Microcompaction
from cuesta.strategies.registry import fallen

POLICY = replace(profile("default", threshold=10_000), reclaim_tokens=3_000)
STEPS = st.lists(
    st.builds(Step, tokens=st.integers(1_200, 3_000), reclaim=st.just(0) | st.integers(100, 1_000)),
    min_size=1,
    max_size=40,
)


def decide(steps, policy=POLICY, **rest):
    return MicroSummary().decide(case(steps, policy=policy, **rest))


def known(*cliffs):
    return replace(entry(*cliffs, policy=POLICY), strategy="micro_summary")


def test_results_go_first_and_no_model_is_asked_while_that_is_enough():
    steps = [Step(1_800, reclaim=1_700)] * 5
    decision = decide(steps)
    assert isinstance(decision, Replace)
    (last,) = decision.cliffs
    assert (last.cut, last.border, last.cleared, last.summary) == (0, 5, 2, False)


def test_past_the_threshold_all_the_same_it_asks():
    steps = [Step(2_000)] * 5
    asked = decide(steps)
    assert isinstance(asked, AskModel)
    (last,) = asked.cliffs
    assert (last.cut, last.border, last.summary) == (2, 5, True)


def test_a_clearing_behind_a_summary_keeps_it():
    stands = cliff(2, 5, threshold=10_000, digest="ab" * 32, summary=True)
    steps = [*[Step(2_000)] * 2, *[Step(1_000, reclaim=900)] * 7]
    decision = decide(steps, known=known(stands))
    assert isinstance(decision, Replace)
    assert decision.new
    (last,) = decision.cliffs
    assert (last.cut, last.cleared, last.border) == (2, 6, 9)
    assert (last.digest, last.summary, last.external) == ("ab" * 32, True, False)


@given(STEPS)
def test_it_clears_where_microcompaction_does_until_it_first_asks(steps):
    two = fallen(MicroSummary(), case(steps, policy=POLICY))
    one = fallen(Microcompaction(), case(steps, policy=POLICY))
    asked = next((i for i, c in enumerate(two) if c.cut), len(two))
    assert one[:asked] == two[:asked]


@given(STEPS)
def test_without_results_it_is_a_summary_with_room_to_grow(steps):
    bare = [replace(step, reclaim=0) for step in steps]
    cuts = [c.cut for c in fallen(MicroSummary(), case(bare, policy=POLICY))]
    assert cuts == sorted(set(cuts))
    sums = [sum(step.tokens for step in bare[:cut]) for cut in (0, *cuts)]
    assert all(b - a >= 2_500 for a, b in pairwise(sums))


def test_a_small_conversation_is_kept():
    assert isinstance(decide([Step(1_500)] * 3), Keep)
