"""Claude Code's saved sessions."""

import pytest
from saved_reading import messages, read, said
from saved_samples import NOON, ClaudeLines, call, claude_agent, claude_code, jsonl, text

from cuesta.core.usage import Usage


def sessions(lines):
    return read(jsonl(lines), "claude-code")


@pytest.fixture
def both():
    (first, second), problems = sessions(claude_code())
    assert problems == {}
    return first, second


def test_an_answer_saved_block_by_block_is_one_message(both):
    assert said(both[0])[2:5] == [
        ("assistant", ["Hm.", "I look.", "c1", "c2"]),
        ("user", ["c1"]),
        ("user", ["c2"]),
    ]
    call = both[0].calls[0]
    assert (call.at, call.model) == (2, "claude-sonnet-4-5")
    assert call.usage == Usage(input=3, cache_read=1000, cache_write_5m=50, output=90)
    assert call.time == NOON + 4


def test_what_the_program_tells_beside_a_prompt_is_a_message_and_its_prompt_a_member(both):
    assert said(both[0])[:2] == [
        ("user", "Find the bug."),
        ("system", "<system-reminder>\nThe date is today.\n</system-reminder>"),
    ]
    assert both[0].members.keys() == {"system", "tools"}


def test_who_goes_back_makes_a_branch_and_the_shared_calls_count_once(both):
    first, second = both
    assert said(first)[5:] == [
        ("assistant", ["It is in x."]),
        ("user", "Now fix it."),
        ("assistant", ["Fixed."]),
    ]
    assert said(second)[:6] == said(first)[:6]
    assert said(second)[6] == ("user", "Rather write a test.")
    assert (first.name, second.name) == ("session-1", "session-1/2")
    assert (first.shared, second.shared) == (0, 6)
    assert [len(first.calls), len(second.calls)] == [3, 3]
    assert not any(c.hole for c in first.calls)


def test_a_compaction_is_named_and_its_summary_is_no_message(both):
    second = both[1]
    assert second.compactions == (2,)
    assert [c.hole for c in second.calls] == [False, False, True]
    words = str(said(second))
    assert "being continued" not in words
    assert words.count("The date is today.") == 1
    assert said(second)[10][1] == "<command-name>/compact</command-name>"


def test_what_the_program_says_in_the_model_s_place_is_no_message(both):
    assert "API Error" not in str(said(both[1]))


def test_a_sub_agent_s_file_names_who_started_it():
    (agent,), _ = sessions(claude_agent())
    assert (agent.name, agent.parent) == ("agent-1", "session-1")
    assert len(agent.calls) == 2


def test_older_sidechains_among_the_lines_become_sessions_of_their_own():
    talk = ClaudeLines()
    talk.user("Ask somebody.")
    main = talk.answer("a1", call("c1", command="Task"), 9)
    side = ClaudeLines(isSidechain=True)
    side.lines = talk.lines
    side.user("Count.", None)
    side.answer("b1", text("Twelve."), 3)
    talk.result("c1", "Twelve.", main)
    talk.answer("a2", text("Twelve."), 3)
    (first, second), problems = sessions(talk.lines)
    assert problems == {}
    assert said(first) == [
        ("user", "Ask somebody."),
        ("assistant", ["c1"]),
        ("user", ["c1"]),
        ("assistant", ["Twelve."]),
    ]
    assert said(second) == [("user", "Count."), ("assistant", ["Twelve."])]
    assert (first.parent, second.parent) == ("", "session-1")


def test_a_lost_line_makes_a_hole_and_loses_nothing_else():
    whole = claude_code()
    count = sum(len(s.messages) - s.shared for s in sessions(whole)[0])
    for place, line in enumerate(whole):
        if line["type"] not in {"user", "assistant"} or "message" not in line:
            continue
        found, problems = sessions([*whole[:place], *whole[place + 1 :]])
        assert problems == {}
        kept = sum(len(s.messages) - s.shared for s in found)
        assert count - 1 <= kept <= count, line
        behind = [c for s in found for c in s.calls if c.time >= NOON + place]
        assert not behind or any(c.hole for c in behind) or line.get("isCompactSummary"), line


def test_lines_that_stand_there_twice_count_once():
    lines = claude_code()
    once, _ = sessions(lines)
    twice, problems = sessions([*lines, *lines])
    assert twice == once
    assert problems == {"a repeated line": sum("uuid" in line for line in lines)}


def test_results_that_nobody_asked_for_are_kept_and_make_a_hole():
    talk = ClaudeLines()
    talk.user("Look.")
    talk.answer("a1", text("I look."), 3)
    talk.result("lost", "x")
    talk.answer("a2", text("It is x."), 3)
    (session,), _ = sessions(talk.lines)
    assert [c.hole for c in session.calls] == [False, True]
    assert messages(session)[2]["content"][0]["tool_use_id"] == "lost"


def test_a_cleared_history_makes_a_hole():
    talk = ClaudeLines()
    talk.user("Look.")
    talk.answer("a1", text("I look."), 3)
    talk.add("system", subtype="microcompact_boundary")
    talk.user("And?")
    talk.answer("a2", text("It is x."), 3)
    (session,), _ = sessions(talk.lines)
    assert [c.hole for c in session.calls] == [False, True]
    assert session.compactions == ()


def test_what_was_typed_while_the_model_worked_is_a_message():
    talk = ClaudeLines()
    talk.user("Look.")
    talk.add("attachment", attachment={"type": "queued_command", "prompt": "Hurry up."})
    talk.answer("a1", text("I look."), 3)
    (session,), _ = sessions(talk.lines)
    assert said(session)[1] == ("user", "Hurry up.")


def test_a_bill_of_nothing_tells_nothing():
    talk = ClaudeLines()
    talk.user("Look.")
    talk.answer("a1", text("I look."), 0, read=0, written=0)
    talk.lines[-1]["message"]["usage"]["input_tokens"] = 0
    (session,), _ = sessions(talk.lines)
    assert session.calls[0].usage is None
