"""Questions of our own are valid on every wire, and only a whole answer is one."""

import json

import pytest

from cuesta.dialects.registry import DIALECTS
from cuesta.testing.simulator import Conditions, judge_of

PROMPT = "Sum it up.\nNow: é 🚀"
TOOLS = [{"name": "bash", "input_schema": {"type": "object"}}]
ANTHROPIC = {
    "model": "claude-opus-5-5", "max_tokens": 32_000, "system": [{"type": "text", "text": "Be."}],
    "metadata": {"user_id": "u"}, "tools": TOOLS, "tool_choice": {"type": "any"}, "stream": True,
    "thinking": {"type": "adaptive"}, "messages": [{"role": "user", "content": "Go."}],
}  # fmt: skip
CHAT = {
    "model": "gpt-6", "max_completion_tokens": 9, "stream": True, "tools": [], "n": 2,
    "messages": [{"role": "user", "content": "Go."}],
}  # fmt: skip
RESPONSES = {
    "model": "gpt-6", "instructions": "Be.", "store": False, "stream": True, "tools": [],
    "include": ["reasoning.encrypted_content"], "input": [{"role": "user", "content": "Go."}],
}  # fmt: skip
BODIES = {"anthropic": ANTHROPIC, "openai_chat": CHAT, "openai_responses": RESPONSES}


def question(wire, body):
    dialect = DIALECTS[wire]
    return json.loads(dialect.asking(dialect.read(json.dumps(body).encode()), PROMPT, 800))


@pytest.mark.parametrize("wire", BODIES)
def test_a_question_is_valid_and_takes_over_what_the_login_needs(wire):
    asked = question(wire, BODIES[wire])
    verdict = judge_of(wire, Conditions()).verdict(json.dumps(asked).encode(), ())
    assert verdict.refusal is None
    assert (
        asked.keys()
        == {
            "anthropic": {"model", "system", "metadata", "max_tokens", "messages"},
            "openai_chat": {"model", "max_completion_tokens", "messages"},
            "openai_responses": {"model", "instructions", "store", "stream", "input"},
        }[wire]
    )
    assert PROMPT in json.dumps(asked, ensure_ascii=False).replace("\\n", "\n")


def test_a_limit_is_said_as_the_client_says_it():
    assert question("anthropic", ANTHROPIC)["max_tokens"] == 800
    assert question("openai_chat", CHAT)["max_completion_tokens"] == 800
    assert question("openai_chat", {**CHAT, "max_tokens": 5})["max_tokens"] == 800
    assert question("openai_responses", {**RESPONSES, "max_output_tokens": 5})[
        "max_output_tokens"
    ] == 800  # fmt: skip


def block(kind, text):
    return {"type": kind, "text": text}


def anthropic(stop, *content):
    return {"type": "message", "stop_reason": stop, "content": list(content)}


def chat(stop, content):
    return {"choices": [{"finish_reason": stop, "message": {"content": content}}]}


def responses(status, *content):
    item = {"type": "message", "content": list(content)}
    return {"status": status, "output": [{"type": "reasoning"}, item]}


SAID = [
    ("anthropic", anthropic("end_turn", {"type": "thinking"}, block("text", "a"))),
    ("openai_chat", chat("stop", "a")),
    ("openai_chat", chat("stop", [block("text", "a")])),
    ("openai_responses", responses("completed", block("output_text", "a"))),
]
UNSAID = [
    ("anthropic", anthropic("max_tokens", block("text", "a"))),
    ("anthropic", anthropic("refusal", block("text", "a"))),
    ("anthropic", {"type": "error", "error": {"message": "a"}}),
    ("anthropic", anthropic("end_turn")),
    ("openai_chat", chat("length", "a")),
    ("openai_chat", chat("content_filter", "a")),
    ("openai_chat", chat("stop", None)),
    ("openai_chat", {"choices": []}),
    ("openai_responses", responses("incomplete", block("output_text", "a"))),
    ("openai_responses", responses("completed", {"type": "refusal", "refusal": "a"})),
]


@pytest.mark.parametrize(("wire", "answer"), SAID)
def test_a_whole_answer_is_read(wire, answer):
    assert DIALECTS[wire].said("application/json", json.dumps(answer).encode()) == "a"


@pytest.mark.parametrize(("wire", "answer"), UNSAID)
def test_a_refusal_or_an_answer_cut_short_is_none(wire, answer):
    assert DIALECTS[wire].said("application/json", json.dumps(answer).encode()) == ""


@pytest.mark.parametrize("junk", [b"", b"{", b"[]", b"null", b"\xff", b'{"choices":3,"content":1}'])
@pytest.mark.parametrize("wire", BODIES)
def test_junk_says_nothing(wire, junk):
    for kind in ("application/json", "text/event-stream", ""):
        assert DIALECTS[wire].said(kind, junk) == ""


@pytest.mark.parametrize("told_at_end", [True, False])
def test_a_streamed_answer_is_read_at_its_end(told_at_end):
    whole = responses("completed", block("output_text", "a"))
    last = whole if told_at_end else {**whole, "output": []}
    events = [
        {"type": "response.created", "response": {"status": "in_progress", "output": []}},
        *({"type": "response.output_item.done", "item": item} for item in whole["output"]),
        {"type": "response.completed", "response": last},
    ]
    stream = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    assert DIALECTS["openai_responses"].said("text/event-stream", stream) == "a"
    cut = stream[: stream.rindex(b"data:")]
    assert DIALECTS["openai_responses"].said("text/event-stream", cut) == ""
