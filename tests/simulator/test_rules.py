"""Every rule of the wire: what breaks it, and the nearest thing that does not."""

import base64
import json
import struct

import pytest

from cuesta.testing.simulator import SOURCES, Conditions, Judge

OPUS = "claude-opus-5"
OLD = "claude-sonnet-4-5"
EPHEMERAL = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


def text(words, **more):
    return {"type": "text", "text": words, **more}


def use(name, **more):
    return {"type": "tool_use", "id": name, "name": "bash", "input": {}, **more}


def result(name, content="out", **more):
    return {"type": "tool_result", "tool_use_id": name, "content": content, **more}


def server_use(name):
    return {"type": "server_tool_use", "id": name, "name": "web_fetch", "input": {}}


def server_result(name):
    return {"type": "web_fetch_tool_result", "tool_use_id": name, "content": {}}


def user(*content):
    return {"role": "user", "content": list(content)}


def assistant(*content):
    return {"role": "assistant", "content": list(content)}


def system(*content, **more):
    return {"role": "system", "content": list(content), **more}


def image(width, height, padding=0):
    head = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\0" * 20
    data = base64.b64encode(head + b"\0" * padding).decode()
    source = {"type": "base64", "media_type": "image/png", "data": data}
    return {"type": "image", "source": source}


HI = user(text("hi"))
CALL = assistant(text("I look."), use("t1"))
ANSWER = user(result("t1"))
EFFORT = system(output_config={"effort": "low"})


def body(*messages, model=OPUS, **more):
    return {"model": model, "max_tokens": 1000, "messages": list(messages), **more}


