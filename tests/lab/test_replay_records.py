"""Records hold what replays came to, and survive being written down."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from made_sessions import session

from cuesta.core.prices import Price, PriceBook
from cuesta.core.usage import Usage
from cuesta.harnesses.saved.sums import sums
from cuesta.lab.cost import rules_for
from cuesta.lab.prepared import prepare
from cuesta.lab.records import AS_RUN, BASE, Record, Variant, flat, variants
from cuesta.lab.sweep import Sweep, replayed
from cuesta.lab.tally import tally
from cuesta.strategies.summary import SUMMARY_TOKENS

_VARIANTS = (
    AS_RUN,
    BASE,
    Variant("cliff", 4_000, "paper"),
    Variant("cliff", 6_000, "default"),
    Variant("sliding_window", 4_000, "paper"),
    Variant("microcompaction", 0, "default", 2_000),
)
_BOOK = PriceBook({"claude-sonnet-4-5": Price(4, 20, 0.5, 5, 8), "plain": Price(1, 2, 0.1, 1, 1)})


def records(saved, **options):
    return Sweep(_VARIANTS, _BOOK, **options).records("made.jsonl", prepare(saved))


def spelled_out(replay, number):
    """Return a replay's prompt token by token, each named by where it comes from."""
    layouts = replay.layouts
    last = max(n for n in layouts if n <= number)
    return last, [(what, i) for what, size in layouts[last] for i in range(size)]


def slowly(prepared, replay):
    """Bill a replay by comparing prompts token by token; returns tokens found in the cache."""
    before, found = [], []
    for number, step in enumerate(replay.steps):
        last, prompt = spelled_out(replay, number)
        start = prepared.calls[replay.steps[last].call].at
        outlines = prepared.transcript.outlines
        for i in range(start, prepared.calls[step.call].at):
            prompt += [((i, ""), n) for n in range(outlines[i].tokens)]
        assert len(prompt) == step.prompt
        alike = 0
        for one, other in zip(before, prompt, strict=False):
            if one != other:
                break
            alike += 1
        found.append(alike)
        before = prompt
    return found


@pytest.mark.parametrize("variant", _VARIANTS[1:], ids=str)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_tokens_and_costs_are_those_of_comparing_prompts_token_by_token(variant, seed):
    prepared = prepare(session(seed, turns=14))
    replay = replayed(prepared, variant)
    record = Sweep((variant,), _BOOK).records("x", prepared)[0]
    rules = rules_for("claude-sonnet-4-5")
    cost, cached = 0.0, 0
    for step, alike in zip(replay.steps, slowly(prepared, replay), strict=True):
        hit = min(alike, step.prompt - 1)
        if rules.look_back and step.behind >= rules.look_back:
            hit = min(step.fixed, alike)
        hit = hit if hit >= rules.minimum else 0
        new = step.prompt - hit
        cached += hit
        cost += hit * 0.5 + new * (5 if step.prompt >= rules.minimum else 4) + 20 * step.output
    assert record.engine.usage.cache_read == cached > 0
    assert record.engine.cost == pytest.approx(cost / 1e6)
    prompts = [step.prompt for step in replay.steps]
    perfect = sum(b for b, a in pairwise(prompts) if a >= b)
    assert record.perfect.usage.cache_read == perfect
    assert (record.peak, record.prompt) == (max(prompts), sum(prompts))
    assert record.calls == len(prompts)


def test_a_cliff_makes_contexts_smaller_and_is_counted():
    recorded, kept, low, high, *_ = records(session(turns=30))
    assert kept.cliffs == recorded.cliffs == 0
    assert low.cliffs > high.cliffs > 0
    assert low.peak < high.peak < kept.peak


def test_what_was_run_is_billed_as_the_file_says():
    saved = session()
    recorded = records(saved)[0]
    usages = [call.usage for call in saved.calls]
    assert recorded.billed.usage == sum(usages, Usage())
    price = _BOOK.price("claude-sonnet-4-5")
    assert recorded.billed.cost == pytest.approx(sum(map(price.cost, usages)))
    assert recorded.peak == max(usage.prompt for usage in usages)


def test_without_bills_there_is_no_record_of_what_was_run():
    found = records(session(billed=False))
    assert [one.variant for one in found] == list(_VARIANTS[1:])
    assert all(one.billed is None and one.engine.cost > 0 for one in found)


def test_a_session_without_calls_has_no_record():
    assert records(session(turns=0)) == []


def test_an_unknown_model_has_tokens_and_no_cost_and_says_why():
    found = records(session(model="nobodys-model"))
    assert all(one.engine.cost is None and one.engine.usage.prompt for one in found)
    assert all("nobodys-model" in one.unpriced for one in found)


