import json

from scaffold_files import pydantic_anthropic, pydantic_openai
from scaffold_reading import kinds, messages_of, read

from cuesta.core.transcript import BlockKind
from cuesta.core.usage import Usage

CALL, RESULT, TEXT = BlockKind.CALL, BlockKind.RESULT, BlockKind.TEXT


def test_what_openai_answered_is_written_in_the_chat_wire():
    (session,), problems = read(pydantic_openai())
    assert problems == {"a part of another kind": 1}
    assert (session.wire, session.whole, session.name) == ("openai_chat", False, "r")
    assert [kinds(message) for message in messages_of(session)] == [
        [TEXT],
        [TEXT, BlockKind.MEDIA],
        [CALL, CALL],
        [RESULT],
        [RESULT],
        [TEXT],
        [TEXT],
        [BlockKind.THINKING, CALL],
        [RESULT],
        [TEXT],
    ]


def test_cached_and_written_tokens_are_part_of_the_input():
    (session,), _ = read(pydantic_openai())
    assert session.calls[2].usage == Usage(990, 200, 10, 0, 50)
    assert [call.thoughts for call in session.calls] == [5, 5, 0, 5]
    assert session.calls[0].model == "up"


def test_arguments_stay_as_the_model_wrote_them():
    (session,), _ = read(pydantic_openai())
    calls = json.loads(session.messages[2])["tool_calls"]
    assert [call["function"]["arguments"] for call in calls] == ['{"path":"a"}', '{"path": "b"}']
    results = [json.loads(raw)["content"] for raw in session.messages[3:5]]
    assert results == ['{"lines":3}', "text"]


def test_a_part_that_is_left_out_marks_the_next_call():
    (session,), _ = read(pydantic_openai())
    assert [call.hole for call in session.calls] == [False, False, True, False]


def test_what_anthropic_answered_keeps_its_signatures():
    (session,), problems = read(pydantic_anthropic())
    assert problems == {}
    assert session.wire == "anthropic"
    assert json.loads(session.members["system"]) == "You are."
    answer = json.loads(session.messages[1])["content"]
    assert answer[0] == {"type": "thinking", "thinking": "Hm.", "signature": "sig"}
    assert answer[1]["input"] == {"path": "a"}
    asked = json.loads(session.messages[2])["content"]
    assert [block["type"] for block in asked] == ["tool_result", "text"]


def test_other_instructions_are_another_prompt():
    (session,), _ = read(pydantic_anthropic())
    assert [call.hole for call in session.calls] == [False, True]


def test_a_call_that_nobody_answered_gets_an_empty_result_on_both_wires():
    for builder, place in ((pydantic_openai, 2), (pydantic_anthropic, 2)):
        value = json.loads(builder())
        kept = [part for part in value[place]["parts"] if part["part_kind"] != "tool-return"]
        value[place]["parts"] = kept
        (session,), _ = read(json.dumps(value).encode())
        messages = messages_of(session)
        opened = {b.call_id for m in messages for b in m.blocks if b.kind is CALL}
        answered = {b.call_id for m in messages for b in m.blocks if b.kind is RESULT}
        assert opened == answered


def test_bills_from_before_1_0():
    value = json.loads(pydantic_openai())
    value[1]["usage"] = {"request_tokens": 900, "response_tokens": 20, "details": None}
    value[3]["usage"] = {"requests": 1}
    (session,), _ = read(json.dumps(value).encode())
    assert [call.usage for call in session.calls[:2]] == [Usage(input=900, output=20), None]