BREACHES = [
    ("fields", {"max_tokens": 1, "messages": [HI]}),
    ("fields", {"model": OPUS, "messages": [HI]}),
    ("fields", {"model": OPUS, "max_tokens": -1, "messages": [HI]}),
    ("fields", {"model": OPUS, "max_tokens": 1}),
    ("fields", body()),
    ("fields", {"model": OPUS, "max_tokens": 1, "messages": "hi"}),
    ("fields", body("hi")),
    ("fields", body({"role": "user", "content": 5})),
    ("fields", body({"role": "user"})),
    ("fields", body(user("hi"))),
    ("fields", body(user({"type": "text"}))),
    ("fields", body(HI, assistant({"type": "thinking", "thinking": "x"}, text("a")), HI)),
    ("fields", body(HI, CALL, user(result("t1", 5)))),
    ("fields", body(HI, tools={})),
    ("fields", body(HI, system=5)),
    ("roles", body({"role": "tool", "content": "x"})),
    ("extra", body({"role": "user", "content": "hi", "id": 1})),
    ("extra", body(user(text("hi", digest=True)))),
    ("extra", body(HI, assistant({"type": "redacted_thinking", "data": "x", "cache_control": 1}))),
    ("blocks", body(user({"type": "cuesta_note"}))),
    ("blocks", body(user({"text": "hi"}))),
    ("blocks", body(HI, CALL, user(result("t1", [use("t2")])))),
    ("blocks", body(HI, system=[image(1, 1)])),
    ("placement", body(user(text("hi"), use("t1")))),
    ("placement", body(user({"type": "thinking", "thinking": "x", "signature": "s"}, text("a")))),
    ("placement", body(HI, assistant(result("t1")), HI)),
    ("first", body(assistant(text("hello")), HI)),
    ("first", body(EFFORT, assistant(text("hello")), HI)),
    ("empty", body(user(text("")))),
    ("empty", body(user(text("hi"), text("")))),
    ("empty", body({"role": "user", "content": ""})),
    ("empty", body(user())),
    ("empty", body(HI, assistant(), HI)),
    ("empty", body(HI, CALL, user(result("t1", [text("")])))),
    ("empty", body(HI, system=[text("")])),
    ("whitespace", body(user(text(" \n")))),
    ("whitespace", body({"role": "user", "content": "\n"})),
    ("final-thinking", body(HI, assistant({"type": "redacted_thinking", "data": "x"}), HI)),
    ("text-after-call", body(HI, assistant(use("t1"), text("so")), ANSWER)),
    ("call-shape", body(HI, assistant(use("t 1")), user(result("t 1")))),
    ("call-shape", body(HI, assistant(use("t1", input="{}")), ANSWER)),
    ("pairing", body(HI, CALL)),
    ("pairing", body(HI, CALL, HI)),
    ("text-after-call", body(HI, CALL, assistant(text("no")), ANSWER)),
    ("pairing", body(HI, assistant(use("t1"), use("t2")), ANSWER)),
    ("pairing", body(HI, CALL, user(text("first"), result("t1")))),
    (
        "pairing",
        body(HI, assistant(use("t1"), use("t2")), user(result("t1"), text("x"), result("t2"))),
    ),
    ("pairing", body(HI, CALL, user(text("x")), ANSWER)),
    ("unexpected-result", body(user(result("t1")))),
    ("unexpected-result", body(HI, CALL, user(result("t1"), result("t9")))),
    ("unexpected-result", body(HI, CALL, ANSWER, assistant(text("done")), ANSWER)),
    ("single-result", body(HI, CALL, user(result("t1"), result("t1")))),
    ("unique-ids", body(HI, assistant(use("t1"), use("t1")), ANSWER)),
    ("unique-ids", body(HI, CALL, ANSWER, CALL, ANSWER)),
    ("server-pairing", body(HI, assistant(server_use("s1"), text("a")), HI)),
    ("server-pairing", body(HI, assistant(server_result("s1"), text("a")), HI)),
    ("server-pairing", body(HI, assistant(server_result("s1"), server_use("s1")), HI)),
    (
        "server-pairing",
        body(HI, assistant(server_use("s1"), text("a")), HI, assistant(server_result("s1")), HI),
    ),
    ("prefill", body(HI, assistant(text("{")))),
    ("prefill", body(HI, assistant(text("{")), model="claude-opus-4-6")),
    ("prefill", body(HI, assistant(text("{")), EFFORT)),
    ("trailing", body(HI, assistant(text("so ")), model=OLD)),
    ("system-model", body(HI, system(text("be brief")), model=OLD)),
    ("system-model", body(HI, system(text("be brief")), model="claude-opus-4-7")),
    ("system-place", body(system(text("first")), HI)),
    ("system-place", body(EFFORT, system(text("first")), HI)),
    ("system-place", body(HI, system(text("x")), HI)),
    ("system-place", body(HI, assistant(text("a")), system(text("x")), assistant(text("b")), HI)),
    ("system-place", body(HI, CALL, system(text("x")), ANSWER)),
    ("system-place", body(HI, system(image(1, 1)))),
    ("empty", body(HI, system())),
    ("markers", body(user(*(text(f"a{n}", cache_control=EPHEMERAL) for n in range(5))))),
    (
        "markers",
        body(user(*(text(f"a{n}", cache_control=EPHEMERAL) for n in range(4))), cache_control=HOUR),
    ),
    (
        "markers",
        body(
            HI,
            CALL,
            user(result("t1", [text("o", cache_control=EPHEMERAL)] * 2, cache_control=EPHEMERAL)),
            system=[text("s", cache_control=EPHEMERAL)],
            tools=[{"name": "bash", "cache_control": EPHEMERAL}],
        ),
    ),
    ("marker-shape", body(user(text("a", cache_control={"type": "forever"})))),
    ("marker-shape", body(user(text("a", cache_control={"type": "ephemeral", "ttl": "2h"})))),
    ("marker-order", body(user(text("a", cache_control=EPHEMERAL), text("b", cache_control=HOUR)))),
    (
        "marker-order",
        body(
            HI,
            system=[text("s", cache_control=HOUR)],
            tools=[{"name": "bash", "cache_control": EPHEMERAL}],
        ),
    ),
    ("marker-order", body(user(text("a", cache_control=EPHEMERAL)), cache_control=HOUR)),
    ("image-size", body(user(image(8001, 10)))),
    ("image-size", body(user(image(2001, 10), *[image(10, 10)] * 20))),
    ("image-size", body(HI, CALL, user(result("t1", [image(10, 8001)])))),
    ("image-bytes", body(user(image(10, 10, padding=4_000_000)))),
    (
        "tool-reference",
        body(HI, CALL, user(result("t1", [{"type": "tool_reference", "tool_name": "nope"}]))),
    ),
    ("surrogate", body(user(text("\ud83d")))),
    ("surrogate", body(HI, system="\udc00")),
    ("thinking-mode", body(HI, thinking={"type": "maybe"})),
    ("thinking-mode", body(HI, thinking={"type": "enabled", "budget_tokens": 2000})),
    (
        "thinking-mode",
        body(HI, thinking={"type": "enabled", "budget_tokens": 2000}, model="claude-opus-4-7"),
    ),
    ("thinking-mode", body(HI, thinking={"type": "disabled"}, model="claude-opus-5-5")),
    ("thinking-mode", body(HI, thinking={"type": "disabled"}, model="claude-fable-5-1")),
    ("thinking-budget", body(HI, thinking={"type": "enabled", "budget_tokens": 100}, model=OLD)),
]

