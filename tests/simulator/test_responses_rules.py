"""Every rule of Responses: what breaks it, and the nearest thing that does not."""

import json

import pytest
from responses_items import HI, body, call, item, message, output, part, reasoning, said

from cuesta.testing.simulator import Conditions, ResponsesJudge, judge_of
from cuesta.testing.simulator.responses import SOURCES
from cuesta.testing.simulator.responses.kinds import KINDS

STRICT = Conditions(compatible=False)
SMALL = Conditions(window=500)

PAIRS = {
    "function_call": (call("c1"), output("c1")),
    "custom_tool_call": (
        item("custom_tool_call", call_id="c1", name="patch", input="***"),
        item("custom_tool_call_output", call_id="c1", output="done"),
    ),
    "local_shell_call": (
        item("local_shell_call", call_id="c1", id="lsh_1", status="completed", action={}),
        item("local_shell_call_output", call_id="c1", output="{}"),
    ),
    "shell_call": (
        item("shell_call", call_id="c1", action={"commands": ["ls"]}),
        item("shell_call_output", call_id="c1", output=[{"stdout": "a", "stderr": ""}]),
    ),
    "apply_patch_call": (
        item("apply_patch_call", call_id="c1", status="completed", operation={}),
        item("apply_patch_call_output", call_id="c1", status="completed"),
    ),
    "computer_call": (
        item("computer_call", call_id="c1", action={"type": "screenshot"}),
        item("computer_call_output", call_id="c1", output={"type": "computer_screenshot"}),
    ),
    "tool_search_call": (
        item("tool_search_call", call_id="c1", execution="client", arguments={}),
        item("tool_search_output", call_id="c1", execution="client", tools=[]),
    ),
}
SHELL = PAIRS["local_shell_call"][0]
APPROVAL = item("mcp_approval_request", id="mcpr_1", arguments="{}", name="x", server_label="s")
APPROVED = item("mcp_approval_response", approval_request_id="mcpr_1", approve=True)
LONE = [
    APPROVAL,
    item("mcp_list_tools", id="mcpl_1", server_label="s", tools=[]),
    item("mcp_call", id="mcp_1", arguments="{}", name="x", server_label="s", output="y"),
    item("web_search_call", id="ws_1", status="completed", action={}),
    item("file_search_call", id="fs_1", status="completed", queries=[]),
    item("code_interpreter_call", id="ci_1", container_id="k", code="1", status="completed"),
    item("image_generation_call", id="ig_1", result=None, status="completed"),
    item("additional_tools", id="at_1", role="developer", tools=[{"type": "namespace"}]),
    item("context_compaction"),
    item("tool_search_call", execution="server", arguments={}, call_id=None),
    item("tool_search_output", execution="server", tools=[], call_id=None),
]

