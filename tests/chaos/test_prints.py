"""What makes no difference to a model makes none to a print; everything else does."""

import copy
import json

import pytest

from cuesta.testing.chaos.prints import Print, read


def said(*messages, wire="anthropic", **fields):
    where = "input" if wire == "openai_responses" else "messages"
    return Print(wire, {"model": "m", **fields, where: list(messages)})


USER = {"role": "user", "content": "hello"}
ANSWER = {"role": "assistant", "content": [{"type": "text", "text": "hi"}]}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "out"}


@pytest.mark.parametrize(
    ("wire", "one", "other"),
    [
        ("anthropic", USER, {"content": [{"type": "text", "text": "hello"}], "role": "user"}),
        (
            "anthropic",
            {"role": "user", "content": [RESULT]},
            {
                "role": "user",
                "content": [
                    {
                        **RESULT,
                        "cache_control": {"type": "ephemeral"},
                        "content": [{"type": "text", "text": "out"}],
                    }
                ],
            },
        ),
        ("openai_chat", USER, {**USER, "cache_control": {"type": "ephemeral"}}),
        ("openai_responses", USER, {**USER, "type": "message", "id": None}),
    ],
)
def test_what_makes_no_difference(wire, one, other):
    assert said(one, wire=wire).whole == said(other, wire=wire).whole


def test_every_value_makes_a_difference():
    body = [USER, ANSWER, {"role": "user", "content": [RESULT]}]
    prints = {said(*body).whole}
    changes = [
        (0, "role", "system"),
        (0, "content", "hello "),
        (1, "content", [*ANSWER["content"], {"type": "text", "text": ""}]),
        (2, "content", [{**RESULT, "is_error": True}]),
        (2, "content", [{**RESULT, "content": "other"}]),
    ]
    for place, key, value in changes:
        changed = copy.deepcopy(body)
        changed[place][key] = value
        prints.add(said(*changed).whole)
    assert len(prints) == 1 + len(changes)


def test_a_print_goes_on_from_what_it_begins_with_only():
    before = said(USER)
    after = said(USER, ANSWER, USER)
    assert after.extends(before.mark)
    assert after.news(before.mark) == ((), after.messages[1:])
    assert not before.extends(after.mark)
    assert not said(ANSWER, USER).extends(before.mark)


def test_a_last_message_may_grow_and_no_other():
    text = {"type": "text", "text": "and more"}
    grown = {"role": "user", "content": [{"type": "text", "text": "hello"}, text]}
    assert said(grown).extends(said(USER).mark)
    assert len(said(grown).news(said(USER).mark)[0]) == 1
    assert not said(grown, ANSWER, USER).extends(said(USER, ANSWER).mark)


def test_what_the_model_made_is_known():
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "x"}
    stands_for_all = {"type": "compaction", "encrypted_content": "x"}
    told = (USER, {"type": "reasoning"}, call, output, stands_for_all, {"type": "reasoning"})
    items = said(*told, wire="openai_responses").messages
    assert [item.made for item in items] == [False, True, True, False, False, True]


def test_tools_and_instructions_stand_apart():
    assert said(USER).fixed != said(USER, system="other").fixed
    assert said(USER).whole == said(USER, system="other").whole


def test_half_a_surrogate_pair_is_read():
    body = read(b'{"messages": [{"role": "user", "content": "\\ud83d"}]}')
    assert Print("anthropic", body).messages
    with pytest.raises(ValueError, match="object"):
        read(json.dumps([1]).encode())