ACCEPTED = [
    body(HI),
    body({"role": "user", "content": "hi"}),
    body(HI, HI),
    body(HI, CALL, ANSWER),
    body(HI, CALL, ANSWER, model=OLD),
    body(HI, CALL, ANSWER, user(text("and then?"))),
    body(HI, CALL, user(result("t1"), text("more"))),
    body(HI, assistant(use("t1"), use("t2")), user(result("t2"), result("t1"))),
    body(HI, assistant(use("t1")), assistant(use("t2")), user(result("t1")), user(result("t2"))),
    body(HI, assistant(use("t1"), text("so")), ANSWER, model=OLD),
    body(HI, CALL, user({"type": "tool_result", "tool_use_id": "t1"})),
    body(HI, CALL, user(result("t1", ""))),
    body(HI, CALL, user(result("t1", []))),
    body(HI, CALL, user(result("t1", [text("a"), image(10, 10)], is_error=True))),
    body(HI, CALL, user(result("t1", [{"type": "tool_reference", "tool_name": "grep"}])))
    | {"tools": [{"name": "grep"}]},
    body(
        HI,
        system({"type": "tool_addition", "tool": {"type": "x", "definition": {"name": "grep"}}}),
        CALL,
        user(result("t1", [{"type": "tool_reference", "tool_name": "grep"}])),
    ),
    body(user({"type": "future_block", "anything": [1]})),
    body(HI, assistant(server_use("s1"), server_result("s1"), text("a")), HI),
    body(HI, assistant(server_use("s1"))),
    body(HI, assistant(server_use("s1"), server_result("s1"))),
    body(HI, assistant(server_use("s1")), assistant(server_result("s1"), text("a")), HI),
    body(HI, assistant(text("{")), model=OLD),
    body(HI, assistant(), model=OLD),
    body(HI, assistant(text("{")), model="mock-model"),
    body(HI, system(text("be brief"))),
    body(HI, system(text("be brief")), system(text("really"), clear_at="next_user_message")),
    body(HI, system(text("be brief")), assistant(text("yes")), HI),
    body(HI, system(text("be brief")), CALL, ANSWER, model="claude-opus-4-8"),
    body(HI, CALL, ANSWER, system(text("partial view")), assistant(text("ok")), HI),
    body(HI, assistant(server_use("s1"), server_result("s1")), system(text("x"))),
    body(EFFORT, HI),
    body(HI, CALL, EFFORT, ANSWER),
    body(HI, EFFORT, HI),
    body(user(*(text(f"a{n}", cache_control=EPHEMERAL) for n in range(4)))),
    body(user(text("a", cache_control=HOUR), text("b", cache_control=EPHEMERAL))),
    body(user(text("a", cache_control=HOUR)), cache_control=EPHEMERAL),
    body(user(image(8000, 8000))),
    body(user(image(2000, 10), *[image(10, 10)] * 20)),
    body(user(image(10, 10, padding=3_900_000))),
    body(user(text("\U0001f600 \u2028"))),
    body(HI, thinking={"type": "adaptive"}),
    body(HI, thinking={"type": "enabled", "budget_tokens": 2000}, model=OLD),
    body(HI, thinking={"type": "disabled"}, model="claude-opus-4-8"),
    body(HI, system=[text("s")], tools=[{"name": "bash"}]),
]