BREACHES = [
    ("fields", None, {"input": "hi"}),
    ("fields", None, {"model": "m"}),
    ("fields", None, {"model": "m", "input": 5}),
    ("fields", None, body("hi")),
    ("fields", None, body({"type": "message", "content": "hi"})),
    ("fields", None, body({"role": "user"})),
    ("fields", None, body({"role": "user", "content": 5})),
    ("fields", None, body(message("user", "hi"))),
    ("fields", None, body(message("user", {"text": "hi"}))),
    ("fields", None, body(message("user", {"type": "input_text"}))),
    ("fields", None, body({"type": "function_call", "call_id": "c1"})),
    ("fields", None, body(HI, call("c1", arguments={}), output("c1"))),
    ("fields", None, body(HI, {**call("c1"), "call_id": None}, output("c1"))),
    ("fields", None, body(HI, call("c1"), {"type": "function_call_output", "call_id": "c1"})),
    ("fields", None, body(HI, call("c1"), output("c1", {"a": 1}))),
    ("fields", None, body(HI, call("c1", id=7), output("c1"))),
    ("fields", None, body(HI, {"type": "reasoning", "id": "rs_1"})),
    ("fields", None, body(HI, reasoning())),
    ("fields", None, body(HI, reasoning(id="rs_1", encrypted_content=5))),
    ("fields", None, body(HI, reasoning(id="rs_1", content="hm"))),
    ("fields", None, body(HI, item("compaction"))),
    ("fields", None, body(HI, SHELL, item("local_shell_call_output", output="{}"))),
    ("fields", None, body(HI, item("additional_tools"))),
    ("fields", None, body(HI, item("tool_search_call", execution="server"))),
    ("empty", None, body()),
    ("empty", None, body(input="")),
    ("roles", None, body({"role": "tool", "content": "x"})),
    ("kinds", None, body(HI, item("cuesta_note"))),
    ("kinds", None, body({"content": "hi", "type": "text"})),
    ("parts", None, body(message("assistant", part("a")), HI)),
    ("parts", None, body(message("user", part("a", "output_text")))),
    ("parts", None, body(message("user", part("a", "text")))),
    ("parts", None, body(HI, call("c1"), output("c1", [part("a", "output_text")]))),
    ("ids", None, body(message("user", part("a"), id="019f629b"))),
    ("ids", None, body(HI, call("c1", id="call_1"), output("c1"))),
    ("ids", None, body(HI, reasoning(id="item_1", encrypted_content="x"), said())),
    (
        "ids",
        None,
        body(HI, {**PAIRS["custom_tool_call"][0], "id": "fc_1"}, PAIRS["custom_tool_call"][1]),
    ),
    ("lengths", None, body(HI, call("c" * 65), output("c" * 65))),
    ("lengths", None, body(message("user", part("a"), id="msg_" + "x" * 61))),
    ("unknown", None, body(HI, item("compaction_trigger", id="cmpt_1"))),
    ("unknown", STRICT, body({**HI, "type": "message", "cache_control": {}})),
    ("unknown", STRICT, body(HI, call("c1", note=1), output("c1"))),
    ("reasoning-content", None, body(HI, reasoning(id="rs_1", content=[{"text": "x"}]))),
    ("duplicate", None, body(message("user", id="msg_1"), message("user", id="msg_1"))),
    ("duplicate", None, body(HI, call("c1"), call("c1"), output("c1"))),
    ("duplicate", None, body(HI, call("c1"), output("c1"), output("c1"))),
    ("pairing", None, body(HI, call("c1"))),
    ("pairing", None, body(HI, call("c1"), HI)),
    ("pairing", None, body(HI, call("c1"), call("c2"), output("c1"))),
    ("unexpected-result", None, body(HI, output("c1"))),
    ("unexpected-result", None, body(output("c1"), call("c1"))),
    ("unexpected-result", None, body(HI, call("c1", id="fc_1"), output("fc_1"), output("c1"))),
    ("unexpected-result", None, body(HI, call("c1"), output("c1"), output("c2"))),
    (
        "unexpected-result",
        None,
        body(HI, call("c1"), item("custom_tool_call_output", call_id="c1", output="x")),
    ),
    ("unexpected-result", None, body(HI, APPROVED)),
    ("encrypted", None, body(HI, reasoning(encrypted_content="gAAAAABforged"), said())),
    ("encrypted", None, body(item("compaction", encrypted_content="gAAAAABforged"), HI)),
    ("encrypted", None, body(item("context_compaction", encrypted_content="gAAAAABx"), HI)),
    ("trigger", None, body(HI, item("compaction_trigger"), HI)),
    ("trigger", None, body(HI, item("compaction_trigger"), item("compaction_trigger"))),
    ("previous", None, body(HI, previous_response_id="resp_unknown")),
    ("surrogate", None, body(message("user", part("\ud83d")))),
    ("window", SMALL, body(message("user", part("x" * 3500)))),
]

