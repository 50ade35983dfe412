"""Every rule of Chat Completions: what breaks it, and the nearest thing that does not."""

import json

import pytest

from cuesta.testing.simulator import ChatJudge, Conditions, judge_of
from cuesta.testing.simulator.chat import SOURCES

STRICT = Conditions(compatible=False)
DEEPSEEK = Conditions(reasoning_content="required")
QWEN = Conditions(template="qwen")
SMALL = Conditions(window=500)
HI = {"role": "user", "content": "hi"}


def text(words):
    return {"type": "text", "text": words}


def user(*parts):
    return {"role": "user", "content": list(parts)}


def call(name, arguments="{}", **more):
    function = {"name": "bash", "arguments": arguments}
    return {"id": name, "type": "function", "function": function, **more}


def calling(*names, **more):
    return {"role": "assistant", "content": None, "tool_calls": [call(n) for n in names], **more}


def answering(calls):
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(name, content="out"):
    return {"role": "tool", "tool_call_id": name, "content": content}


def said(words="So."):
    return {"role": "assistant", "content": words}


def body(*messages, **more):
    return {"model": "mock-model", "messages": list(messages), **more}


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
CUSTOM = {"id": "c1", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}

BREACHES = [
    ("fields", None, {"messages": [HI]}),
    ("fields", None, {"model": "", "messages": [HI]}),
    ("fields", None, {"model": "m"}),
    ("fields", None, {"model": "m", "messages": "hi"}),
    ("fields", None, body("hi")),
    ("fields", None, body({"content": "hi"})),
    ("fields", None, body({"role": "user"})),
    ("fields", None, body({"role": "user", "content": None})),
    ("fields", None, body({"role": "user", "content": 5})),
    ("fields", None, body(user("hi"))),
    ("fields", None, body(user({"text": "hi"}))),
    ("fields", None, body(user({"type": "text"}))),
    ("fields", None, body(user({"type": "text", "text": 5}))),
    ("fields", None, body(user({"type": "image_url", "image_url": "http://x"}))),
    ("fields", None, body(HI, calling("c1"), {"role": "tool", "content": "x"})),
    ("fields", None, body(HI, calling("c1"), {"role": "tool", "tool_call_id": "c1"})),
    ("fields", None, body(HI, calling("c1"), {**result("c1"), "tool_call_id": 1})),
    ("fields", None, body(HI, answering("c1"), result("c1"))),
    ("fields", None, body(HI, answering(["c1"]), result("c1"))),
    ("fields", None, body(HI, answering([{"type": "function"}]), result("c1"))),
    ("fields", None, body(HI, answering([{"id": "c1", "type": "function"}]), result("c1"))),
    ("fields", None, body(HI, answering([call("c1", {})]), result("c1"))),
    ("empty", None, body()),
    ("empty", None, body(user())),
    ("empty", None, body(HI, answering([]))),
    ("roles", None, body({"role": "function", "content": "x"})),
    ("roles", None, body({"role": "model", "content": "x"})),
    ("parts", None, body(user({"type": "input_text", "text": "hi"}))),
    ("parts", None, body(HI, {"role": "assistant", "content": [IMAGE]}, HI)),
    ("parts", None, body({"role": "system", "content": [IMAGE]}, HI)),
    ("parts", STRICT, body(HI, calling("c1"), result("c1", [IMAGE]))),
    ("parts", None, body(user({"type": "cuesta_note"}))),
    ("assistant", None, body(HI, {"role": "assistant"}, HI)),
    ("assistant", None, body(HI, {"role": "assistant", "content": None}, HI)),
    ("assistant", None, body(HI, said(""), HI)),
    ("assistant", None, body(HI, {**said(None), "reasoning_content": "hm"}, HI)),
    ("assistant", STRICT, body(HI, {"role": "assistant", "content": None}, HI)),
    ("call-shape", None, body(HI, answering([call("c1", type="tool")]), result("c1"))),
    ("call-shape", STRICT, body(HI, calling("c" * 41), result("c" * 41))),
    (
        "call-shape",
        STRICT,
        body(
            HI,
            answering([call("c1", function={"name": "a b", "arguments": "{}"})]),
            result("c1"),
        ),
    ),
    ("arguments", None, body(HI, answering([call("c1", '{"a"')]), result("c1"))),
    ("unique-ids", None, body(HI, calling("c1", "c1"), result("c1"))),
    ("unknown", STRICT, body({**HI, "cache_control": {}})),
    ("unknown", STRICT, body(HI, {**calling("c1"), "reasoning_content": "hm"}, result("c1"))),
    ("unknown", STRICT, body(HI, calling("c1"), {**result("c1"), "name": "bash"})),
    ("pairing", None, body(HI, calling("c1"))),
    ("pairing", None, body(HI, calling("c1"), HI)),
    ("pairing", None, body(HI, calling("c1"), HI, result("c1"))),
    ("pairing", None, body(HI, calling("c1"), {"role": "system", "content": "x"}, result("c1"))),
    ("pairing", None, body(HI, calling("c1", "c2"), result("c1"))),
    ("pairing", None, body(HI, calling("c1", "c2"), result("c1"), HI, result("c2"))),
    ("pairing", None, body(HI, calling("c1"), calling("c2"), result("c1"), result("c2"))),
    ("unexpected-result", None, body(result("c1"))),
    ("unexpected-result", None, body(HI, result("c1"))),
    ("unexpected-result", None, body(HI, calling("c1"), result("c1"), said(), result("c1"))),
    ("unexpected-result", None, body(HI, calling("c1"), result("c1"), HI, result("c1"))),
    ("unknown-result", None, body(HI, calling("c1"), result("c2"))),
    ("unknown-result", None, body(HI, calling("c1"), result("c1"), result("c9"))),
    ("single-result", None, body(HI, calling("c1"), result("c1"), result("c1"))),
    ("surrogate", None, body({"role": "user", "content": "\ud83d"})),
    ("reasoning", DEEPSEEK, body(HI, calling("c1"), result("c1"))),
    ("reasoning", DEEPSEEK, body(HI, calling("c1", reasoning_content=""), result("c1"))),
    ("template", QWEN, body(HI, {"role": "system", "content": "x"}, HI)),
    ("window", SMALL, body({"role": "user", "content": "x" * 3500})),
]

