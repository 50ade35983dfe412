"""The prefix cache and its bill, to the token."""

import pytest

from cuesta.core.models import read_model
from cuesta.core.usage import Usage
from cuesta.testing.simulator import Judge, PrefixCache, minimum_cacheable

OPUS = "claude-opus-5"
PARAGRAPH = "x" * 3500
"""A text of 1,000 tokens."""
MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
OVERHEAD = 4
"""Tokens of each message beside its blocks."""


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def charge(clock):
    cache = PrefixCache(clock)
    judge = Judge()

    def run(body):
        verdict = judge.verdict({"model": OPUS, "max_tokens": 9, **body})
        assert verdict.refusal is None
        return cache.charge(verdict.request)

    return run


def words(text=PARAGRAPH, mark=None):
    block = {"type": "text", "text": text}
    return {**block, "cache_control": mark} if mark else block


def chat(*blocks, **more):
    return {"messages": [{"role": "user", "content": list(blocks)}], **more}


def test_without_a_marker_all_is_input(charge):
    for _ in range(2):
        assert charge(chat(words())) == Usage(input=1000 + OVERHEAD)


def test_the_first_call_writes_and_the_second_reads(charge):
    first = charge(chat(words(mark=MARK), words("y" * 350)))
    assert first == Usage(input=100, cache_write_5m=1000 + OVERHEAD)
    second = charge(chat(words(mark=MARK), words("z" * 700)))
    assert second == Usage(input=200, cache_read=1000 + OVERHEAD)


def test_a_growing_conversation_reads_the_old_and_writes_the_new(charge):
    charge(chat(words(mark=MARK)))
    grown = charge(chat(words(), words("y" * 3500, mark=MARK)))
    assert grown == Usage(cache_read=1004, cache_write_5m=1000)
    again = charge(chat(words(), words("y" * 3500), words("z" * 35, mark=MARK)))
    assert again == Usage(cache_read=2004, cache_write_5m=10)


def test_a_top_level_marker_stands_on_the_last_block(charge):
    assert charge(chat(words(), cache_control=MARK)) == Usage(cache_write_5m=1004)
    grown = charge(chat(words(), words("y" * 350), cache_control=HOUR))
    assert grown == Usage(cache_read=1004, cache_write_1h=100)


def test_lifetimes_are_billed_apart(charge):
    usage = charge(chat(words(mark=MARK), words("tail" * 7), system=[words("s" * 3500, mark=HOUR)]))
    assert usage == Usage(input=8, cache_write_1h=1000, cache_write_5m=1004)


def test_a_changed_block_misses_from_there_on(charge):
    charge(chat(words(), words("y" * 3500, mark=MARK), system=[words("s" * 3500, mark=MARK)]))
    usage = charge(
        chat(words("other"), words("y" * 3500, mark=MARK), system=[words("s" * 3500, mark=MARK)])
    )
    assert usage == Usage(cache_read=1000, cache_write_5m=1000 + 2 + OVERHEAD)


def test_tools_stand_before_system(charge):
    tools = [{"name": "bash", "description": "d" * 4000, "cache_control": MARK}]
    wrote = charge(chat(words(), system="one", tools=tools)).cache_write_5m
    assert wrote > 1000
    assert charge(chat(words(), system="two", tools=tools)).cache_read == wrote
    other = [{"name": "sh", "description": "d" * 4000, "cache_control": MARK}]
    assert charge(chat(words(), system="two", tools=other)).cache_read == 0


def test_strings_and_markers_do_not_change_the_prefix(charge):
    charge(chat(words(mark=MARK)))
    body = {"messages": [{"role": "user", "content": PARAGRAPH}], "cache_control": MARK}
    assert charge(body) == Usage(cache_read=1004)


def test_an_entry_nineteen_blocks_before_the_marker_is_read(charge):
    charge(chat(words(mark=MARK)))
    small = [words(f"block {n}") for n in range(20)]
    reached = chat(words(), *small[:18], words("end", mark=MARK))
    assert charge(reached).cache_read == 1004


def test_an_entry_twenty_blocks_before_is_not_but_for_a_marker_between(charge):
    charge(chat(words(mark=MARK)))
    small = [words(f"block {n}") for n in range(20)]
    missed = chat(words(), *small[:19], words("end", mark=MARK))
    assert charge(missed).cache_read == 0
    middle = [*small[:5], words("middle", mark=MARK), *small[5:18]]
    assert charge(chat(words(), *middle, words("end", mark=MARK))).cache_read == 1004


def test_a_run_of_calls_and_a_run_of_results_are_one_position_each(charge):
    charge(chat(words(mark=MARK)))
    calls = [{"type": "tool_use", "id": f"t{n}", "name": "b", "input": {}} for n in range(30)]
    results = [{"type": "tool_result", "tool_use_id": f"t{n}"} for n in range(30)]
    body = chat(words())
    body["messages"] += [
        {"role": "assistant", "content": calls},
        {"role": "user", "content": [*results, words("end", mark=MARK)]},
    ]
    assert charge(body).cache_read == 1004


@pytest.mark.parametrize(("mark", "seconds"), [(MARK, 300), (HOUR, 3600)])
def test_entries_expire_unless_they_are_read(charge, clock, mark, seconds):
    body = chat(words(mark=mark))
    charge(body)
    for _ in range(3):
        clock.now += seconds - 1
        assert charge(body).cache_read == 1004
    clock.now += seconds
    assert charge(body).cache_read == 0


def test_below_the_minimum_nothing_is_cached_in_silence(charge):
    short = chat(words("x" * 1760, mark=MARK))
    assert [charge(short) for _ in range(2)] == [Usage(input=507)] * 2
    enough = chat(words("x" * 1778, mark=MARK))
    assert charge(enough) == Usage(cache_write_5m=512)
    assert charge(enough) == Usage(cache_read=512)


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("claude-opus-5", 512),
        ("claude-opus-5-5", 512),
        ("claude-fable-5-1", 512),
        ("claude-opus-4-8", 1024),
        ("claude-opus-4-5-20251101", 4096),
        ("claude-haiku-4-5", 4096),
        ("claude-sonnet-4-5", 1024),
        ("mock-model", 1024),
    ],
)
def test_the_minimum_is_the_models_own(model, tokens):
    assert minimum_cacheable(read_model(model)) == tokens


def test_caches_are_kept_per_model_and_thinking_mode(charge):
    body = chat(words(mark=MARK))
    charge(body)
    assert charge({**body, "model": "claude-opus-5-5"}).cache_read == 0
    assert charge({**body, "thinking": {"type": "adaptive"}}).cache_read == 0
    assert charge({**body, "model": "claude-opus-5-20260801"}).cache_read == 1004


def test_the_bill_can_be_made_to_differ_from_any_estimate(clock):
    judge = Judge()
    body = {"model": OPUS, "max_tokens": 9, **chat(words(mark=MARK))}
    request = judge.verdict(body).request
    assert PrefixCache(clock, bill_factor=1.5).charge(request) == Usage(cache_write_5m=1506)


def test_one_wide_character_is_one_token(charge):
    assert charge(chat(words("中" * 160))) == Usage(input=160 + OVERHEAD)
