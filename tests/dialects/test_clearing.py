"""A cleared result keeps everything but what it held, on every wire, byte for byte."""

import json

import pytest

from cuesta.core.meter import COMMON
from cuesta.core.transcript import CLEARED, outline
from cuesta.dialects.raw import split_array, split_object
from cuesta.dialects.registry import DIALECTS
from cuesta.testing.histories import ClientHistory

LONG = "line of output\n" * 40
PICTURE = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}


def summed(wire, raw):
    message, digest = DIALECTS[wire].parse(raw)
    return message, outline(message, digest, COMMON, human=False)


def result(content, **more):
    block = {"type": "tool_result", "tool_use_id": "a", "content": content, **more}
    return {"role": "user", "content": [block]}


def output(value, kind="function_call_output"):
    return {"type": kind, "call_id": "a", "output": value}


def tool(content):
    return {"role": "tool", "tool_call_id": "a", "content": content}


TEXT, INPUT = {"type": "text", "text": LONG}, {"type": "input_text", "text": LONG}
GOES = [
    ("anthropic", result(LONG)),
    ("anthropic", result(LONG, is_error=True, cache_control={"type": "ephemeral"})),
    ("anthropic", result([TEXT])),
    ("anthropic", result([{"type": "image", "source": PICTURE}])),
    ("openai_chat", tool(LONG)),
    ("openai_chat", tool([TEXT, TEXT])),
    ("openai_responses", output(LONG)),
    ("openai_responses", output([INPUT])),
    ("openai_responses", output(LONG, "custom_tool_call_output")),
]
STAYS = [
    ("anthropic", result("ok")),
    ("anthropic", result(CLEARED)),
    ("anthropic", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}),
    ("anthropic", result([TEXT, {"type": "tool_reference", "tool_name": "x"}])),
    ("anthropic", {"role": "user", "content": LONG}),
    ("anthropic", {"role": "assistant", "content": [{"type": "text", "text": LONG}]}),
    ("openai_chat", tool("ok")),
    ("openai_chat", {"role": "user", "content": LONG}),
    ("openai_chat", {"role": "assistant", "content": LONG}),
    ("openai_responses", output("ok")),
    ("openai_responses", output([{"stdout": LONG, "stderr": ""}], "shell_call_output")),
    ("openai_responses", output({"type": "computer_screenshot"}, "computer_call_output")),
    ("openai_responses", {"type": "message", "role": "user", "content": [INPUT]}),
]


@pytest.mark.parametrize(("wire", "message"), GOES)
def test_a_long_result_makes_room_for_the_mark_and_keeps_the_rest(wire, message):
    raw = json.dumps(message).encode()
    sent = json.loads(DIALECTS[wire].cleared(raw))
    expected = json.loads(raw)
    holder = expected["content"][0] if wire == "anthropic" else expected
    holder["output" if wire == "openai_responses" else "content"] = CLEARED
    assert sent == expected
    before, after = (summed(wire, r)[1] for r in (raw, json.dumps(sent).encode()))
    assert before.reclaim == before.tokens - after.tokens > 0
    assert after.reclaim == 0
    assert after.answers == before.answers


@pytest.mark.parametrize(("wire", "message"), STAYS)
def test_what_is_short_or_no_plain_result_stays(wire, message):
    raw = json.dumps(message).encode()
    assert json.loads(DIALECTS[wire].cleared(raw)) == message
    read, sums = summed(wire, raw)
    assert (read.clearable, sums.reclaim) == ((), 0)


def test_beside_a_result_what_a_person_says_stays_and_so_does_another_result():
    said = {"type": "text", "text": LONG}
    short = {"type": "tool_result", "tool_use_id": "b", "content": "ok"}
    message = {"role": "user", "content": [*result(LONG)["content"], short, said]}
    sent = json.loads(DIALECTS["anthropic"].cleared(json.dumps(message).encode()))
    assert sent["content"] == [*result(CLEARED)["content"], short, said]


@pytest.mark.parametrize("wire", DIALECTS)
def test_in_generated_histories_the_estimate_knows_what_clearing_saves(wire):
    seen = 0
    for seed in range(4):
        history = ClientHistory(seed, wire=wire, turns=20)
        while (body := history.request()) is not None:
            last = body
            history.answer(lambda text, _: f"sealed {text}")
        for raw in split_array(split_object(last)[DIALECTS[wire].where]):
            before, (_, after) = summed(wire, raw)[1], summed(wire, DIALECTS[wire].cleared(raw))
            assert before.tokens - before.reclaim == after.tokens
            seen += before.reclaim > 0
    assert seen