ACCEPTED = [
    (None, body(HI)),
    (None, body(user(text("hi"), text("you")))),
    (None, body({"role": "system", "content": "s"}, {"role": "developer", "content": "d"}, HI)),
    (None, body(HI, {"role": "system", "content": "later"}, HI)),
    (None, body(HI, HI)),
    (None, body(HI, said(), HI)),
    (None, body(HI, said())),
    (None, body(said("I begin."), HI)),
    (None, body(HI, calling("c1"), result("c1"))),
    (None, body(HI, calling("c1"), result("c1"), HI)),
    (None, body(HI, calling("c1", "c2"), result("c2"), result("c1"))),
    (None, body(HI, calling("c1"), result("c1"), calling("c1"), result("c1"))),
    (None, body(HI, {**calling("c1"), "content": "I look."}, result("c1"))),
    (None, body(HI, {**calling("c1"), "content": ""}, result("c1", ""))),
    (None, body(HI, calling("c1"), result("c1", [text("a"), text("b")]))),
    (None, body(HI, calling("c1"), result("c1", [IMAGE]))),
    (None, body(HI, {"role": "assistant", "content": [text("a")]}, HI)),
    (None, body(HI, {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}, HI)),
    (None, body(HI, {**said(None), "refusal": "no"}, HI)),
    (None, body(HI, answering([CUSTOM]), result("c1"))),
    (None, body(HI, answering([call("c1", "")]), result("c1"))),
    (None, body(HI, calling("c" * 41), result("c" * 41))),
    (None, body(HI, {**calling("c1"), "reasoning_content": "hm", "index": 0}, result("c1"))),
    (None, body(user(text("hi"), IMAGE, {"type": "input_audio", "input_audio": {}}))),
    (None, body(user({"type": "file", "file": {"file_id": "f"}}))),
    (None, body(user({"type": "future_block", "x": 1}))),
    (None, body({"role": "user", "content": "\U0001f600"}, surplus=1)),
    (STRICT, body({**HI, "name": "ann"})),
    (STRICT, body(HI, said(""), HI)),
    (STRICT, body(HI, answering([call("c1", '{"a"')]), result("c1"))),
    (STRICT, body(HI, calling("c" * 40), result("c" * 40))),
    (DEEPSEEK, body(HI, said(), HI)),
    (DEEPSEEK, body(HI, calling("c1", reasoning_content="hm"), result("c1"))),
    (DEEPSEEK, body(HI, calling("c1"), result("c1"), thinking={"type": "disabled"})),
    (SMALL, body({"role": "user", "content": "x" * 1700})),
]


@pytest.mark.parametrize(("rule", "conditions", "request_body"), BREACHES)
def test_a_breach_is_refused_by_its_rule(rule, conditions, request_body):
    refusal = ChatJudge(conditions).check(request_body)
    assert refusal is not None
    assert (refusal.rule, refusal.status) == (rule, 400)
    assert refusal.source == SOURCES[rule]
    assert "\0" not in json.dumps(refusal.body("req_1"))


@pytest.mark.parametrize(("conditions", "request_body"), ACCEPTED)
def test_the_nearest_valid_request_is_taken(conditions, request_body):
    judge = ChatJudge(conditions)
    assert judge.check(request_body) is None
    assert judge.check(json.dumps(request_body).encode()) is None


def test_every_rule_has_a_breach():
    assert {rule for rule, _, _ in BREACHES} | {"authentication", "body", "size"} == set(SOURCES)


