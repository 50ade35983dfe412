"""What a stream begins with: something of an answer, or an error in the place of one."""

import json

import pytest

from cuesta.dialects.beginnings import Beginning
from cuesta.dialects.refusals import Refusal, refusal

STREAM = "text/event-stream; charset=utf-8"
TOO_LONG = {"code": "context_length_exceeded", "message": "Your input exceeds the context window"}
FAILED = {"type": "response.failed", "response": {"status": "failed", "error": TOO_LONG}}
ROLE = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}
WORD = {"choices": [{"index": 0, "delta": {"content": "I"}}]}
END = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}

ERRORS = {
    "anthropic, at once": [
        {"type": "error", "error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}
    ],
    "anthropic, behind announcements": [
        {"type": "message_start", "message": {"usage": {"input_tokens": 3}}},
        {"type": "content_block_start", "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        {"type": "error", "error": {"message": "Input is too long for requested model."}},
    ],
    "responses": [{"type": "response.created"}, {"type": "response.in_progress"}, FAILED],
    "responses, as an error": [{"type": "response.created"}, {"type": "error", **TOO_LONG}],
    "chat": [{"error": TOO_LONG}],
    "chat, behind the role": [ROLE, {"error": TOO_LONG}],
}
ANSWERS = {
    "anthropic": [{"type": "ping"}, {"type": "content_block_delta", "delta": {"text": "error"}}],
    "responses": [{"type": "response.created"}, {"type": "response.output_text.delta"}],
    "responses, whole": [{"type": "response.completed", "response": {"error": None}}],
    "chat": [ROLE, WORD],
    "chat, empty": [ROLE, END],
    "unknown": [{"type": "something.new"}],
}


def written(events, newline="\n"):
    lines = (f"event: x{newline}data: {json.dumps(event)}{newline}{newline}" for event in events)
    return "".join(lines).encode()


def fed(data, size, content_type=STREAM):
    beginning = Beginning(content_type)
    for start in range(0, len(data), size):
        beginning.feed(data[start : start + size])
    return beginning


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("events", ERRORS.values(), ids=ERRORS.keys())
def test_an_error_in_the_place_of_an_answer_is_read(events, newline, size):
    beginning = fed(written(events, newline), size)
    assert beginning.settled
    assert refusal(0, beginning.error) is Refusal.OVERFLOW


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("events", ANSWERS.values(), ids=ANSWERS.keys())
def test_an_answer_is_let_through_with_its_first_word(events, size):
    assert not fed(written(events[:-1]), size).settled
    beginning = fed(written(events), size)
    assert (beginning.settled, beginning.error) == (True, b"")


def test_an_error_that_follows_the_first_word_is_the_clients():
    beginning = fed(written([WORD, {"error": TOO_LONG}]), 10_000)
    assert (beginning.settled, beginning.error) == (True, b"")


@pytest.mark.parametrize(
    "data",
    [b"", b"data: {", b"data: []\n\n", b": comment\n\n", b"\xff\xfe\n" * 9, b"data: {1}\n\n"],
)
def test_what_cannot_be_read_settles_nothing(data):
    beginning = fed(data, 3)
    assert (beginning.settled, beginning.error) == (False, b"")


def test_anything_but_a_stream_is_settled_at_once():
    beginning = fed(written(ERRORS["chat"]), 9, "application/json")
    assert (beginning.settled, beginning.error) == (True, b"")
