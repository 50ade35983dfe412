"""Plain lists of messages, in the three wires."""

import json

import pytest
from saved_reading import read
from saved_samples import jsonl

from cuesta.core.usage import Usage

CHAT = [
    {"role": "system", "content": "You are an agent."},
    {"role": "user", "content": "Find the bug."},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "x"},
    {"role": "assistant", "content": "It is in x."},
]  # fmt: skip
ANTHROPIC = [
    {"role": "user", "content": "Find the bug."},
    {"role": "assistant", "content": [
        {"type": "tool_use", "id": "c1", "name": "ls", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "x"}]},
    {"role": "assistant", "content": "It is in x."},
]  # fmt: skip
RESPONSES = [
    {"role": "user", "content": "Find the bug."},
    {"type": "reasoning", "summary": []},
    {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "x"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "It is in x."}]},
]
LISTS = {"openai_chat": CHAT, "anthropic": ANTHROPIC, "openai_responses": RESPONSES}
WAYS = {
    "a list": lambda listed: json.dumps(listed, indent=1).encode(),
    "a list on one line": lambda listed: json.dumps(listed).encode(),
    "lines": jsonl,
    "a request": lambda listed: json.dumps({"model": "m", "messages": listed}).encode(),
}


def sessions(content):
    return read(content, "plain")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("wire", LISTS)
def test_a_list_is_read_in_its_wire(wire, way):
    (session,), problems = sessions(WAYS[way](LISTS[wire]))
    assert problems == {}
    assert session.wire == wire
    assert [json.loads(m) for m in session.messages] == LISTS[wire]
    assert len(session.calls) == 2
    assert not any(c.hole for c in session.calls)
    assert {c.usage for c in session.calls} == {None}


def test_a_request_has_members_and_is_the_whole_prompt():
    request = {"model": "m", "system": "s", "tools": [], "messages": ANTHROPIC[:1]}
    (session,), _ = sessions(json.dumps(request).encode())
    assert (session.wire, session.whole, dict(session.members)) == (
        "anthropic", True, {"system": b'"s"'},
    )  # fmt: skip


def test_input_is_a_list_of_items():
    (session,), _ = sessions(json.dumps({"input": RESPONSES[:1], "instructions": "i"}).encode())
    assert session.wire == "openai_responses"
    assert session.members == {"instructions": b'"i"'}


def test_lines_of_requests_are_a_session_each():
    content = jsonl([{"id": "one", "messages": CHAT}, {"messages": CHAT[:2]}])
    found, problems = sessions(content)
    assert [(s.name, len(s.messages)) for s in found] == [("one", 5), ("2", 2)]
    assert problems == {}


def test_a_bill_of_a_message_s_own_is_read():
    usage = {"prompt_tokens": 100, "completion_tokens": 7}
    (session,), _ = sessions(jsonl([CHAT[1], {**CHAT[4], "usage": usage, "model": "m"}]))
    assert (session.calls[0].usage, session.calls[0].model) == (Usage(input=100, output=7), "m")


def test_what_is_no_message_of_the_wire_makes_a_hole():
    (session,), problems = sessions(json.dumps([CHAT[1], {"role": "?"}, 5, CHAT[4]]).encode())
    assert problems == {"not a message of its wire": 2}
    assert [c.hole for c in session.calls] == [True]
