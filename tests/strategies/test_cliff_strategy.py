import hashlib
from dataclasses import replace

import pytest
from cases import (
    CHECKING,
    DIGEST_TOKENS,
    PLAIN,
    Step,
    case,
    cliff,
    entry,
    kept,
    replaced,
    transcript,
)

from cuesta.core.ledger import Cliff
from cuesta.core.policy import profile
from cuesta.core.transcript import Outline, Role, read_transcript
from cuesta.strategies.base import Keep, Replace
from cuesta.strategies.cliff import CliffStrategy
from cuesta.strategies.walk import last_cut, safe_cut

_AT_10K = profile("default", threshold=10_000)


def _steps(*sizes: int) -> list[Step]:
    return [Step(size) for size in sizes]


def _only(decision: Replace) -> Cliff:
    assert len(decision.cliffs) == 1
    return decision.cliffs[0]


# Where a cliff falls. Head and fixed part take 2,000 tokens.


def test_a_context_at_its_threshold_is_kept_and_one_token_more_is_dropped():
    at = _steps(1_000, 1_000, 1_000, 1_000, 4_000)
    decision = kept(at, policy=_AT_10K)
    assert decision.reason == "10000 of 10000 tokens"
    assert decision.threshold == 10_000
    over = _only(replaced([*at[:-1], Step(4_001)], policy=_AT_10K))
    assert (over.cut, over.border, over.threshold, over.external) == (2, 5, 10_000, False)


def test_it_keeps_the_last_turns_and_renders_all_before_them():
    found = _only(replaced(_steps(*[2_000] * 5), policy=_AT_10K))
    assert (found.cut, found.border) == (2, 5)
    assert found.digest == hashlib.sha256(b"0 2 10000").hexdigest()
    assert found.digest_tokens == DIGEST_TOKENS
    assert (found.fixed, found.family, found.strip) == (1_000, PLAIN, False)
    one = replace(_AT_10K, keep_turns=1)
    assert _only(replaced(_steps(*[2_000] * 5), policy=one)).cut == 4


def test_the_next_digest_begins_at_the_last_cut_and_the_size_is_that_of_what_is_sent():
    # Cliff at border 5 (12,000): head 2,000 + digest 100 + 3 turns of 2,000 = 8,100.
    # Border 6: 10,100 > 10,000, and 2,000 tokens are new; the gap is 2,500. Border 7: 12,100.
    decision = replaced(_steps(*[2_000] * 7), policy=_AT_10K)
    assert [(c.cut, c.border) for c in decision.cliffs] == [(2, 5), (4, 7)]
    assert decision.cliffs[-1].digest == hashlib.sha256(b"2 4 10000").hexdigest()
    assert decision.new
    assert decision.reason.startswith("12100 over 10000 tokens")


def test_the_automatic_threshold_is_fixed_at_the_border_that_passes_the_floor():
    # Borders: 12, 22, 32, 42 thousand. At border 4: 2.5 * (2,000 + 3 * 10,000) = 80,000.
    four = _steps(*[10_000] * 4)
    assert kept(four[:3]).threshold == 0
    assert kept(four).threshold == 80_000
    # Small turns that come later do not lower the threshold of this epoch.
    small = [*four, *_steps(*[1_000] * 38)]
    assert kept(small).threshold == 80_000
    over = _only(replaced([*small, Step(1_000)]))
    assert (over.cut, over.border) == (40, 43)
    # The epoch that opens there goes by the turns so far, whose median is 1,000.
    assert over.threshold == 32_000


def test_a_known_window_caps_the_automatic_threshold():
    assert kept(_steps(*[10_000] * 4), window=100_000).threshold == 60_000
    found = _only(replaced(_steps(*[10_000] * 6), window=100_000))
    assert (found.border, found.threshold) == (6, 60_000)


def test_a_small_conversation_has_no_threshold_yet():
    decision = kept(_steps(500))
    assert (decision.reason, decision.threshold) == ("2500 of 32000 tokens", 0)


# Why a cliff does not fall.


def test_no_turn_and_no_user_message_are_kept():
    assert kept([]).reason == "no turn yet"
    outlines = [Outline(b"a", Role.ASSISTANT, 90_000), Outline(b"u", Role.USER, 90_000)]
    headless = replace(case([]), transcript=read_transcript(outlines))
    decision = CliffStrategy().decide(headless)
    assert isinstance(decision, Keep)
    assert "no user message" in decision.reason


