"""The replay that the engine bench sends: its sizes, and what its prompts have in common."""

from itertools import pairwise

import pytest

from benchmarks.engine import prompts


def _alike(one: list[int], other: list[int]) -> int:
    count = min(len(one), len(other))
    return next((i for i in range(count) if one[i] != other[i]), count)


@pytest.mark.parametrize("cliff", [0, 5_000])
def test_each_call_says_what_its_prompt_has_in_common_with_the_one_before(cliff):
    calls = list(prompts(40, cliff))
    assert sum(step.cliff for step, _ in calls) == (0 if not cliff else 10)
    assert [step.prompt for step, _ in calls] == [len(prompt) for _, prompt in calls]
    for (_, before), (step, prompt) in pairwise(calls):
        assert step.common == _alike(before, prompt)


def test_both_replays_have_the_same_answers_and_share_no_beginning():
    whole, cut = list(prompts(20, 0)), list(prompts(20, 5_000, first=128))
    assert [step.output for step, _ in whole] == [step.output for step, _ in cut]
    assert whole[0][1][0] != cut[0][1][0]
