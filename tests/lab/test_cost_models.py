"""Two models of the prefix cache, held to slow ones that know every token."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.usage import Usage
from cuesta.lab.cost import RULES, CacheRules, engine, perfect, rules_for, total
from cuesta.lab.replay import Step

_SIZES = st.integers(0, 400)
_BLOCKS = st.sampled_from([1, 3, 16, 64])


def _step(prompt: int, output: int = 5, **given: object) -> Step:
    return replace(Step(0, "some-model", prompt, 0, 0, output), **given)


# The paper's.


def _papers_bill(prompts: list[int], outputs: list[int]) -> list[Usage]:
    """Appendix A.1, sentence by sentence."""
    bills = []
    for i, prompt in enumerate(prompts):
        if i == 0:
            bill = Usage(input=prompt)
        elif prompt >= prompts[i - 1]:
            bill = Usage(input=prompt - prompts[i - 1], cache_read=prompts[i - 1])
        else:
            bill = Usage(input=prompt)
        bills.append(bill + Usage(output=outputs[i]))
    return bills


@given(st.lists(st.tuples(_SIZES, _SIZES), max_size=12))
def test_the_perfect_cache_is_the_papers_to_the_letter(sizes):
    steps = [_step(prompt, output) for prompt, output in sizes]
    expected = _papers_bill([prompt for prompt, _ in sizes], [output for _, output in sizes])
    assert perfect(steps) == expected


# An engine's: every token of a prompt is known, and blocks are looked up by what they begin with.


@st.composite
def _runs(draw):
    """Prompts as lists of tokens, and what the model answered to each."""
    made = iter(range(10**9))
    prompts: list[list[int]] = []
    answers: list[list[int]] = []
    for _ in range(draw(st.integers(1, 8))):
        prompt: list[int] = []
        if prompts:
            kept = draw(st.one_of(st.just(len(prompts[-1])), st.integers(0, len(prompts[-1]))))
            prompt = prompts[-1][:kept]
            if kept == len(prompts[-1]):
                prompt = prompt + answers[-1][: draw(st.integers(0, len(answers[-1])))]
        fresh = draw(st.integers(0 if prompt else 1, 150))
        prompts.append(prompt + [next(made) for _ in range(fresh)])
        answers.append([next(made) for _ in range(draw(st.integers(1, 40)))])
    return prompts, answers


def _alike(one: list[int], other: list[int]) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def _steps(prompts: list[list[int]], answers: list[list[int]]) -> list[Step]:
    steps = [_step(len(prompts[0]), len(answers[0]))]
    for i in range(1, len(prompts)):
        old, new = prompts[i - 1], prompts[i]
        common = _alike(old, new)
        echo = _alike(answers[i - 1][:-1], new[common:]) if common == len(old) else 0
        steps.append(_step(len(new), len(answers[i]), common=common, answered=echo))
    return steps


def _blocks_found(cache: list[int], prompt: list[int], block: int) -> int:
    """Look a prompt up block by block, as vLLM does: at least one token is left to compute."""
    known = {tuple(cache[:end]) for end in range(block, len(cache) + 1, block)}
    found = 0
    while found + block <= len(prompt) - 1 and tuple(prompt[: found + block]) in known:
        found += block
    return found


@given(_runs(), _BLOCKS, st.booleans())
def test_an_engine_finds_the_blocks_that_it_has_computed(runs, block, keeps):
    prompts, answers = runs
    bills = engine(_steps(prompts, answers), CacheRules(block=block, answers=keeps))
    cache: list[int] = []
    for prompt, answer, bill in zip(prompts, answers, bills, strict=True):
        found = _blocks_found(cache, prompt, block)
        assert bill == Usage(len(prompt) - found, found, output=len(answer))
        cache = prompt + answer[:-1] if keeps else prompt


@given(_runs(), st.integers(0, 200))
def test_a_prefix_shorter_than_the_minimum_is_not_found(runs, minimum):
    steps = _steps(*runs)
    plain = engine(steps, CacheRules())
    for without, usage in zip(plain, engine(steps, CacheRules(minimum=minimum)), strict=True):
        enough = without.cache_read >= minimum
        assert usage.cache_read == (without.cache_read if enough else 0)
        assert usage.prompt == without.prompt


# Anthropic's: entries stand at markers, behind the fixed part and at each prompt's end.


@st.composite
def _marked_runs(draw):
    """Prompts as lists of (name, tokens), one a place; they grow, or drop back to their head."""
    names = iter(range(10**9))

    def places(least, most):
        count = draw(st.integers(least, most))
        return [(next(names), draw(st.integers(1, 90))) for _ in range(count)]

    head = places(1, 3)
    runs = [head]
    for _ in range(draw(st.integers(1, 8))):
        drops = draw(st.integers(0, 3)) == 0
        runs.append((head if drops else runs[-1]) + places(1, 30))
    return runs


def _tokens(places: list[tuple[int, int]]) -> int:
    return sum(size for _, size in places)


@given(_marked_runs())
def test_anthropics_markers_find_entries_a_limited_number_of_places_back(runs):
    entries: set[tuple[tuple[int, int], ...]] = set()
    steps, expected = [], []
    before: list[tuple[int, int]] = []
    for places in runs:
        ends = [*range(len(places), max(len(places) - 20, 0), -1), 1]
        expected.append(
            max((_tokens(places[:n]) for n in ends if tuple(places[:n]) in entries), default=0)
        )
        entries |= {tuple(places), tuple(places[:1])}
        alike = sum(a == b for a, b in zip(before, places, strict=False))
        steps.append(
            _step(
                _tokens(places), common=_tokens(places[:alike]), behind=len(places) - alike,
                fixed=places[0][1],
            )
        )  # fmt: skip
        before = places
    bills = engine(steps, replace(RULES["anthropic-5m"], minimum=0))
    assert [bill.cache_read for bill in bills] == [
        min(found, step.prompt - 1) for found, step in zip(expected, steps, strict=True)
    ]


def test_what_enters_the_cache_is_billed_in_the_class_of_its_lifetime():
    step = _step(5_000, common=4_000)
    assert engine([step], RULES["anthropic-5m"]) == [Usage(0, 4_000, 1_000, 0, 5)]
    assert engine([step], RULES["anthropic-1h"]) == [Usage(0, 4_000, 0, 1_000, 5)]
    assert engine([step], RULES["openai"]) == [Usage(5_000 - 3_968, 3_968, output=5)]
    short = _step(900, common=800)
    assert engine([short], RULES["anthropic-5m"]) == [Usage(900, output=5)]


@pytest.mark.parametrize(("gap", "read"), [(0.0, 4_000), (300.0, 4_000), (300.1, 0)])
def test_an_entry_that_nobody_used_for_its_lifetime_is_gone(gap, read):
    bill = engine([_step(5_000, common=4_000, gap=gap)], RULES["anthropic-5m"])[0]
    assert (bill.cache_read, bill.cache_write_5m) == (read, 5_000 - read)
    hour = engine([_step(5_000, common=4_000, gap=gap)], RULES["anthropic-1h"])[0]
    assert hour.cache_read == 4_000


@pytest.mark.parametrize(
    ("model", "rules", "minimum"),
    [
        ("claude-opus-5-5", "anthropic-5m", 512),
        ("claude-sonnet-4-5-20250929", "anthropic-5m", 1024),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "anthropic-5m", 4096),
        ("claude-3-5-haiku-latest", "anthropic-5m", 2048),
        ("gpt-5.5", "openai", 1024),
        ("openai/gpt-5.6-sol", "openai-5.6", 1024),
        ("gpt-6", "openai-5.6", 1024),
        ("google/gemini-3-pro-preview", "gemini", 4096),
        ("gemini-2.5-pro", "gemini-2.5", 2048),
        ("deepseek-v4-flash", "deepseek", 0),
        ("glm-5.1", "vllm", 0),
        ("", "vllm", 0),
    ],
)
def test_a_models_provider_is_told_by_its_name(model, rules, minimum):
    assert rules_for(model) == replace(RULES[rules], minimum=minimum)


def test_each_step_is_billed_by_its_own_models_rules_unless_others_are_given():
    steps = [_step(5_000, common=4_010), replace(_step(5_000, common=4_010), model="gpt-5")]
    assert [bill.cache_read for bill in engine(steps)] == [4_000, 3_968]
    assert [bill.cache_read for bill in engine(steps, RULES["llama.cpp"])] == [4_010, 4_010]


def test_an_hour_can_be_asked_for_where_there_is_one():
    assert rules_for("claude-sonnet-4-5", hour=True) == RULES["anthropic-1h"]
    assert rules_for("gpt-5", hour=True) == RULES["openai"]


def test_a_sum_is_the_sum():
    assert total([]) == Usage()
    assert total([Usage(1, 2, 3, 4, 5), Usage(1, 1, 1, 1, 1)]) == Usage(2, 3, 4, 5, 6)
