"""Codex's rollouts."""

from saved_reading import messages, read
from saved_samples import CodexLines, codex, jsonl

from cuesta.core.usage import Usage


def sessions(lines):
    return read(jsonl(lines), "codex")


def kinds(session):
    return [m.get("role") or m["type"] for m in messages(session)]


def test_a_rollout_is_items_calls_and_bills():
    (session,), problems = sessions(codex())
    assert problems == {}
    assert kinds(session) == [
        "developer", "user", "user",
        "reasoning", "assistant", "function_call", "function_call",
        "function_call_output", "function_call_output",
        "assistant", "user",
        "reasoning", "function_call", "function_call_output", "assistant",
    ]  # fmt: skip
    assert [c.at for c in session.calls] == [3, 9, 11, 14]
    assert session.calls[1].usage == Usage(104, 896, 100, 0, 8)
    assert {c.model for c in session.calls} == {"gpt-5.5-codex"}
    assert (session.name, session.wire) == ("thread-1", "openai_responses")
    assert session.members == {"instructions": b'"You are Codex."'}


def test_a_compaction_is_named_and_the_summary_that_was_asked_for_is_no_answer():
    (session,), _ = sessions(codex())
    assert session.compactions == (2,)
    assert [c.hole for c in session.calls] == [False, False, True, False]
    assert "Handing over" not in str(messages(session))


def test_older_rollouts_count_behind_results_and_some_of_them_twice():
    talk = CodexLines()
    talk.message("user", "Look.")
    talk.think()
    talk.call("c1", "ls")
    talk.output("c1", "x")
    talk.call("c2", "cat x")
    talk.output("c2", "text")
    talk.counted(110, 100, 0, 0, 10)
    talk.counted(110, 100, 0, 0, 10)
    talk.add("event_msg", type="token_count", info=None)
    talk.message("assistant", "It is x.")
    talk.counted(250, 130, 64, 0, 10)
    (session,), _ = sessions(talk.lines)
    assert [(c.at, c.usage.prompt) for c in session.calls] == [(1, 100), (6, 130)]


def test_without_bills_an_answer_ends_at_its_results():
    lines = [line for line in codex() if line["type"] != "token_usage_record"]
    lines = [line for line in lines if line["payload"].get("type") != "token_count"]
    (session,), _ = sessions(lines)
    assert [c.at for c in session.calls] == [3, 9, 11, 14]
    assert {c.usage for c in session.calls} == {None}


def test_turns_that_were_taken_back_are_a_branch():
    talk = CodexLines()
    talk.message("user", "Look.")
    talk.message("assistant", "I look.")
    talk.record(100, 0, 0, 10)
    talk.message("user", "Now fix it.")
    talk.message("assistant", "Fixed.")
    talk.record(120, 0, 0, 10)
    talk.add("event_msg", type="thread_rolled_back", num_turns=1)
    talk.message("user", "Rather not.")
    talk.message("assistant", "Good.")
    talk.record(121, 0, 0, 10)
    (first, second), _ = sessions(talk.lines)
    assert [len(first.calls), len(second.calls), second.shared] == [2, 1, 2]
    assert [len(first.messages), len(second.messages)] == [4, 4]


def test_a_spawned_thread_names_who_started_it():
    spawn = {"thread_spawn": {"parent_thread_id": "thread-0", "depth": 1}}
    talk = CodexLines(source={"subagent": spawn})
    talk.message("user", "Count.")
    talk.message("assistant", "Twelve.")
    (session,), _ = sessions(talk.lines)
    assert session.parent == "thread-0"


def test_what_codex_notes_for_itself_is_not_sent():
    talk = CodexLines()
    talk.add(
        "response_item", type="message", role="user", content=[],
        internal_chat_message_metadata_passthrough={"turn_id": "t"},
    )  # fmt: skip
    (session,), _ = sessions(talk.lines)
    assert messages(session) == [{"type": "message", "role": "user", "content": []}]
