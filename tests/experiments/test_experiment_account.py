"""From what went through the proxy to a record's figures, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cuesta.core.usage import Usage
from cuesta.experiments.account import account, early_end
from cuesta.experiments.record import DONE, REFUSED, WINDOW
from cuesta.experiments.running import Performed
from cuesta.store.prices import price_book
from cuesta.trace.event import TraceEvent

MODEL = "kimi-k2.6"  # 0.95 in, 0.16 from the cache, 4.00 out, a million


def event(at: float, prompt: int, cached: int = 0, **more: object) -> TraceEvent:
    usual = TraceEvent(
        at=at, conversation="c", dialect="openai_chat", path="/v1/chat/completions", model=MODEL,
        action="keep", reason="", status=200, seconds=1.5,
        usage=Usage(prompt - cached, cached, output=100),
    )  # fmt: skip
    return replace(usual, **more)


def performed(*events: TraceEvent, told: bool = True, kinds: str = "") -> Performed:
    return Performed(True, DONE, "", events, 9.0, told, kinds, 100_000, {})


def summed(done: Performed):
    return account(done, price_book(None), {})


def test_the_perfect_cache_charges_growth_only_and_all_of_a_prompt_that_shrank():
    found = summed(performed(event(1, 1_000), event(2, 1_500, 900), event(3, 800, new_cliff=True)))
    assert found.perfect == Usage(1_000 + 500 + 800, 1_000, output=300)
    assert found.usage == Usage(1_000 + 600 + 800, 900, output=300)
    assert found.cliffs == (2,)
    assert found.perfect_cost == pytest.approx((2_300 * 0.95 + 1_000 * 0.16 + 300 * 4) / 1e6)
    assert found.billed_cost == pytest.approx((2_400 * 0.95 + 900 * 0.16 + 300 * 4) / 1e6)


def test_a_summary_is_a_call_of_its_own_and_no_step():
    asked = Usage(2_000, output=50)
    done = performed(
        event(1, 1_000), event(2, 700, new_cliff=True, asked=asked), kinds="re"
    )  # fmt: skip
    found = summed(done)
    assert found.calls.prompt == (1_000, 2_000, 700)
    assert found.calls.ours == (False, True, False)
    assert found.calls.kinds == "r-e"
    assert (found.steps, found.cliffs, found.asked) == (2, (2,), asked)


def test_cliffs_that_nobody_tells_of_are_read_off_the_prompts():
    found = summed(performed(event(1, 900), event(2, 1_000), event(3, 400), told=False))
    assert found.cliffs == (2,)


def test_a_cliff_whose_request_was_refused_is_counted_with_the_next_answer():
    refused = event(2, 0, status=400, usage=None, new_cliff=True)
    found = summed(performed(event(1, 900), refused, event(3, 500)))
    assert (found.cliffs, found.steps) == ((1,), 2)


def test_another_conversation_beside_it_is_billed_by_itself():
    beside = event(2, 300, conversation="title")
    found = summed(performed(event(1, 1_000), beside, event(3, 1_200)))
    assert found.perfect == Usage(1_000 + 300 + 200, 1_000, output=300)


def test_letters_that_do_not_fit_the_steps_are_left_out():
    assert summed(performed(event(1, 10), kinds="rr")).calls.kinds == ""


def test_a_model_without_a_price_has_no_cost():
    found = summed(performed(event(1, 10, model="house")))
    assert (found.billed_cost, found.perfect_cost) == (None, None)


def test_a_name_at_a_provider_has_the_price_of_the_specs_name():
    done = performed(event(1, 1_000_000, model="moonshotai/K"))
    assert account(done, price_book(None), {"moonshotai/K": MODEL}).billed_cost == pytest.approx(
        0.95 + 100 * 4 / 1e6
    )


@pytest.mark.parametrize(
    ("last", "end"),
    [
        (event(2, 10), None),
        (event(2, 0, status=400, usage=None, sent_tokens=95_000), WINDOW),
        (event(2, 0, status=413, usage=None, raw_tokens=90_000), WINDOW),
        (event(2, 0, action="refuse", usage=None, status=400), WINDOW),
        (event(2, 0, status=400, usage=None, sent_tokens=9_000), REFUSED),
        (event(2, 0, status=500, usage=None, sent_tokens=95_000), REFUSED),
    ],
)
def test_how_a_run_ended_early(last, end):
    found = early_end([event(1, 10), last], 100_000)
    assert (found[0] if found else None) == end


def test_nothing_asked_is_no_early_end():
    assert early_end([], 1_000) is None
