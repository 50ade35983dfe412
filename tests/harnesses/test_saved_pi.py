"""Pi's saved sessions."""

import json

from saved_reading import messages, read, said
from saved_samples import PiLines, jsonl, pi, pi_call, text

from cuesta.core.usage import Usage


def sessions(lines):
    return read(jsonl(lines), "pi")


def test_a_tree_is_its_branches_and_shared_calls_count_once():
    (first, second), problems = sessions(pi())
    assert problems == {}
    assert [len(first.calls), len(second.calls), second.shared] == [3, 2, 4]
    assert said(second)[:4] == said(first)[:4]
    assert said(second)[4] == ("user", ["Rather write a test."])
    assert (first.name, second.name) == ("pi-1", "pi-1/2")


def test_messages_are_written_on_the_anthropic_wire():
    (first, _), _ = sessions(pi())
    assert messages(first)[1]["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}},
    ]
    assert messages(first)[2]["content"][0]["tool_use_id"] == "c1"
    assert first.calls[0].usage == Usage(5, 1000, 12, 8, 9)


def test_prompt_and_tools_are_members_and_nothing_is_hidden():
    (first, second), _ = sessions(pi())
    assert json.loads(first.members["system"]) == "You are Pi.\n\n/w"
    assert json.loads(first.members["tools"])[0]["input_schema"] == {"type": "object"}
    assert first.whole
    assert second.whole


def test_a_compaction_is_named():
    (first, second), _ = sessions(pi())
    assert (first.compactions, second.compactions) == ((2,), ())
    assert [c.hole for c in first.calls] == [False, False, True]


def test_an_answer_that_was_given_up_before_it_began_is_no_message():
    (first, _), _ = sessions(pi())
    assert said(first)[-1] == ("user", ["Ran `ls`\n```\nx\n\n```\n\nCommand exited with code 1"])


def test_the_first_version_has_no_tree():
    talk = PiLines()
    talk.say("user", "Look.")
    talk.answer(pi_call("c1"))
    talk.result("c1", "x")
    talk.answer(text("It is x."))
    bare = [{k: v for k, v in line.items() if k not in {"id", "parentId"}} for line in talk.lines]
    with_tree, _ = sessions(talk.lines)
    without, problems = sessions([talk.lines[0], *bare[1:]])
    assert without == with_tree
    assert problems == {}


def test_a_lost_parent_makes_a_hole():
    talk = PiLines()
    talk.say("user", "Look.")
    talk.answer(text("I look."))
    talk.say("user", "And?", parent="lost")
    talk.answer(text("It is x."))
    (session,), _ = sessions(talk.lines)
    assert [c.hole for c in session.calls] == [False, True]


def test_what_others_say_in_the_person_s_place_is_sent():
    talk = PiLines()
    talk.add("custom_message", customType="x", content="Injected.")
    talk.add("branch_summary", summary="tried y", fromId="e9")
    talk.say("bashExecution", "", command="ls", output="", excludeFromContext=True)
    talk.add("context_edit", targetId="e1", replacement=None)
    picture = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    talk.say("user", [text("Look."), picture])
    talk.answer({"type": "thinking", "thinking": "", "thinkingSignature": "s", "redacted": True})
    (session,), _ = sessions(talk.lines)
    injected, summary, look, answer = messages(session)
    assert injected["content"][0]["text"] == "Injected."
    assert "<summary>\ntried y</summary>" in summary["content"][0]["text"]
    assert look["content"][1]["source"]["data"] == "AAAA"
    assert answer["content"] == [{"type": "redacted_thinking", "data": "s"}]
    assert session.calls[0].hole
