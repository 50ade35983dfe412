from dataclasses import replace

import pytest

from cuesta.core.prices import Price, PriceBook
from cuesta.core.usage import Usage
from cuesta.trace.account import Account, without_cliffs
from cuesta.trace.event import TraceEvent

_OPUS = "claude-opus-5-5"  # input 4, output 20, read 0.2, write 5 and 8 dollars a million

# 100,000 tokens of history were sent as 20,000; the request before held 95,000.
_DROPPED = TraceEvent(
    at=1_000.0,
    conversation="c",
    dialect="anthropic",
    path="/v1/messages",
    model=_OPUS,
    action="replace",
    reason="",
    raw_tokens=100_000,
    sent_tokens=20_000,
    previous_raw_tokens=95_000,
    previous_at=900.0,
    status=200,
    usage=Usage(input=100, cache_read=15_000, cache_write_5m=4_900, output=500),
)


def test_without_a_cliff_the_previous_prompt_would_have_been_read_from_the_cache():
    assert without_cliffs(_DROPPED) == Usage(100, 95_000, 4_900, 0, 500)


def test_a_resumed_session_is_taken_to_have_had_the_rest_of_its_prompt_in_the_cache():
    resumed = replace(_DROPPED, previous_raw_tokens=0, previous_at=0.0)
    assert without_cliffs(resumed) == Usage(100, 95_000, 4_900, 0, 500)


def test_after_the_lifetime_all_of_it_would_have_been_written_again():
    late = replace(_DROPPED, previous_at=_DROPPED.at - 301)
    assert without_cliffs(late) == Usage(100, 0, 99_900, 0, 500)
    at_the_edge = replace(_DROPPED, previous_at=_DROPPED.at - 300)
    assert without_cliffs(at_the_edge) == Usage(100, 95_000, 4_900, 0, 500)


def test_an_hours_lifetime_is_told_by_the_bill():
    usage = Usage(input=100, cache_read=15_000, cache_write_1h=4_900, output=500)
    hour = replace(_DROPPED, usage=usage, previous_at=_DROPPED.at - 3_600)
    assert without_cliffs(hour) == Usage(100, 95_000, 0, 4_900, 500)
    late = replace(hour, previous_at=_DROPPED.at - 3_601)
    assert without_cliffs(late) == Usage(100, 0, 0, 99_900, 500)


def test_the_bill_scales_the_estimate():
    # The bill says 30,000 for an estimate of 20,000: the history held 150,000, before 142,500.
    usage = Usage(input=0, cache_read=22_500, cache_write_5m=7_500, output=1)
    assert without_cliffs(replace(_DROPPED, usage=usage)) == Usage(0, 142_500, 7_500, 0, 1)


def test_without_a_cache_every_token_is_input():
    bare = replace(_DROPPED, usage=Usage(input=20_000, output=500))
    assert without_cliffs(bare) == Usage(input=100_000, output=500)


@pytest.mark.parametrize(
    "event",
    [
        replace(_DROPPED, action="keep"),
        replace(_DROPPED, action="failed"),
        replace(_DROPPED, sent_tokens=0),
    ],
)
def test_an_untouched_request_gives_its_bill(event):
    assert without_cliffs(event) == event.usage


def test_a_request_that_was_not_made_smaller_never_saves_less_than_nothing():
    grown = replace(_DROPPED, raw_tokens=10_000, previous_raw_tokens=9_000)
    original = without_cliffs(grown)
    assert original is not None
    assert original.prompt == 20_000


def test_savings_by_hand():
    account = Account().add_all([_DROPPED])
    paid = (100 * 4 + 15_000 * 0.2 + 4_900 * 5 + 500 * 20) / 1e6
    raw = (100 * 4 + 95_000 * 0.2 + 4_900 * 5 + 500 * 20) / 1e6
    assert account.cost == pytest.approx(paid)
    assert account.saved == pytest.approx(raw - paid) == pytest.approx(0.016)
    assert account.avoided == 80_000
    assert account.paid == _DROPPED.usage


def test_a_cliff_itself_costs_more_than_it_saves_and_that_is_said():
    fell = replace(_DROPPED, usage=Usage(input=0, cache_write_5m=20_000), new_cliff=True)
    account = Account().add_all([fell])
    # 20,000 written at 5 dollars, against 95,000 read at 0.2 and 5,000 written.
    assert account.saved == pytest.approx((95_000 * 0.2 + 5_000 * 5 - 20_000 * 5) / 1e6)
    assert account.saved < 0
    assert account.cliffs == 1


def test_a_sum_over_several_requests():
    kept = replace(_DROPPED, action="keep", usage=Usage(input=1_000, output=100))
    account = Account().add_all([_DROPPED, kept, replace(_DROPPED, new_cliff=True)])
    assert (account.calls, account.cliffs, account.unread) == (3, 1, 0)
    assert account.avoided == 160_000
    told = account.to_dict()
    assert told["tokens"] == {
        "input": 1_200,
        "cache_read": 30_000,
        "cache_write": 9_800,
        "output": 1_100,
    }
    assert told["saved_usd"] == pytest.approx(0.032)


def test_an_unknown_model_is_unpriced_and_its_tokens_still_count():
    account = Account().add_all([replace(_DROPPED, model="kimi-k2.6"), _DROPPED])
    assert account.to_dict()["unpriced_models"] == ["kimi-k2.6"]
    assert account.saved == pytest.approx(0.016)
    assert account.avoided == 160_000
    book = PriceBook({"kimi-k2.6": Price(1, 1, 1, 1, 1)})
    priced = Account(book).add_all([replace(_DROPPED, model="kimi-k2.6")])
    assert priced.saved == pytest.approx(0.08)
    assert not priced.unpriced


@pytest.mark.parametrize(
    ("changes", "unread"),
    [
        ({}, 1),
        ({"action": "keep"}, 1),
        ({"action": "failed"}, 1),
        ({"action": "pass"}, 0),
        ({"status": 529}, 0),
        ({"status": 0}, 0),
    ],
)
def test_a_good_answer_without_usage_is_unread(changes, unread):
    account = Account().add_all([replace(_DROPPED, usage=None, **changes)])
    assert (account.unread, account.calls, account.cost) == (unread, 0, 0)


def test_a_login_is_remembered():
    assert Account().add_all([replace(_DROPPED, subscription=True), _DROPPED]).subscription
    assert not Account().add_all([_DROPPED]).subscription