def test_refusals_are_in_the_providers_words_and_shape():
    judge = ChatJudge()
    missing = judge.check(body(HI, calling("c1", "c2", "c3"), result("c2"), HI)).body("req_1")
    assert missing == {
        "error": {
            "message": "An assistant message with 'tool_calls' must be followed by tool messages "
            "responding to each 'tool_call_id'. The following tool_call_ids did not have response "
            "messages: c1, c3",
            "type": "invalid_request_error",
            "param": "messages.[3].role",
            "code": None,
        }
    }
    assert judge.check(body(HI, result("c1"))).message == (
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
        "with 'tool_calls'."
    )
    assert judge.check(body(HI, calling("c1"), result("c1"), result("c1"))).message == (
        "Invalid parameter: Duplicate value for 'tool_call_id' of 'c1', in messages[2] and "
        "messages[3]."
    )
    role = judge.check(body(HI, {"role": "model", "content": "x"}))
    assert (role.param, role.code) == ("messages[1].role", "invalid_value")
    assert role.message == (
        "Invalid value: 'model'. Supported values are: 'system', 'assistant', 'user', 'tool', and "
        "'developer'."
    )
    long = ChatJudge(STRICT).check(body(HI, calling("c" * 41), result("c" * 41)))
    assert long.message == (
        "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum "
        "length 40, but got a string with length 41 instead."
    )
    strange = ChatJudge(STRICT).check(body(HI, {**said(), "reasoning_content": "hm"}, HI))
    assert strange.message == "Unknown parameter: 'messages[1].reasoning_content'."
    assert strange.code == "unknown_parameter"


def test_an_overflow_has_its_code():
    request_body = body({"role": "user", "content": "x" * 35_000})
    assert ChatJudge(Conditions(window=10_004)).check(request_body) is None
    refusal = ChatJudge(Conditions(window=10_003)).check(request_body)
    assert refusal.message == (
        "This model's maximum context length is 10003 tokens. However, your messages resulted in "
        "10004 tokens. Please reduce the length of the messages."
    )
    assert (refusal.code, refusal.param) == ("context_length_exceeded", "messages")
    assert ChatJudge(Conditions(window=10_003, bill_factor=0.5)).check(request_body) is None
    judge = ChatJudge(Conditions(window=10))
    assert judge.verdict(request_body, counting=True).refusal is None


@pytest.mark.parametrize("sent", [b"{", b"[]", b'{"a": NaN}', b'{"a": "\xff"}'])
def test_a_body_that_is_no_json_object_is_refused(sent):
    refusal = ChatJudge().check(sent)
    assert refusal.rule == "body"
    assert refusal.message.startswith("We could not parse the JSON body of your request.")


def test_a_body_over_the_limit_is_too_large():
    sent = json.dumps(body({"role": "user", "content": "x" * 52_430_000})).encode()
    assert ChatJudge().check(sent).status == 413


def test_reasoning_comes_back_exactly_as_it_was_answered():
    judge = ChatJudge(DEEPSEEK)
    thought = calling("c1", reasoning_content="I should look.")
    judge.answered(body(HI), [thought])
    judge.answered(body(HI), [calling("c2")])
    taken = [thought, result("c1"), calling("c2"), result("c2")]
    assert judge.check(body(HI, *taken)) is None
    other = {**thought, "reasoning_content": "I should look"}
    refusal = judge.check(body(HI, other, result("c1")))
    assert refusal.message == (
        "The `reasoning_content` in the thinking mode must be passed back to the API."
    )
    assert judge.check(body(HI, calling("c1"), result("c1"))).rule == "reasoning"
    added = calling("c2", reasoning_content="I never thought this.")
    assert judge.check(body(HI, added, result("c2"))) is None
    assert ChatJudge().check(body(HI, other, result("c1"))) is None


def test_what_is_wrong_in_one_place_is_named_in_every_place():
    judge = ChatJudge()
    wrong = user({"type": "text"})
    assert judge.check(body(wrong)).param == "messages[0].content[0].text"
    assert judge.check(body(HI, HI, wrong)).param == "messages[2].content[0].text"


def test_the_judge_is_known_by_its_dialect():
    assert isinstance(judge_of("openai_chat", STRICT), ChatJudge)
    assert judge_of("openai_chat", STRICT).conditions is STRICT
    with pytest.raises(ValueError, match="anthropic, openai_chat, openai_responses"):
        judge_of("gemini")


def test_an_answer_to_nothing_readable_is_an_error():
    with pytest.raises(ValueError, match="cannot be read"):
        ChatJudge().answered({"model": "m"}, [said()])


def test_the_model_sees_the_same_prompt_in_other_words():
    judge = ChatJudge()

    def end(*messages, **more):
        return judge.verdict(body(*messages, **more)).request.end

    assert end(HI) == end(user(text("hi"))) == end({"content": "hi", "role": "user"})
    assert end(HI, said(), HI) == end(HI, {**said(), "tool_calls": None, "name": None}, HI)
    base = end(HI, calling("c1"), result("c1"))
    assert base != end(HI, calling("c2"), result("c2"))
    assert base != end(HI, calling("c1"), result("c1", "other"))
    assert base != end(HI, calling("c1", reasoning_content="hm"), result("c1"))
    assert base != end(HI, calling("c1"), result("c1"), tools=[{"type": "function"}])
    assert end(user(text("a"), text("b"))) != end(user(text("ab")))
    assert end(user(text("a"), IMAGE)) != end(user(text("a")))
