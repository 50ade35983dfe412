import json

from scaffold_files import STEPS, swe_attempts, swe_text, swe_tools
from scaffold_reading import messages_of, read, sums

from cuesta.core.transcript import BlockKind


def test_tool_calls_keep_only_what_the_wire_saw():
    (session,), problems = read(swe_tools())
    assert problems == {}
    assert (session.wire, session.protocol, session.whole) == ("openai_chat", "", False)
    assert {key for raw in session.messages for key in json.loads(raw)} == {
        "role",
        "content",
        "tool_calls",
        "tool_call_id",
    }
    assert {call.model for call in session.calls} == {"made/up"}


def test_calls_have_no_bill():
    (session,), _ = read(swe_tools())
    assert [call.usage for call in session.calls] == [None] * STEPS


def test_a_demonstration_is_no_call():
    (session,), _ = read(swe_text())
    assert (session.protocol, session.whole) == ("swe-agent", True)
    assert [call.at for call in session.calls] == [5, 7, 9]
    assert len(messages_of(session)) == 5 + 2 * STEPS


def test_every_observation_is_a_result():
    (session,), _ = read(swe_text())
    read_messages = messages_of(session)
    for call in session.calls:
        answer, seen = read_messages[call.at : call.at + 2]
        assert answer.blocks[-1].kind is BlockKind.CALL
        assert seen.blocks[0].kind is BlockKind.RESULT


def test_attempts_are_sessions_of_their_own():
    sessions, problems = read(swe_attempts())
    assert problems == {}
    assert [session.name for session in sessions] == ["attempt 1", "attempt 2"]
    assert sums(sessions)["calls"] == 3


def test_each_agent_was_sent_its_own_messages():
    value = json.loads(swe_tools())
    for item in value["history"][2:4]:
        item["agent"] = "helper"
    (main, helper), problems = read(json.dumps(value).encode())
    assert problems == {}
    assert (main.name, helper.name) == ("", "helper")
    assert len(main.messages) + len(helper.messages) == 2 + 2 * STEPS
    assert len(helper.calls) == 1


def test_a_result_without_its_call_is_left_out():
    value = json.loads(swe_tools())
    value["history"][3]["tool_call_ids"] = ["unknown"]
    (session,), problems = read(json.dumps(value).encode())
    assert problems == {"a result without its call": 1}
    assert [call.hole for call in session.calls] == [False, True, False]
    roles = [json.loads(raw)["role"] for raw in session.messages]
    assert roles == ["system", "user", *["assistant", "tool"] * STEPS]