def test_no_cliff_while_a_call_is_open_and_it_falls_once_it_is_answered():
    steps = _steps(*[2_000] * 4)
    waiting = kept([*steps, Step(3_000, open=True)], policy=_AT_10K)
    assert waiting.reason == "a call is still open"
    assert _only(replaced([*steps, Step(3_000)], policy=_AT_10K)).border == 5


@pytest.mark.parametrize(("added", "falls"), [(2_499, False), (2_500, True)])
def test_no_cliff_before_a_quarter_of_the_threshold_is_new(added: int, falls: bool):
    known = entry(cliff(2, 5, threshold=10_000), policy=_AT_10K)
    steps = [*_steps(*[3_000] * 5), Step(added)]
    decision = replaced(steps, policy=_AT_10K, known=known)
    assert decision.new is falls
    if not falls:
        assert decision.cliffs == known.cliffs
        assert decision.reason == "2499 of 2500 tokens since the last cliff"


@pytest.mark.parametrize(("added", "falls"), [(1_999, False), (2_000, True)])
def test_no_cliff_before_2000_tokens_are_new_however_small_the_threshold(added, falls):
    policy = profile("default", threshold=5_000)
    known = entry(cliff(2, 5, threshold=5_000), policy=policy)
    decision = replaced([*_steps(*[3_000] * 5), Step(added)], policy=policy, known=known)
    assert decision.new is falls


def test_paper_has_no_gap():
    policy = profile("paper", threshold=10_000)
    known = entry(cliff(2, 5, threshold=10_000), policy=policy)
    assert replaced([*_steps(*[3_000] * 5), Step(50)], policy=policy, known=known).new


def test_nothing_to_fold_is_kept():
    assert kept(_steps(9_000, 9_000, 9_000), policy=_AT_10K).reason == "nothing to fold"


def test_no_cut_crosses_a_barrier():
    steps = [Step(2_000), Step(2_000), Step(2_000, barrier=True), *_steps(*[2_000] * 5)]
    assert [last_cut(transcript(steps), wanted) for wanted in (-1, 1, 5)] == [0, 1, 2]
    found = replaced(steps, policy=_AT_10K).cliffs
    assert [c.cut for c in found] == [2]
    first = [Step(2_000, barrier=True), *_steps(*[2_000] * 7)]
    assert kept(first, policy=_AT_10K).reason == "nothing to fold"


def test_no_cut_stands_right_behind_an_open_turn():
    steps = [Step(2_000), Step(2_000), Step(2_000, open=True), *_steps(*[2_000] * 4)]
    assert last_cut(transcript(steps), 3) == 2
    assert last_cut(transcript(steps), 4) == 4
    assert last_cut(transcript([Step(9, open=True), Step(9, open=True)]), 2) == 0
    assert [c.cut for c in replaced(steps[:6], policy=_AT_10K).cliffs] == [2]


def test_a_pinned_turn_stays_and_weighs_under_every_later_cliff():
    steps = [Step(1_000), Step(3_000, pinned=True), *_steps(*[2_000] * 3)]
    found = _only(replaced(steps, policy=_AT_10K))
    assert (found.cut, found.border) == (2, 5)
    later = replaced([*steps, Step(2_500)], policy=_AT_10K, known=entry(found, policy=_AT_10K))
    sent = 2_000 + DIGEST_TOKENS + 3_000 + 3 * 2_000 + 2_500
    assert later.reason == f"{sent} over 10000 tokens, threshold is tight"


def test_a_pinned_turns_thinking_goes_too():
    steps = [Step(3_000, thinks=500, pinned=True), Step(1_000), *_steps(*[2_000] * 3)]
    found = _only(replaced(steps, policy=_AT_10K, model=CHECKING))
    assert (found.cut, found.strip) == (2, True)
    known = entry(found, policy=_AT_10K)
    later = replaced([*steps, Step(2_500)], policy=_AT_10K, model=CHECKING, known=known)
    sent = 2_000 + DIGEST_TOKENS + 2_500 + 3 * 2_000 + 2_500
    assert later.reason == f"{sent} over 10000 tokens, threshold is tight"


