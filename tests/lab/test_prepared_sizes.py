"""How large saved messages are taken to be, by the bills around them."""

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.usage import Usage
from cuesta.lab.prepared import Prepared, prepare
from cuesta.trace.session import Call, Session

_PIECE = 400
"""Words a message; estimated tokens are near that."""


def _session(
    prompts, *, whole=True, holes=(), compactions=(), models=(), **given_members
) -> Session:
    """One message before each call; None is a call without a bill."""
    messages, calls = [], []
    for number, prompt in enumerate(prompts):
        role = "user" if number % 2 == 0 else "assistant"
        messages.append(json.dumps({"role": role, "content": "word " * _PIECE}).encode())
        usage = None if prompt is None else Usage(prompt, output=7)
        model = models[number] if models else "glm-5.1"
        calls.append(Call(number + 1, model, usage, hole=number in holes))
    return Session(
        "made up", "one", "openai_chat", tuple(messages), tuple(calls), given_members,
        whole=whole, compactions=compactions,
    )  # fmt: skip


def _prompts(prepared: Prepared) -> list[int]:
    return [prepared.prompt(call) for call in prepared.calls]


@given(st.lists(st.integers(250, 800), min_size=1, max_size=12))
def test_with_nothing_dropped_a_prompt_is_as_large_as_billed(sizes):
    prompts = [sum(sizes[: n + 1]) for n in range(len(sizes))]
    assert _prompts(prepare(_session(prompts))) == prompts


def test_a_bill_that_another_back_end_counted_moves_nothing_but_itself():
    true = [400 * n for n in range(1, 13)]
    odd = [prompt - 900 * (n in {5, 6, 9}) for n, prompt in enumerate(true)]
    found = _prompts(prepare(_session(odd)))
    assert [p for n, p in enumerate(found) if n not in {5, 6, 9}] == [
        p for n, p in enumerate(true) if n not in {5, 6, 9}
    ]


def test_a_call_without_a_bill_lies_between_those_that_have_one():
    assert _prompts(prepare(_session([400, None, None, 1600]))) == [400, 800, 1200, 1600]


def test_lines_that_were_lost_take_their_tokens_where_they_were():
    prepared = prepare(_session([400, 800, 9_000, 9_400], holes={2}))
    assert _prompts(prepared) == [400, 800, 9_000, 9_400]
    assert prepared.scale == prepare(_session([400, 800, 1_200, 1_600])).scale


def test_across_edits_a_compaction_and_a_change_of_model_bills_are_not_compared():
    edited = prepare(_session([4_000, 8_000, 400, 800], holes={2}, whole=False)).sums
    assert max(b - a for a, b in pairwise(edited)) < 4_500
    billed = [400, 800, 9_000, 9_400]
    for cut in (
        _session(billed, compactions=(2,)),
        _session(billed, models=("a", "a", "b", "b")),
    ):
        assert max(b - a for a, b in pairwise(prepare(cut).sums)) < 500


def test_what_the_first_bill_holds_beyond_the_messages_is_hidden_and_fixed():
    prepared = prepare(_session([5_400, 5_800, 6_200], whole=False))
    assert prepared.hidden == prepared.fixed
    assert 4_900 < prepared.fixed < 5_100
    assert _prompts(prepared) == [5_400, 5_800, 6_200]
    shown = prepare(_session([5_400, 5_800, 6_200], whole=False, system=b"word " * 1_000))
    assert 900 < shown.fixed - shown.hidden < 1_300
    assert _prompts(shown) == [5_400, 5_800, 6_200]


def test_of_a_whole_session_nothing_is_hidden():
    prepared = prepare(_session([700, 1_100]))
    assert (prepared.fixed, prepared.hidden) == (0, 0)
    assert _prompts(prepared) == [700, 1_100]


def test_without_any_bill_the_estimate_stands():
    prepared = prepare(_session([None, None]))
    assert (prepared.scale, prepared.fixed) == (1.0, 0)
    assert prepared.sums[-1] == sum(o.tokens for o in prepared.transcript.outlines)


def test_what_an_answer_computed_is_found_again_but_for_its_last_token_and_hidden_thoughts():
    messages = [
        json.dumps({"role": role, "content": "word " * 100}).encode()
        for role in ("user", "assistant", "user")
    ]
    for usage, thoughts, echo in (
        (Usage(200, output=30), 0, 29),
        (Usage(200, output=3_000), 0, None),
        (Usage(200, output=3_000), 2_900, 0),
    ):
        call = Call(1, "glm-5.1", usage, thoughts)
        session = Session("made up", "one", "openai_chat", tuple(messages), (call,), whole=True)
        prepared = prepare(session)
        assert prepared.echo(call) == (prepared.answer(call) if echo is None else echo)
        assert prepared.output(call) == usage.output