ACCEPTED = [
    (None, body(HI)),
    (None, body(input="hi")),
    (None, body(message("user", part("hi")))),
    (None, body(message("developer", part("d")), message("system", part("s")), HI)),
    (None, body(HI, said(), HI)),
    (None, body(HI, said())),
    (None, body(HI, {"role": "assistant", "content": "So."}, HI)),
    (None, body(HI, message("assistant", {"type": "refusal", "refusal": "no"}), HI)),
    (None, body(message("user", part("a"), {"type": "input_image", "image_url": "data:"}))),
    (None, body(message("user", {"type": "input_file", "file_id": "f"}, id="msg_1"))),
    (None, body(message("user", {"type": "future_block"}))),
    (None, body(HI, item("future_block", anything=1))),
    (None, body(HI, call("c1"), output("c1"))),
    (None, body(HI, call("c1", id="fc_1"), output("c1", id="fco_1"))),
    (None, body(HI, call("c1"), HI, said(), output("c1"), HI)),
    (None, body(HI, call("c1"), call("c2"), output("c2"), output("c1"))),
    (None, body(HI, call("c1"), output("c1", [part("a"), {"type": "input_image"}]))),
    (None, body(HI, call("c1"), output("c1", ""))),
    (None, body(HI, call("c" * 64), output("c" * 64))),
    (None, body(HI, SHELL, output("c1"))),
    (None, body(HI, SHELL, item("local_shell_call_output", id="c1", output="{}"))),
    (None, body(HI, SHELL, item("local_shell_call_output", id="lsh_1", output="{}"))),
    (None, body(HI, APPROVAL, APPROVED)),
    (None, body(HI, item("compaction_trigger"))),
    (None, body({**HI, "cache_control": {}}, call("c1", note=1), output("c1"))),
    (None, body(HI, internal=1)),
    (None, body({**HI, "id": "msg_1"})),
    (None, body(HI, item("tool_search_call", execution="server", call_id="c9", arguments=None))),
    (None, body(message("user", part("\U0001f600"), id=None, status="completed"))),
    (STRICT, body({**HI, "internal_chat_message_metadata_passthrough": {"turn_id": "t"}})),
    (STRICT, body(HI, call("c1", status="completed", namespace="n"), output("c1"))),
    (SMALL, body(message("user", part("x" * 1700)))),
    *((conditions, body(HI, *pair)) for pair in PAIRS.values() for conditions in (None, STRICT)),
    *((conditions, body(HI, lone, HI)) for lone in LONE for conditions in (None, STRICT)),
]


@pytest.mark.parametrize(("rule", "conditions", "request_body"), BREACHES)
def test_a_breach_is_refused_by_its_rule(rule, conditions, request_body):
    refusal = ResponsesJudge(conditions).check(request_body)
    assert refusal is not None
    assert (refusal.rule, refusal.status) == (rule, 400)
    assert refusal.source == SOURCES[rule]
    assert "\0" not in json.dumps(refusal.body("req_1"))


@pytest.mark.parametrize(("conditions", "request_body"), ACCEPTED)
def test_the_nearest_valid_request_is_taken(conditions, request_body):
    judge = ResponsesJudge(conditions)
    assert judge.check(request_body) is None
    assert judge.check(json.dumps(request_body).encode()) is None


def test_every_rule_has_a_breach():
    elsewhere = {
        "authentication",
        "body",
        "size",
        "not-found",
        "following-item",
        "reasoning-item",
    }
    assert {rule for rule, _, _ in BREACHES} | elsewhere == set(SOURCES)


def test_every_kind_of_item_is_taken_somewhere():
    shown = {i.get("type") for _, sent in ACCEPTED for i in sent["input"] if isinstance(i, dict)}
    elsewhere = {"reasoning", "compaction", "item_reference"}
    assert set(KINDS) - elsewhere <= shown


@pytest.mark.parametrize("kind", PAIRS)
def test_calls_and_outputs_of_every_kind_pair_both_ways(kind):
    asked, answered = PAIRS[kind]
    judge = ResponsesJudge()
    words = kind.replace("_", " ")
    refusal = judge.check(body(HI, asked, HI))
    assert (refusal.rule, refusal.message) == (
        "pairing",
        f"No tool output found for {words} c1.",
    )
    refusal = judge.check(body(HI, answered, HI))
    assert (refusal.rule, refusal.param) == ("unexpected-result", "input")
    output_words = answered["type"].replace("_", " ")
    assert refusal.message == f"No tool call found for {output_words} with call_id c1."


def answer(judge, sent, *items, **more):
    """Let the model answer; return the conversation behind it, with an output for each call."""
    judge.keep(judge.verdict(sent).request, list(items), **more)
    outputs = [output(i["call_id"]) for i in items if i["type"] == "function_call"]
    return {**sent, "input": [*sent["input"], *items, *outputs]}


def thought(judge, name="rs_1", words="hm"):
    return reasoning(id=name, encrypted_content=judge.memory.mint(words))


