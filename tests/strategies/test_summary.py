"""Where a summary is asked for: at the cliff's borders, one for all that was never written."""

from dataclasses import replace

from cases import CHECKING, Step, case, cliff, entry
from cases import decide as cliffs_decision
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.policy import profile
from cuesta.strategies.base import AskModel, Keep, Replace
from cuesta.strategies.registry import fallen
from cuesta.strategies.summary import SUMMARY_TOKENS, Summary

AT_10K = profile("default", threshold=10_000)
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
    return Summary().decide(case(steps, policy=AT_10K, **rest))


def written(*cliffs):
    """The ledger's entry behind cliffs whose summaries a model wrote."""
    return replace(entry(*cliffs, policy=AT_10K), strategy="summary")


def told(cut, border, **rest):
    return cliff(cut, border, threshold=10_000, digest="ab" * 32, summary=True, **rest)


def test_it_asks_where_a_cliff_would_fall_and_not_before():
    steps = [Step(2_000)] * 5
    assert isinstance(decide(steps[:4]), Keep)
    asked = decide(steps)
    assert isinstance(asked, AskModel)
    (last,) = asked.cliffs
    assert (last.cut, last.border, last.summary, last.external) == (2, 5, True, False)
    assert (last.digest, last.digest_tokens) == ("", SUMMARY_TOKENS)
    assert asked.reason.startswith("12000 over 10000 tokens")


def test_between_two_summaries_what_stands_stays():
    known = written(told(2, 5))
    same = decide([Step(1_500)] * 6, known=known)
    assert isinstance(same, Replace)
    assert (same.cliffs, same.new) == (known.cliffs, False)
    again = decide([Step(1_500)] * 6, known=known, answered=True)
    assert (again.cliffs, again.reason) == (known.cliffs, "retry")


def test_the_next_one_is_asked_for_behind_the_one_before():
    known = written(told(2, 5))
    asked = decide([Step(2_000)] * 7, known=known)
    assert isinstance(asked, AskModel)
    assert [(c.cut, c.border, c.digest) for c in asked.cliffs] == [(2, 5, "ab" * 32), (4, 7, "")]


def test_a_proxy_that_came_late_asks_for_one_summary_of_all():
    asked = decide([Step(2_000)] * 15)
    assert isinstance(asked, AskModel)
    (last,) = asked.cliffs
    assert last.external
    assert len(fallen(Summary(), case([Step(2_000)] * 15, policy=AT_10K))) > 2


def test_where_only_thinking_goes_nobody_is_asked():
    steps = [Step(500, thinks=100), Step(500, thinks=100), Step(500)]
    decision = decide(steps, model=CHECKING, known=written(), demand="")
    assert isinstance(decision, Keep)
    foreign = replace(written(), foreign=True)
    decision = decide(steps, model=CHECKING, known=foreign)
    assert isinstance(decision, Replace)
    assert (decision.cliffs[0].cut, decision.cliffs[0].summary) == (0, False)


def test_a_forced_epoch_of_the_same_cut_keeps_the_summary_that_stands():
    known = replace(written(told(2, 5)), foreign=True)
    decision = decide([Step(2_000)] * 5, known=known)
    assert isinstance(decision, Replace)
    (last,) = decision.cliffs
    assert (last.cut, last.external, last.summary) == (2, True, True)
    assert (last.digest, last.digest_tokens) == ("ab" * 32, told(2, 5).digest_tokens)


@given(STEPS)
def test_it_asks_only_for_what_a_cliff_could_fold(steps):
    decision = decide(steps)
    if isinstance(decision, AskModel):
        last = decision.cliffs[-1]
        assert 0 < last.cut < last.border <= len(steps)
        assert isinstance(cliffs_decision(steps, policy=AT_10K), Replace)
    else:
        assert isinstance(decision, Keep)
