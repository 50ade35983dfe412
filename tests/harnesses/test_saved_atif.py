import json

import pytest
from scaffold_files import atif_tools, terminus, terminus_raw
from scaffold_reading import kinds, messages_of, read

from cuesta.core.transcript import BlockKind
from cuesta.core.usage import Usage

CALL, RESULT, TEXT = BlockKind.CALL, BlockKind.RESULT, BlockKind.TEXT


def contents(session):
    return [json.loads(raw)["content"] for raw in session.messages]


@pytest.mark.parametrize("parser", ["json", "xml"])
def test_terminus_talks_in_plain_text(parser):
    (session,), problems = read(terminus(parser))
    assert problems == {}
    assert (session.harness, session.protocol, session.whole) == ("terminus-2", "terminus-2", True)
    assert [kinds(message) for message in messages_of(session)] == [
        [TEXT],
        [TEXT, TEXT, CALL],
        [RESULT],
        [TEXT],
        [RESULT],
        [TEXT, CALL],
        [RESULT],
        [TEXT, CALL, CALL],
        [RESULT],
    ]


def test_an_answer_is_written_as_it_was_asked_for():
    (session,), _ = read(terminus())
    assert contents(session)[1] == (
        '{\n  "analysis": "A.",\n  "plan": "P.",\n  "commands": [\n    {\n'
        '      "keystrokes": "ls\\n",\n      "duration": 0.1\n    }\n  ]\n}'
    )
    assert contents(session)[3] == "Let me see."
    (xml,), _ = read(terminus("xml"))
    assert contents(xml)[1] == (
        "<response>\n<analysis>\nA.\n</analysis>\n<plan>\nP.\n</plan>\n<commands>\n"
        '<keystrokes duration="0.1">ls\n</keystrokes>\n</commands>\n</response>'
    )
    assert "<task_complete>true</task_complete>" in contents(xml)[-2]


def test_a_summary_is_noted_and_the_history_goes_on():
    (session,), _ = read(terminus())
    assert session.compactions == (2,)
    assert [call.hole for call in session.calls] == [False, False, True, False]
    assert not any("other agent" in content for content in contents(session))


def test_answers_that_were_kept_as_they_were_stay_so():
    value = json.loads(terminus_raw())
    (session,), _ = read(terminus_raw())
    assert contents(session)[1] == value["steps"][1]["message"]
    assert [call.at for call in session.calls] == [3], "copied steps are no calls"


def test_thinking_that_is_not_sent_again_is_counted_only():
    value = json.loads(terminus())
    value["steps"][1]["reasoning_content"] = "I think about it for a while."
    (session,), _ = read(json.dumps(value).encode())
    (plain,), _ = read(terminus())
    assert session.messages == plain.messages
    assert session.calls[0].thoughts > 0


def test_tool_calls_pair_by_name_or_together():
    (session, _), problems = read(atif_tools())
    assert problems == {}
    assert (session.harness, session.protocol, session.whole) == ("claude-code", "", False)
    results = [json.loads(raw) for raw in session.messages if b'"tool"' in raw[:20]]
    told = [(result["tool_call_id"], result["content"]) for result in results]
    assert told == [("c2", "a.py"), ("c1", ""), ("c1", ""), ("c2", "both")]
    assert json.loads(session.members["tools"]) == [{"type": "function"}]


def test_what_no_model_made_is_no_call_and_several_are_one_that_cannot_be_compared():
    (session, _), _ = read(atif_tools())
    assert [call.at for call in session.calls] == [2, 5, 9]
    assert [call.hole for call in session.calls] == [False, False, True]
    assert session.calls[1].usage == Usage(input=1000, cache_read=100, output=50)


def test_a_sub_agent_inside_has_a_session_with_a_parent():
    (_, child), _ = read(atif_tools())
    assert (child.name, child.parent) == ("child", "s")


def test_who_summarises_belongs_to_the_one_whose_history_it_is():
    value = json.loads(terminus_raw())
    value["agent"] |= {"name": "terminus-2-summarization-answers"}
    value["agent"]["extra"] = {"parent_session_id": "s"}
    (session,), _ = read(json.dumps(value).encode())
    assert (session.harness, session.parent) == ("terminus-2", "s")
    assert session.calls[0].hole


@pytest.mark.parametrize("version", ["1.0", "1.4", "1.8", "2.0"])
def test_every_version_is_known(version):
    value = {**json.loads(terminus()), "schema_version": f"ATIF-v{version}"}
    sessions, _ = read(json.dumps(value).encode())
    assert len(sessions) == 1
