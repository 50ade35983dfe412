import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.readings import Basis, Bill, Reading, next_prompt

_TOKENS = st.integers(0, 2_000_000)


def test_without_a_bill_the_estimate_stands():
    assert next_prompt(None, 1234) == Reading(1234, Basis.ESTIMATED)
    assert next_prompt(Bill(0, 900), 1234) == Reading(1234, Basis.ESTIMATED)


def test_a_bill_is_a_reading():
    assert Bill(900, 800).reading == Reading(900, Basis.BILLED)


@pytest.mark.parametrize(
    ("bill", "estimate", "tokens"),
    [
        (Bill(50_000, 30_000), 31_500, 51_500),
        (Bill(50_000, 30_000), 30_000, 50_000),
        (Bill(120_000, 100_000), 25_000, 30_000),
        (Bill(90_000, 100_000), 25_000, 22_500),
        (Bill(20_000, 0), 400, 20_400),
    ],
)
def test_growth_is_added_and_a_drop_is_taken_in_proportion(bill, estimate, tokens):
    assert next_prompt(bill, estimate) == Reading(tokens, Basis.CALIBRATED)


@given(st.builds(Bill, _TOKENS, _TOKENS), _TOKENS, _TOKENS)
def test_a_larger_estimate_never_reads_smaller_and_nothing_reads_below_zero(bill, one, other):
    low, high = sorted((one, other))
    assert 0 <= next_prompt(bill, low).tokens <= next_prompt(bill, high).tokens


@given(st.builds(Bill, st.integers(1, 10**6), _TOKENS))
def test_the_same_prompt_reads_what_was_billed(bill: Bill):
    assert next_prompt(bill, bill.estimate).tokens == bill.prompt