def test_all_may_be_priced_as_another_model():
    found = records(session(model="nobodys-model"), model="plain")
    assert {one.model for one in found} == {"plain"}
    assert all(one.engine.cost and not one.unpriced for one in found)
    assert all(not one.engine.usage.cache_write for one in found)


def test_a_trace_adds_up_to_the_record():
    for one in records(session(turns=20), traces=True):
        trace = one.trace
        assert len({len(column) for column in (trace.call, trace.prompt, trace.cost)}) == 1
        assert sum(trace.cost) == pytest.approx(one.engine.cost)
        assert sum(trace.cached) == one.engine.usage.cache_read
        assert sum(trace.prompt) == one.prompt
        assert sum(trace.cliff) == one.cliffs


def test_records_survive_being_written():
    for one in records(session(), traces=True) + records(session(model="nobodys-model")):
        assert Record.from_dict(json.loads(json.dumps(one.to_dict()))) == one


@pytest.mark.parametrize("change", [{"v": 2}, {"variant": None}, {"engine": {}}])
def test_another_versions_or_a_broken_record_is_refused(change):
    written = records(session())[0].to_dict() | change
    with pytest.raises(ValueError, match="record"):
        Record.from_dict(written)


def test_a_row_of_a_file_holds_plain_values_under_the_same_names():
    rows = [flat(one) for one in records(session(), traces=True)]
    assert len({tuple(row) for row in rows}) == 1
    assert all(isinstance(v, str | int | float | None) for row in rows for v in row.values())
    assert rows[0]["billed_cache_read"] > 0
    assert rows[1]["billed_cache_read"] is None


def test_strategies_without_a_threshold_have_one_variant():
    names = ["recorded", "keep_all", "cliff", "microcompaction", "micro_summary", "cliff"]
    found = list(variants(names, [8_000, 0, 8_000], "paper", [3_000, 6_000]))
    assert found == [
        AS_RUN,
        BASE,
        Variant("cliff", 8_000, "paper"),
        Variant("cliff", 0, "paper"),
        Variant("microcompaction", 0, "paper", 3_000),
        Variant("microcompaction", 0, "paper", 6_000),
        Variant("micro_summary", 8_000, "paper", 3_000),
        Variant("micro_summary", 0, "paper", 3_000),
    ]
    assert [one.moved(9).at for one in found[2:5:2]] == [9, 9]


def test_a_summary_costs_a_call_of_its_own():
    prepared = prepare(session(turns=60))
    variant = Variant("summary", 6_000, "default")
    replay = replayed(prepared, variant)
    own = [step for step in replay.steps if step.ours]
    one = Sweep((variant,), _BOOK).records("x", prepared)[0]
    assert one.own_calls == len(own) > 0
    assert one.calls == len(prepared.calls)
    assert one.prompt == sum(step.prompt for step in replay.steps if not step.ours)
    assert one.engine.usage.prompt == sum(step.prompt for step in replay.steps)
    assert all(step.common == 0 and step.output == SUMMARY_TOKENS for step in own)
    for place, step in enumerate(replay.steps):
        if step.ours:
            assert replay.steps[place + 1].cliff
            assert place + 1 in replay.layouts
    cliff = next(cliff for cliff in replay.cliffs if cliff is not None)
    folded = prepared.transcript.turns.sums.tokens[cliff.cut]
    assert cliff.digest_tokens == SUMMARY_TOKENS < folded
    assert folded < own[0].prompt < folded + 1_000


def test_microcompaction_clears_and_keeps_every_turn():
    prepared = prepare(session(turns=40))
    variant = Variant("microcompaction", 0, "default", 2_000)
    replay = replayed(prepared, variant)
    assert sum(step.cliff for step in replay.steps) > 1
    for place, layout in replay.layouts.items():
        at = prepared.calls[replay.steps[place].call].at
        assert [message for (message, _), _ in layout if message >= 0] == list(range(at))
    treatments = {treatment for layout in replay.layouts.values() for (_, treatment), _ in layout}
    assert treatments == {"", "cleared"}


@pytest.mark.parametrize("shared", [0, 6])
def test_a_session_is_counted_as_its_readers_sum_it_up(shared):
    saved = session(turns=9)
    saved = replace(saved, shared=shared, calls=saved.calls[shared // 2 :])
    counted, wanted = tally("x", prepare(saved), _BOOK), sums(saved)
    assert (counted.calls, counted.human) == (wanted.calls, wanted.human)
    assert (counted.turns, counted.tool_calls) == (wanted.turns, wanted.tools)
    assert counted.usage == wanted.billed