@pytest.fixture
def judge():
    return ResponsesJudge()


def test_reasoning_comes_back_sealed_with_its_call(judge):
    sent = answer(judge, body(HI), thought(judge), call("c1", id="fc_1"))
    assert judge.check(sent) is None
    more = answer(judge, sent, thought(judge, "rs_2"), said(id="msg_2"), call("c2", id="fc_2"))
    assert judge.check(more) is None
    resumed = {**more, "input": [{**i, "content": i.get("content")} for i in more["input"]]}
    assert judge.check(resumed) is None


@pytest.mark.parametrize("store", [True, False])
def test_reasoning_needs_its_following_item(judge, store):
    sent = answer(judge, body(HI, store=store), thought(judge), call("c1", id="fc_1"))
    for rest in ([], [HI], [said(id="msg_other")], [call("c1", id="fc_9"), output("c1")]):
        refusal = judge.check({**sent, "input": [HI, sent["input"][1], *rest]})
        assert refusal.rule == "following-item"
        assert refusal.message == (
            "Item 'rs_1' of type 'reasoning' was provided without its required following item."
        )
        assert refusal.body("")["error"]["param"] == "input"


def test_a_call_that_keeps_its_reasoning_keeps_its_id(judge):
    sent = answer(judge, body(HI), thought(judge), call("c1", id="fc_1"))
    sent["input"][2] = call("c1")
    assert judge.check(sent).rule == "following-item"


@pytest.mark.parametrize(
    "first", [call("c1", id="fc_1"), said(id="msg_1")], ids=["call", "message"]
)
def test_an_item_needs_the_reasoning_that_it_was_answered_behind(judge, first):
    sent = answer(judge, body(HI), thought(judge), first)
    del sent["input"][1]
    refusal = judge.check(sent)
    assert refusal.rule == "reasoning-item"
    assert refusal.message == (
        f"Item '{first['id']}' of type '{first['type']}' was provided without its required "
        "'reasoning' item: 'rs_1'."
    )
    del sent["input"][1]["id"]
    assert judge.check(sent) is None


def test_items_that_never_had_an_id_need_nothing(judge):
    sent = answer(judge, body(HI), thought(judge), call("c1"))
    assert judge.check(sent) is None
    assert judge.check(body(HI, call("c1"), output("c1"), said())) is None


def test_reasoning_that_lost_its_id_is_known_by_its_seal(judge):
    sent = answer(judge, body(HI), thought(judge), call("c1", id="fc_1"))
    del sent["input"][1]["id"]
    assert judge.check(sent) is None
    del sent["input"][2]["id"]
    assert judge.check(sent) is None
    other = answer(judge, body(HI), thought(judge, "rs_2"), call("c2", id="fc_2"))
    other["input"][1] = sent["input"][1]
    assert judge.check(other).rule == "reasoning-item"


def test_calls_of_one_answer_stay_together_behind_their_reasoning(judge):
    calls = [call("c1", id="fc_1"), call("c2", id="fc_2")]
    sent = answer(judge, body(HI), thought(judge), *calls)
    assert judge.check(sent) is None
    first, second = sent["input"][4:]
    mixed = [*sent["input"][:3], first, calls[1], second]
    refusal = judge.check({**sent, "input": mixed})
    assert refusal.message == (
        "Item 'fc_2' of type 'function_call' was provided without its required 'reasoning' item: "
        "'rs_1'."
    )


def test_reasoning_of_an_answer_that_broke_off_may_stand_alone(judge):
    sent = body(HI)
    lost = thought(judge, "rs_lost")
    judge.keep(judge.verdict(sent).request, [lost])
    sent["input"].append(lost)
    assert judge.check(sent) is None
    assert judge.check(answer(judge, sent, thought(judge), call("c1", id="fc_1"))) is None