def test_a_fold_that_gains_nothing_does_not_fall():
    steps = [Step(60), Step(20), Step(20), Step(9_000)]
    decision = kept(steps, policy=replace(_AT_10K, gap_share=0))
    assert decision.reason == "folding would not make it smaller"
    grown = replaced([Step(140), Step(20), Step(20), Step(9_000)], policy=_AT_10K)
    assert _only(grown).cut == 1


def test_a_threshold_that_head_and_tail_nearly_fill_is_called_tight():
    tight = replaced(_steps(*[2_000] * 5), policy=_AT_10K)
    assert tight.reason == "12000 over 10000 tokens, threshold is tight"
    roomy = replaced(_steps(6_000, *[500] * 5), policy=_AT_10K)
    assert roomy.reason == "10500 over 10000 tokens"


# Served as stored.


def test_a_retry_is_served_as_stored():
    known = entry(cliff(2, 5, threshold=10_000), policy=_AT_10K)
    decision = replaced(_steps(*[2_000] * 5), policy=_AT_10K, known=known, answered=True)
    assert (decision.cliffs, decision.new, decision.reason) == (known.cliffs, False, "retry")
    untouched = kept(_steps(*[9_000] * 5), policy=_AT_10K, known=entry(), answered=True)
    assert untouched.reason == "retry"


def test_between_cliffs_the_last_one_stays_in_force():
    known = entry(cliff(2, 5))
    decision = replaced(_steps(*[2_000] * 6), known=known)
    assert (decision.cliffs, decision.new) == (known.cliffs, False)


def test_a_recorded_threshold_stands_for_its_epoch():
    known = entry(cliff(2, 5, threshold=50_000))
    decision = replaced(_steps(*[10_000] * 6), known=known)
    assert not decision.new
    assert decision.reason == "42100 of 50000 tokens"


def test_changed_options_count_from_the_next_border_and_make_the_cliff_external():
    known = entry(cliff(2, 5, threshold=60_000), policy=profile("default", threshold=60_000))
    steps = _steps(*[4_000] * 5)
    same = replaced(steps, policy=_AT_10K, known=known)
    assert (same.cliffs, same.new) == (known.cliffs, False)
    moved = replaced([*steps, Step(4_000)], policy=_AT_10K, known=known)
    assert moved.new
    assert [(c.cut, c.border, c.external) for c in moved.cliffs] == [(2, 5, False), (3, 6, True)]
    assert moved.cliffs[-1].threshold == 10_000


# What forces an epoch.


def test_a_turn_answered_behind_other_bytes_opens_an_epoch_of_the_same_cut():
    known = entry(cliff(2, 5, threshold=10_000), policy=_AT_10K, foreign=True)
    decision = replaced(_steps(*[2_000] * 5), policy=_AT_10K, known=known)
    assert "other bytes" in decision.reason
    assert decision.new
    found = _only(decision)
    assert (found.cut, found.border, found.external) == (2, 5, True)
    assert found.digest == known.cliffs[0].digest


def test_a_forced_epoch_folds_what_a_cliff_would_fold():
    known = entry(cliff(2, 5), foreign=True)
    decision = replaced(_steps(*[2_000] * 7), known=known)
    assert [(c.cut, c.border, c.external) for c in decision.cliffs] == [
        (2, 5, False),
        (4, 7, True),
    ]


def test_a_demand_before_the_first_cliff_folds_whatever_the_size():
    found = _only(replaced(_steps(*[500] * 5), demand="the prompt was too long"))
    assert (found.cut, found.border, found.external) == (2, 5, True)


def test_before_the_first_cliff_a_foreign_turn_takes_out_only_thinking():
    steps = [Step(500, thinks=100), Step(500, thinks=100), Step(500)]
    found = _only(replaced(steps, model=CHECKING, known=entry(foreign=True)))
    assert (found.cut, found.border, found.strip, found.external) == (0, 3, True, True)
    assert (found.digest, found.digest_tokens) == ("", 0)


def test_another_model_opens_an_epoch_and_the_same_one_under_another_name_does_not():
    known = entry(cliff(2, 5))
    steps = _steps(*[2_000] * 6)
    changed = replaced(steps, known=known, model="claude-opus-5")
    assert changed.new
    assert changed.cliffs[-1].family == "claude-opus-5"
    assert changed.cliffs[-1].external
    assert changed.reason == f"the model changed from {PLAIN}"
    for name in ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5@20250929"):
        assert not replaced(steps, known=known, model=name).new


