"""The table's sums, held to sums made one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_sessions import record, session

from cuesta.core.prices import Price, PriceBook
from cuesta.core.usage import Usage
from cuesta.lab.prepared import prepare
from cuesta.lab.records import AS_RUN, BASE, Account, Variant, variants
from cuesta.lab.sweep import Sweep
from cuesta.lab.table import Table

_CLIFF = Variant("cliff", 32_000, "default")
_BOOK = PriceBook({"claude-sonnet-4-5": Price(4, 20, 0.5, 5, 8)})


def table(*sessions):
    made = Table()
    for records in sessions:
        made.add(records)
    return made


def test_sums_are_those_of_the_records():
    sweep = Sweep(tuple(variants(["recorded", "keep_all", "cliff"], [2_000, 4_000])), _BOOK)
    sessions = [sweep.records("x", prepare(session(seed, turns=8 + 4 * seed))) for seed in range(4)]
    made = table(*sessions)
    for place, variant in enumerate(sweep.variants):
        row, records = made.row(variant), [one[place] for one in sessions]
        assert all(one.variant == variant for one in records)
        assert row.sessions == 4
        for name in ("calls", "cliffs", "prompt", "answered"):
            assert getattr(row, name) == sum(getattr(one, name) for one in records)
        assert row.peak == max(one.peak for one in records)
        assert row.mean_peak == pytest.approx(sum(one.peak for one in records) / 4)
        assert row.mean == pytest.approx(row.prompt / row.calls)
        for model in ("perfect", "engine"):
            usage, hits, prompts = Usage(), 0, 0
            for one in records:
                part = getattr(one, model).usage
                usage = usage + part
                hits += part.cache_read
                prompts += part.input + part.cache_read + part.cache_write_5m + part.cache_write_1h
            total = getattr(row, model)
            assert total.usage == usage
            assert total.hit_rate == pytest.approx(hits / prompts)
            assert total.cost == pytest.approx(sum(getattr(one, model).cost for one in records))
            kept = sum(getattr(one[1], model).cost for one in sessions)
            change = getattr(row, f"by_{model}").change
            assert change == pytest.approx((total.cost - kept) / kept)


def test_keeping_all_changes_nothing():
    made = table([record(BASE, 5.0), record(_CLIFF, 4.0, cliffs=2)])
    assert made.row(BASE).by_engine.change == 0
    assert made.row(BASE).by_engine.break_even is None


@given(
    st.floats(0.5, 50), st.floats(0.5, 50), st.integers(1, 40), st.integers(1, 500)
)  # fmt: skip
def test_with_the_break_even_steps_nothing_is_saved(kept, cost, cliffs, calls):
    made = table(
        [record(BASE, kept, calls=calls), record(_CLIFF, cost, calls=calls, cliffs=cliffs)]
    )
    compared = made.row(_CLIFF).by_engine
    steps = compared.break_even
    assert (steps > 0) == (cost < kept) or cost == kept
    assert cost + steps * cliffs * (cost / calls) == pytest.approx(kept)
    assert compared.with_steps(steps) == pytest.approx(kept)


def test_no_cliff_has_no_break_even():
    made = table([record(BASE, 5.0), record(_CLIFF, 5.0)])
    assert made.row(_CLIFF).by_engine.break_even is None


def test_the_two_models_of_the_cache_are_kept_apart():
    made = table([record(BASE, 4.0), record(_CLIFF, 3.0, cliffs=1)])
    row = made.row(_CLIFF)
    assert (row.engine.cost, row.perfect.cost) == (3.0, 6.0)
    assert row.by_engine.base == 4.0
    assert row.by_perfect.base == 8.0


def test_a_session_without_a_price_counts_in_tokens_and_not_in_costs():
    priced = [record(BASE, 5.0), record(_CLIFF, 4.0, cliffs=1)]
    unpriced = [record(BASE, None, session="two"), record(_CLIFF, None, cliffs=3, session="two")]
    made = table(priced, unpriced)
    row = made.row(_CLIFF)
    assert (row.sessions, row.unpriced, row.cliffs) == (2, 1, 4)
    assert row.engine.cost == 4.0
    assert row.engine.usage.prompt == 20_000
    assert row.by_engine.change == pytest.approx(-0.2)
    assert row.by_engine.break_even == pytest.approx(1.0 / (4.0 / 10))
    assert made.unpriced == {"no price is known": 1}


def test_no_price_at_all_is_no_cost_rather_than_none():
    row = table([record(BASE, None)]).row(BASE)
    assert row.engine.cost is None
    assert row.by_engine.change is None


def test_a_variant_is_compared_over_the_sessions_and_calls_that_both_have():
    bills = Account(Usage(5, 5), 1.0)
    whole = [record(AS_RUN, 6.0, base=bills), record(BASE, 5.0), record(_CLIFF, 4.0, cliffs=1)]
    part = [record(AS_RUN, 6.0, calls=3, base=bills), record(BASE, 7.0), record(_CLIFF, 2.0)]
    without = [record(BASE, 9.0), record(_CLIFF, 9.0)]
    made = table(whole, part, without)
    assert made.row(AS_RUN).by_engine.change == pytest.approx(6.0 / 5.0 - 1)
    assert made.row(_CLIFF).by_engine.change == pytest.approx(15.0 / 21.0 - 1)
    assert made.row(AS_RUN).billed == Account(Usage(10, 10), 2.0)
    assert made.row(BASE).billed is None


def test_the_order_of_sessions_does_not_matter():
    sessions = [
        [record(BASE, 1.0 + n), record(_CLIFF, 0.5 + n, cliffs=n, peak=10 * n)] for n in range(5)
    ]
    one, other = table(*sessions), table(*reversed(sessions))
    assert one.row(_CLIFF) == other.row(_CLIFF)


def test_a_row_is_told_in_plain_values():
    told = table([record(BASE, 5.0), record(_CLIFF, 4.0, cliffs=2)]).row(_CLIFF).to_dict()
    assert told["variant"] == {
        "strategy": "cliff", "threshold": 32_000, "profile": "default", "reclaim": 0
    }  # fmt: skip
    assert told["engine"]["change"] == pytest.approx(-0.2)
    assert told["engine"]["break_even_steps"] == pytest.approx(1.25)
    assert told["engine"]["hit_rate"] == pytest.approx(0.9)
    assert told["billed"] is None