@pytest.mark.parametrize(("rule", "request_body"), BREACHES)
def test_a_breach_is_refused_by_its_rule(rule, request_body):
    refusal = Judge().check(request_body)
    assert refusal is not None
    assert (refusal.rule, refusal.status) == (rule, 400)
    assert refusal.source == SOURCES[rule]
    assert "\0" not in refusal.message


@pytest.mark.parametrize("request_body", ACCEPTED)
def test_the_nearest_valid_request_is_taken(request_body):
    judge = Judge()
    assert judge.check(request_body) is None
    assert judge.check(json.dumps(request_body).encode()) is None


def test_every_rule_has_a_breach():
    elsewhere = {
        "authentication",
        "body",
        "size",
        "window",
        "signature",
        "prefix",
        "thinking-first",
        "thinking-latest",
        "thinking-binding",
    }
    assert {rule for rule, _ in BREACHES} | elsewhere == set(SOURCES)


def test_refusals_are_in_the_providers_words():
    judge = Judge()
    said = [
        judge.check(body(HI, CALL, HI)).message,
        judge.check(body(HI, user(result("t9")))).message,
        judge.check(body(HI, system(text("x")), HI)).message,
        judge.check(body(HI, assistant(text("x"), server_use("s1")), HI)).message,
        judge.check(BREACHES[[rule for rule, _ in BREACHES].index("markers")][1]).message,
    ]
    wanted = """
        messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1.
        Each `tool_use` block must have a corresponding `tool_result` block in the next message.

        messages.1.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t9. Each
        `tool_result` block must have a corresponding `tool_use` block in the previous message.

        messages.1: role 'system' must precede an 'assistant' message or end the array; the
        directive-only form (content: [] with output_config) is accepted at any position

        messages.1: `web_fetch` tool use with id `s1` was found without a corresponding
        `web_fetch_tool_result` block

        A maximum of 4 blocks with cache_control may be provided. Found 5.
    """
    assert said == [" ".join(part.split()) for part in wanted.split("\n\n")]


@pytest.mark.parametrize("sent", [b"{", b"[]", b'{"a": NaN}', b'{"a": "\xff"}'])
def test_a_body_that_is_no_json_object_is_refused(sent):
    assert Judge().check(sent).rule == "body"


def test_a_body_over_the_limit_is_too_large():
    sent = json.dumps(body(user(text("x" * 33_600_000)))).encode()
    refusal = Judge().check(sent)
    assert (refusal.status, refusal.type) == (413, "request_too_large")


def test_a_prompt_over_the_window_is_too_long():
    request_body = body(user(text("x" * 35_000)))
    assert Judge(Conditions(window=10_004)).check(request_body) is None
    refusal = Judge(Conditions(window=10_003)).check(request_body)
    assert refusal.message == "prompt is too long: 10004 tokens > 10003 maximum"
    assert Judge(Conditions(window=10_003, bill_factor=0.5)).check(request_body) is None


def test_the_window_is_the_models_own_by_default():
    request_body = body(user(text("x" * 1_000_000)), model=OLD)
    assert Judge().check(request_body).rule == "window"
    assert Judge().check(request_body | {"model": OPUS}) is None


def test_counting_needs_no_limit_and_knows_no_window():
    request_body = body(user(text("x" * 1_000_000)), model=OLD)
    del request_body["max_tokens"]
    assert Judge().verdict(request_body, counting=True).refusal is None


def test_extra_block_types_are_a_condition():
    request_body = body(user({"type": "future_block"}))
    assert Judge(Conditions(extra_blocks=frozenset())).check(request_body).rule == "blocks"