def test_a_digest_that_renders_to_other_bytes_opens_an_epoch():
    decision = replaced(_steps(*[2_000] * 5), known=entry(cliff(2, 5)), demand="other bytes")
    assert decision.new
    assert decision.reason == "other bytes"
    assert _only(decision).external


def test_an_epoch_is_forced_although_a_call_is_open():
    steps = [*_steps(*[2_000] * 5), Step(2_000, open=True)]
    decision = replaced(steps, known=entry(cliff(2, 5), foreign=True))
    assert decision.new
    assert [(c.cut, c.border) for c in decision.cliffs] == [(2, 5), (3, 6)]


def test_even_a_retry_is_forced_into_an_epoch():
    steps = _steps(*[2_000] * 5)
    for known, why in (
        (entry(cliff(2, 5), foreign=True), {}),
        (entry(cliff(2, 5)), {"demand": "other bytes"}),
        (entry(cliff(2, 5)), {"model": "claude-opus-5"}),
    ):
        assert replaced(steps, known=known, answered=True, **why).new


# Thinking.


def test_only_models_that_check_prefixes_lose_the_thinking_of_the_kept_turns():
    steps = [Step(2_000, thinks=300)] * 5
    found = _only(replaced(steps, policy=_AT_10K, model=CHECKING))
    assert found.strip
    assert not _only(replaced(steps, policy=_AT_10K, model=PLAIN)).strip
    no_thoughts = [*steps[:2], *_steps(*[2_000] * 3)]
    assert not _only(replaced(no_thoughts, policy=_AT_10K, model=CHECKING)).strip


def test_stripped_thinking_weighs_nothing_and_new_thinking_does():
    stripped = cliff(2, 5, strip=True, family=CHECKING, threshold=20_000)
    policy = profile("default", threshold=20_000)
    steps = [*[Step(2_000, thinks=300)] * 5, Step(3_000, thinks=1_000)]
    decision = replaced(steps, known=entry(stripped, policy=policy), policy=policy, model=CHECKING)
    assert decision.reason == f"{2_000 + DIGEST_TOKENS + 3 * 1_700 + 3_000} of 20000 tokens"


def test_thinking_of_unknown_origin_behind_a_cliff_found_late_goes():
    steps = [Step(2_000, thinks=300)] * 6
    decision = replaced(steps, policy=_AT_10K, model=CHECKING)
    assert decision.reason == "thinking of unknown origin"
    assert [(c.border, c.external) for c in decision.cliffs] == [(5, False), (6, True)]
    assert decision.cliffs[-1].strip
    plain = replaced([*steps[:5], Step(2_000)], policy=_AT_10K, model=CHECKING)
    assert [(c.border, c.external) for c in plain.cliffs] == [(5, False)]


def test_a_message_of_thinking_only_behind_a_system_message_moves_the_cut():
    # The kept turns would read: system, (nothing), user. The provider refuses that list.
    steps = [
        *[Step(2_000, thinks=300)] * 2,
        Step(2_000, system=True),
        Step(2_000, thinks=300, only_thinks=True),
        Step(2_000, thinks=300),
    ]
    assert safe_cut(transcript(steps), 2, 5) == 4
    found = _only(replaced(steps, policy=_AT_10K, model=CHECKING))
    assert (found.cut, found.strip) == (4, True)
    assert _only(replaced(steps, policy=_AT_10K, model=PLAIN)).cut == 2


def test_a_message_of_thinking_only_elsewhere_moves_nothing():
    alone = [*[Step(2_000, thinks=300)] * 3, Step(2_000, thinks=300, only_thinks=True), Step(2_000)]
    assert safe_cut(transcript(alone), 2, 5) == 2
    folded = [Step(9, system=True), Step(9, thinks=1, only_thinks=True), *_steps(9, 9, 9)]
    assert safe_cut(transcript(folded), 2, 5) == 2
    assert safe_cut(transcript(folded), 1, 5) == 1
    assert safe_cut(transcript(folded), 0, 5) == 2


def test_where_no_cut_is_safe_no_cliff_falls():
    steps = [
        *[Step(2_000, thinks=300)] * 3,
        Step(2_000, system=True),
        Step(2_000, thinks=300, only_thinks=True),
    ]
    assert safe_cut(transcript(steps), 2, 5) is None
    decision = kept(steps, policy=_AT_10K, model=CHECKING)
    assert decision.reason == "the kept turns hold nothing but thinking"