def test_seals_come_back_as_they_were_and_in_their_own_item(judge):
    first, second = thought(judge, "rs_1"), thought(judge, "rs_2")
    sent = answer(judge, body(HI), first, said(id="msg_1"))
    sent = answer(judge, sent, second, said(id="msg_2"))
    good = json.dumps(sent)
    sent["input"][1]["encrypted_content"] += "A"
    refusal = judge.check(sent)
    assert refusal.body("")["error"] == {
        "message": "The encrypted content for item rs_1 could not be verified. Reason: Encrypted "
        "content could not be decrypted or parsed.",
        "type": "invalid_request_error",
        "param": None,
        "code": "invalid_encrypted_content",
    }
    sent = json.loads(good)
    sent["input"][1]["encrypted_content"] = second["encrypted_content"]
    assert judge.check(sent).message.endswith("did not match the target item id.")
    assert judge.check(json.loads(good)) is None


def test_what_is_not_sealed_must_be_stored():
    judge = ResponsesJudge()
    bare = reasoning(id="rs_1")
    kept = answer(judge, body(HI, store=True), bare, said(id="msg_1"), response="resp_1")
    assert judge.check(kept) is None
    for lost in (bare, item("item_reference", id="msg_1"), {"id": "msg_1"}):
        refusal = judge.check(body(HI, lost, said(id="msg_9")))
        assert (refusal.rule, refusal.status) == ("not-found", 404)
        assert refusal.message == (
            f"Item with id '{lost['id']}' not found. Items are not persisted when `store` is set "
            "to false. Try again with `store` set to true, or remove this item from your input."
        )
    unknown = body(HI, item("item_reference", id="msg_404"), store=True)
    assert judge.check(unknown).message == "Item with id 'msg_404' not found."


def test_a_reference_stands_for_its_item():
    judge = ResponsesJudge()
    answer(judge, body(HI, store=True), call("c1", id="fc_1"), response="resp_1")
    sent = body(HI, item("item_reference", id="fc_1"), output("c1"), store=True)
    assert judge.check(sent) is None
    assert judge.check({**sent, "input": sent["input"][:2]}).rule == "pairing"


def test_behind_a_previous_response_the_input_is_what_is_new():
    judge = ResponsesJudge()
    asked = body(HI, store=True)
    answer(judge, asked, reasoning(id="rs_1"), call("c1", id="fc_1"), response="resp_1")
    delta = {**asked, "input": [output("c1")], "previous_response_id": "resp_1"}
    verdict = judge.verdict(delta)
    assert verdict.refusal is None
    assert len(verdict.request.given) == 4
    assert judge.prompt_tokens(verdict.request) > judge.prompt_tokens(judge.verdict(asked).request)
    assert judge.check({**delta, "previous_response_id": None}).rule == "unexpected-result"
    assert judge.check({**delta, "input": [HI]}).rule == "pairing"
    assert judge.check({**delta, "input": [output("c9")]}).rule == "unexpected-result"
    wrong = {**delta, "input": [output("c1"), {"role": "user"}]}
    assert judge.check(wrong).param == "input[1].content"
    judge.keep(verdict.request, [said(id="msg_1")], "resp_2")
    assert judge.check({**delta, "input": "go on", "previous_response_id": "resp_2"}) is None


def test_a_response_that_was_not_stored_is_no_previous_one(judge):
    answer(judge, body(HI), said(id="msg_1"), response="resp_1")
    refusal = judge.check(body(HI, previous_response_id="resp_1"))
    assert refusal.body("")["error"] == {
        "message": "Previous response with id 'resp_1' not found.",
        "type": "invalid_request_error",
        "param": "previous_response_id",
        "code": "previous_response_not_found",
    }


def test_a_compaction_that_was_given_out_starts_a_history(judge):
    asked = body(HI, said(), HI, item("compaction_trigger"))
    compacted = item("compaction", id="cmp_1", encrypted_content=judge.memory.mint("long" * 99))
    judge.keep(judge.verdict(asked).request, [compacted])
    assert judge.check(body(compacted, HI)) is None
    assert judge.check(body(HI, compacted, HI, item("compaction_trigger"))) is None
    assert judge.check(body({**compacted, "id": None}, HI)) is None
    assert judge.check(body({**compacted, "encrypted_content": "gAAAAAB"}, HI)).rule == "encrypted"


