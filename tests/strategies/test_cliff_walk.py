"""Properties of the walk over borders, over generated sizes and marks."""

from dataclasses import replace
from itertools import pairwise

from cases import CHECKING, PLAIN, Step, decide, entry, transcript
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.ledger import Cliff, Entry
from cuesta.core.policy import profile
from cuesta.strategies.base import Keep, Replace
from cuesta.strategies.walk import last_cut

_STEPS = st.lists(
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
_POLICIES = st.sampled_from(
    [
        profile("default"),
        profile("default", threshold=12_000),
        profile("paper", threshold=12_000),
        replace(profile("default"), keep_turns=1),
    ]
)


def _walked(steps: list[Step], **rest: object) -> list[tuple[bool, tuple[Cliff, ...]]]:
    """Decide after each turn, each time with what the turn before left in the ledger."""
    known: Entry | None = None
    seen = []
    for border in range(1, len(steps) + 1):
        decision = decide(steps[:border], known=known, **rest)
        if isinstance(decision, Keep):
            seen.append((False, ()))
            continue
        if decision.new:
            known = entry(*decision.cliffs, policy=rest["policy"])
        seen.append((decision.new, decision.cliffs))
    return seen


@given(_STEPS, _POLICIES, st.sampled_from([None, 40_000, 200_000]))
def test_a_proxy_that_saw_every_request_finds_the_cuts_of_one_that_saw_the_last(
    steps, policy, window
):
    seen = _walked(steps, policy=policy, window=window)
    for border, (_, cliffs) in enumerate(seen, start=1):
        fresh = decide(steps[:border], policy=policy, window=window)
        assert (() if isinstance(fresh, Keep) else fresh.cliffs) == cliffs


@given(_STEPS, _POLICIES)
def test_on_a_checking_model_a_late_proxy_differs_by_one_external_cliff_at_the_end(steps, policy):
    *_, (_, cliffs) = _walked(steps, policy=policy, model=CHECKING)
    fresh = decide(steps, policy=policy, model=CHECKING)
    found = () if isinstance(fresh, Keep) else fresh.cliffs
    if found != cliffs:
        assert found[-1].external
        assert found[-1].border == len(steps)
        assert found[:-1] == cliffs[: len(found) - 1]


@given(_STEPS, _POLICIES, st.sampled_from([PLAIN, CHECKING]))
def test_cliffs_go_forward_with_room_to_grow_and_no_cut_crosses_a_barrier(steps, policy, model):
    over = transcript(steps)
    for new, cliffs in _walked(steps, policy=policy, model=model):
        assert not new or cliffs
        for before, after in pairwise(cliffs):
            assert before.cut < after.cut <= after.border
            added = sum(turn.tokens for turn in over.turns[before.border : after.border])
            gap = max(policy.gap_tokens, int(policy.gap_share * before.threshold))
            assert added >= gap
        if cliffs:
            assert cliffs[-1].cut <= last_cut(over, cliffs[-1].border)
            assert cliffs[-1].border - cliffs[-1].cut >= min(policy.keep_turns, 1)
            assert not any(c.external for c in cliffs)


@given(_STEPS, _POLICIES, st.data())
def test_a_cliff_makes_it_smaller(steps, policy, data):
    border = data.draw(st.integers(1, len(steps)))
    decision = decide(steps[:border], policy=policy)
    if isinstance(decision, Replace) and decision.new:
        last = decision.cliffs[-1]
        turns = transcript(steps).turns[: last.cut]
        folded = sum(turn.tokens for turn in turns if not turn.pinned)
        assert last.digest_tokens < folded


def test_a_cliff_that_a_grown_turn_moved_is_marked():
    # A cliff falls at the seventh turn. Before the model answers, the person says more: the turn
    # grows, and with it the median that a fresh proxy would fix the threshold of that epoch by.
    sizes = [15_000, 9_000, 6_000, 9_000, 15_000, 15_000, 9_000, 12_000, 15_000]
    steps = [Step(size) for size in sizes]
    first = decide(steps[:7])
    assert isinstance(first, Replace)
    steps[6] = Step(9_000, said=7_000)
    live = decide(steps, known=entry(*first.cliffs))
    fresh = decide(steps)
    assert isinstance(live, Replace)
    assert isinstance(fresh, Replace)
    assert live.cliffs == fresh.cliffs or live.cliffs[-1].external
