"""Gemini CLI's chats, in both of their forms."""

from saved_reading import messages, read
from saved_samples import (
    GEMINI_HEAD,
    gemini,
    gemini_call,
    gemini_cli,
    gemini_lines,
    gemini_messages,
    gemini_user,
    jsonl,
)

from cuesta.core.usage import Usage


def sessions(lines):
    return read(jsonl(lines), "gemini-cli")


def test_a_chat_is_messages_results_and_bills():
    (session,), problems = read(gemini_cli(), "gemini-cli")
    assert problems == {}
    assert [m["role"] for m in messages(session)] == [
        "user", "assistant", "tool", "tool", "assistant", "user", "assistant",
    ]  # fmt: skip
    assert [c.at for c in session.calls] == [1, 4, 6]
    assert session.calls[0].usage == Usage(input=460, cache_read=640, output=50)
    assert {c.thoughts for c in session.calls} == {30}
    assert (session.name, session.wire) == ("chat-1", "openai_chat")
    result = messages(session)[2]
    assert (result["tool_call_id"], result["content"]) == ("c1", '{"output": "x"}')


def test_lines_say_the_same_as_the_document():
    (whole,), _ = read(gemini_cli(), "gemini-cli")
    (lined,), problems = sessions(gemini_lines())
    assert problems == {}
    assert lined == whole


def test_what_was_taken_back_is_a_branch():
    lines = [*gemini_lines(), {"$rewindTo": "u2"}, gemini_user("u3", "Not now."), gemini(4)]
    (first, second), _ = sessions(lines)
    assert [len(first.calls), len(second.calls)] == [3, 1]
    assert second.shared == 5
    assert messages(second)[5]["content"] == "Not now."


def test_to_take_back_what_is_not_there_means_the_beginning():
    (first, second), _ = sessions([*gemini_lines(), {"$rewindTo": "?"}, gemini(4)])
    assert [len(first.messages), len(second.messages), second.shared] == [7, 1, 0]


def test_a_history_that_lost_messages_was_compacted_and_goes_on_here():
    kept = gemini_messages()[-1]
    summary = gemini_user("s1", [{"text": "Summary: x."}])
    changes = {"$set": {"messages": [summary, kept]}}
    lines = [*gemini_lines(), changes, gemini_user("u3", "And?"), gemini(4)]
    (session,), problems = sessions(lines)
    assert problems == {}
    assert session.compactions == (3,)
    assert [c.hole for c in session.calls] == [False, False, False, True]
    assert len(session.messages) == 9
    assert "Summary" not in str(messages(session))


def test_a_history_that_only_holds_results_again_changes_nothing():
    told = gemini_call("c1", "x")["result"] + gemini_call("c2", "y")["result"]
    spoken = [m for m in gemini_messages() if m["type"] != "info"]
    again = [spoken[0], spoken[1], gemini_user("r1", told), *spoken[2:]]
    lines = [*gemini_lines(), {"$set": {"messages": again}}, gemini_user("u3", "And?"), gemini(4)]
    (session,), _ = sessions(lines)
    assert session.compactions == ()
    assert len(session.messages) == 9
    assert not any(c.hole for c in session.calls)


def test_a_result_that_was_masked_makes_a_hole():
    spoken = [m for m in gemini_messages() if m["type"] != "info"]
    masked = {**spoken[1], "toolCalls": [gemini_call("c1", "masked"), gemini_call("c2", "y")]}
    changes = {"$set": {"messages": [spoken[0], masked, *spoken[2:]]}}
    lines = [*gemini_lines(), changes, gemini_user("u3", "And?"), gemini(4)]
    (session,), _ = sessions(lines)
    assert [c.hole for c in session.calls] == [False, False, False, True]
    assert "masked" not in str(messages(session))


def test_calls_and_pictures_that_are_parts_are_read():
    picture = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    asked = {"functionCall": {"id": "c9", "name": "ls", "args": {}}}
    lines = [
        GEMINI_HEAD,
        gemini_user("u1", [{"text": "Look at this."}, picture]),
        gemini(1, content=[{"text": "Hm.", "thought": True}, {"text": "So."}, asked]),
        gemini_user("r1", gemini_call("c9", "x")["result"]),
    ]
    (session,), _ = sessions(lines)
    user, answer, result = messages(session)
    assert user["content"][1]["image_url"]["url"] == "data:image/png;base64,AAAA"
    assert (answer["content"], answer["tool_calls"][0]["id"]) == ("So.", "c9")
    assert (result["role"], result["tool_call_id"]) == ("tool", "c9")
    assert GEMINI_HEAD["sessionId"] == session.name