def test_refusals_are_in_the_providers_words(judge):
    trigger = judge.check(body(HI, item("compaction_trigger"), HI))
    assert trigger.message == "The 'compaction_trigger' item must be the final input item."
    prefix = judge.check(body(HI, message("user", part("a"), id="item_1")))
    assert (
        prefix.message == "Invalid 'input[1].id': 'item_1'. Expected an ID that begins with 'msg'."
    )
    assert (prefix.param, prefix.code) == ("input[1].id", "invalid_id_prefix")
    long = judge.check(body(HI, call("c" * 70), output("c" * 70)))
    assert long.message == (
        "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64, "
        "but got a string with length 70 instead."
    )
    content = judge.check(body(HI, reasoning(id="rs_1", content=[{}])))
    assert content.message == (
        "Invalid 'input[1].content': array too long. Expected an array with maximum length 0, but "
        "got an array with length 1 instead."
    )
    parts = judge.check(body(message("assistant", part("a")), HI))
    assert parts.message == (
        "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'."
    )
    assert parts.param == "input[0].content[0]"
    summary = judge.check(body(HI, {"type": "reasoning", "id": "rs_1"}))
    assert summary.message == "Missing required parameter: 'input[1].summary'."
    duplicate = judge.check(body(message("user", id="msg_1"), message("user", id="msg_1")))
    assert duplicate.message == (
        "Duplicate item found with id msg_1. Remove duplicate items from your input and try again."
    )


def test_an_overflow_has_its_code():
    sent = body(message("user", part("x" * 35_000)))
    assert ResponsesJudge(Conditions(window=10_004)).check(sent) is None
    refusal = ResponsesJudge(Conditions(window=10_003)).check(sent)
    assert refusal.message == (
        "Your input exceeds the context window of this model. Please adjust your input and try "
        "again."
    )
    assert (refusal.code, refusal.param) == ("context_length_exceeded", "input")
    judge = ResponsesJudge(Conditions(window=10))
    assert judge.verdict(sent, counting=True).refusal is None


@pytest.mark.parametrize("sent", [b"{", b"[]", b'{"a": NaN}', b'{"a": "\xff"}'])
def test_a_body_that_is_no_json_object_is_refused(sent):
    assert ResponsesJudge().check(sent).rule == "body"


def test_a_body_over_the_limit_is_too_large():
    sent = json.dumps(body(message("user", part("x" * 52_430_000)))).encode()
    assert ResponsesJudge().check(sent).status == 413


def test_the_judge_is_known_by_its_dialect():
    assert isinstance(judge_of("openai_responses"), ResponsesJudge)


def test_the_model_sees_the_same_prompt_in_other_words(judge):
    def end(*items, **more):
        return judge.verdict(body(*items, **more)).request.end

    assert end(HI) == end(message("user", part("hi"))) == end(input="hi")
    assert end(HI) == end(message("user", part("hi"), id="msg_1", status="completed"))
    asked = end(HI, call("c1"), output("c1"))
    assert asked == end(HI, call("c1", id="fc_1"), output("c1", id="fco_1"))
    assert asked == end(HI, call("c1"), output("c1", [part("out")]))
    assert asked != end(HI, call("c1"), output("c1", "other"))
    assert asked != end(HI, call("c1"), output("c1"), instructions="be brief")
    shell, printed = PAIRS["shell_call"]
    assert end(HI, shell, printed) != end(HI, shell, {**printed, "output": [{"stdout": "b"}]})
    assert asked != end(
        message("user", part("hi"), {"type": "input_image"}), call("c1"), output("c1")
    )
    no, never = (message("assistant", {"type": "refusal", "refusal": w}) for w in ("no", "never"))
    assert end(HI, no) != end(HI, never)
    assert end(HI, no) != end(HI, said(""))
    first, second = thought(judge, "rs_1"), thought(judge, "rs_2")
    judge.memory.keep([first])
    judge.memory.keep([second])
    assert end(HI, first) == end(HI, {**first, "content": None, "summary": [{"text": "x"}]})
    assert end(HI, first) != end(HI, second)


def test_hidden_reasoning_is_billed():
    judge = ResponsesJudge()
    short, long = thought(judge, "rs_1", "a"), thought(judge, "rs_2", "a" * 3500)
    for seal in (short, long):
        judge.memory.keep([seal])
    few, many = (judge.prompt_tokens(judge.verdict(body(HI, s)).request) for s in (short, long))
    assert many - few == pytest.approx(1000, abs=3)
