"""Thinking that comes back: what each kind of model takes, and what it says otherwise."""

import copy

import pytest

from cuesta.testing.simulator import Conditions, Judge, Signatures

CHECKS = "claude-opus-5-5"
PLAIN = "claude-opus-5"
BUDGETED = "claude-sonnet-4-5"
BETA = {"Anthropic-Beta": "effort-2025-11-24, thinking-binding-controls-2026-08-01"}
ADAPTIVE = {"type": "adaptive"}
BUDGET = {"type": "enabled", "budget_tokens": 2000}


def drop(behaviour="drop_block"):
    return {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": behaviour}}


def thinking(judge, sent, words, kind="thinking"):
    signature = judge.signatures.mint(judge.prefix(sent), words)
    if kind == "thinking":
        return {"type": "thinking", "thinking": words, "signature": signature}
    return {"type": "redacted_thinking", "data": signature}


def step(judge, sent, number, *, thinks=True, kind="thinking"):
    """Let the model answer with thinking, text and a call; return the answered conversation."""
    call = {"type": "tool_use", "id": f"t{number}", "name": "bash", "input": {"n": number}}
    content = [{"type": "text", "text": f"step {number}"}, call]
    if thinks:
        content.insert(0, thinking(judge, sent, f"thought {number}", kind))
    judge.answered(sent, content)
    out = {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"out {number}"}
    grown = copy.deepcopy(sent)
    grown["messages"] += [
        {"role": "assistant", "content": content},
        {"role": "user", "content": [out]},
    ]
    return grown


def start(model, mode=ADAPTIVE):
    return {
        "model": model,
        "max_tokens": 4000,
        "system": [{"type": "text", "text": "be good"}],
        "tools": [{"name": "bash"}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "do it"}]}],
        "thinking": mode,
    }


def grown(judge, model, steps=3, mode=ADAPTIVE, kind="thinking"):
    sent = start(model, mode)
    for number in range(steps):
        sent = step(judge, sent, number, kind=kind)
        assert judge.check(sent) is None
    return sent


def without_thinking(message):
    kept = [block for block in message["content"] if "thinking" not in block["type"]]
    return {**message, "content": kept}


EDITS = {
    "system": lambda b: b["system"].append({"type": "text", "text": "more"}),
    "tools": lambda b: b["tools"].append({"name": "grep"}),
    "first message": lambda b: b["messages"][0]["content"][0].update(text="do that"),
    "a message left out": lambda b: b["messages"].__delitem__(slice(1, 3)),
    "a result": lambda b: b["messages"][2]["content"][0].update(content="other"),
    "text added": lambda b: b["messages"][2]["content"].append({"type": "text", "text": "x"}),
    "a block between left out": lambda b: b["messages"][1]["content"].pop(0),
    "call input": lambda b: b["messages"][1]["content"][2]["input"].update(n=7),
}

HARMLESS = {
    "marker": lambda b: b["messages"][0]["content"][0].update(cache_control={"type": "ephemeral"}),
    "string": lambda b: b["messages"][0].update(content="do it"),
    "system string": lambda b: b.update(system="be good"),
    "result list": lambda b: b["messages"][2]["content"][0].update(
        content=[{"type": "text", "text": "out 0", "cache_control": {"type": "ephemeral"}}]
    ),
    "stream": lambda b: b.update(stream=True, max_tokens=9),
    "at the end": lambda b: b["messages"].append({"role": "user", "content": "go on"}),
    "split": lambda b: b["messages"].insert(
        3,
        {
            "role": "assistant",
            "content": [b["messages"][3]["content"].pop(0), b["messages"][3]["content"].pop(0)],
        },
    ),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_a_changed_prefix_makes_later_thinking_invalid(edit):
    judge = Judge()
    sent = grown(judge, CHECKS)
    edit(sent)
    refusal = judge.check(sent)
    assert refusal.rule == "prefix"
    assert "The block is bound to a different conversation." in refusal.message


@pytest.mark.parametrize("edit", HARMLESS.values(), ids=HARMLESS.keys())
@pytest.mark.parametrize("model", [CHECKS, PLAIN])
def test_the_same_prefix_in_other_words_is_the_same(model, edit):
    judge = Judge()
    sent = grown(judge, model)
    edit(sent)
    assert judge.check(sent) is None


def test_the_error_names_the_first_invalid_block():
    judge = Judge()
    sent = grown(judge, CHECKS)
    sent["messages"][2]["content"][0]["content"] = "other"
    assert judge.check(sent).message == (
        "messages.3.content.0: Invalid `signature` in `thinking` block. The block is bound to a "
        "different conversation. Remove the block, or set "
        '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting requires '
        "the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
    )


def test_without_any_stale_thinking_an_edit_is_harmless_and_new_thinking_is_valid():
    judge = Judge()
    sent = grown(judge, CHECKS)
    sent["messages"] = [
        without_thinking(m) if m["role"] == "assistant" else m for m in sent["messages"]
    ]
    sent["messages"][0]["content"][0]["text"] = "do it, in short"
    assert judge.check(sent) is None
    sent = step(judge, sent, 8)
    assert judge.check(sent) is None


def test_removing_only_the_named_block_is_not_enough():
    judge = Judge()
    sent = grown(judge, CHECKS)
    sent["system"] = "new"
    sent["messages"][1] = without_thinking(sent["messages"][1])
    assert judge.check(sent).message.startswith("messages.3.content.0:")


def test_a_second_thinking_block_of_a_message_needs_the_blocks_before_it():
    judge = Judge()
    sent = start(CHECKS)
    first = thinking(judge, sent, "one")
    behind = judge.prefix(sent).then("assistant", first)
    words = {"type": "text", "text": "so"}
    second = judge.signatures.mint(behind.then("assistant", words), "two")
    second = {"type": "thinking", "thinking": "two", "signature": second}
    content = [first, words, second, {"type": "text", "text": "done"}]
    judge.answered(sent, content)
    more = {"role": "user", "content": "more"}
    sent["messages"] += [{"role": "assistant", "content": content}, more]
    assert judge.check(sent) is None
    sent["messages"][1]["content"] = content[1:]
    assert judge.check(sent).rule == "prefix"
    sent["messages"][1]["content"] = [first, second, words, content[3]]
    assert judge.check(sent).rule == "prefix"


@pytest.mark.parametrize("kind", ["thinking", "redacted_thinking"])
def test_drop_block_drops_what_is_invalid_and_says_so(kind):
    judge = Judge()
    sent = grown(judge, CHECKS, kind=kind)
    sent["messages"][2]["content"][0]["content"] = "other"
    sent["thinking"] = drop()
    verdict = judge.verdict(sent, BETA)
    assert verdict.refusal is None
    assert verdict.transformations == [
        {
            "type": "thinking_dropped",
            "path": f"messages.{place}.content.0",
            "reason": "prefix_binding_mismatch",
        }
        for place in (3, 5)
    ]
    sent["thinking"] = drop("error")
    assert judge.check(sent, BETA).rule == "prefix"


def test_an_old_account_is_checked_only_when_it_asks():
    judge = Judge(Conditions(account="old"))
    sent = grown(judge, CHECKS)
    sent["system"] = "new"
    verdict = judge.verdict(sent)
    assert verdict.refusal is None
    assert {t["type"] for t in verdict.transformations} == {"thinking_mismatch_allowed"}
    sent["thinking"] = drop("error")
    assert judge.check(sent, BETA).rule == "prefix"
    sent["thinking"] = drop()
    assert {t["type"] for t in judge.verdict(sent, BETA).transformations} == {"thinking_dropped"}


def test_a_provider_may_drop_in_silence():
    judge = Judge(Conditions(mismatch="drop"))
    sent = grown(judge, CHECKS)
    sent["system"] = "new"
    verdict = judge.verdict(sent)
    assert verdict.refusal is None
    assert len(verdict.transformations) == 3


@pytest.mark.parametrize(
    ("model", "mode", "headers", "taken"),
    [
        (CHECKS, drop(), BETA, True),
        (CHECKS, drop(), {}, False),
        (PLAIN, drop(), BETA, False),
        (CHECKS, drop("ignore"), BETA, False),
        ("mock-model", drop(), BETA, False),
    ],
)
def test_binding_controls_need_their_beta_and_a_model_that_binds(model, mode, headers, taken):
    refusal = Judge().check(start(model, mode), headers)
    assert (refusal is None) is taken
    assert taken or refusal.rule == "thinking-binding"


def test_another_models_thinking_is_dropped_in_silence():
    judge = Judge()
    sent = grown(judge, PLAIN)
    sent["model"] = CHECKS
    verdict = judge.verdict(sent)
    assert verdict.refusal is None
    assert {t["reason"] for t in verdict.transformations} == {"model_binding_mismatch"}


def test_a_model_that_does_not_check_takes_thinking_behind_another_prefix():
    judge = Judge()
    sent = grown(judge, PLAIN)
    sent["system"] = "new"
    del sent["messages"][1:3]
    assert judge.check(sent) is None


@pytest.mark.parametrize("model", [CHECKS, PLAIN, BUDGETED])
@pytest.mark.parametrize(
    "change",
    [{"signature": "bm90IG1pbnRlZA=="}, {"thinking": "other words"}, {"signature": ""}],
    ids=["forged", "reworded", "empty"],
)
def test_changed_thinking_of_earlier_turns_is_refused(model, change):
    judge = Judge()
    sent = grown(judge, model, mode=BUDGET if model == BUDGETED else ADAPTIVE)
    sent["messages"][1]["content"][0].update(change)
    refusal = judge.check(sent)
    assert refusal.rule == "signature"
    assert refusal.message == "messages.1.content.0: Invalid `signature` in `thinking` block"


@pytest.mark.parametrize(("model", "mode"), [(PLAIN, ADAPTIVE), (BUDGETED, BUDGET)])
def test_the_last_answer_must_have_its_thinking(model, mode):
    judge = Judge()
    sent = grown(judge, model, mode=mode)
    sent["messages"][5] = without_thinking(sent["messages"][5])
    refusal = judge.check(sent)
    assert refusal.rule == "thinking-latest"
    assert refusal.message.startswith("messages.5.content.1: `thinking` or `redacted_thinking`")
    sent["thinking"] = {"type": "disabled"}
    assert judge.check(sent) is None


@pytest.mark.parametrize(("model", "mode"), [(PLAIN, ADAPTIVE), (BUDGETED, BUDGET)])
def test_thinking_of_earlier_answers_may_be_left_out(model, mode):
    judge = Judge()
    sent = grown(judge, model, mode=mode)
    sent["messages"][1] = without_thinking(sent["messages"][1])
    sent["messages"][3] = without_thinking(sent["messages"][3])
    assert judge.check(sent) is None


def test_the_last_answer_keeps_its_thinking_before_its_calls():
    judge = Judge()
    sent = grown(judge, PLAIN)
    thought, words, call = sent["messages"][5]["content"]
    sent["messages"][5]["content"] = [words, thought, call]
    assert judge.check(sent) is None
    other = thinking(judge, start(PLAIN), "another")
    judge.signatures.remember(other, judge.prefix(start(PLAIN)), PLAIN)
    sent["messages"][5]["content"] = [other, thought, words, call]
    assert judge.check(sent).rule == "thinking-latest"


def test_a_text_answer_may_come_back_as_it_was_or_with_a_marker():
    judge = Judge()
    sent = start(PLAIN)
    content = [thinking(judge, sent, "hm"), {"type": "text", "text": "Done."}]
    judge.answered(sent, content)
    marked = [content[0], {**content[1], "cache_control": {"type": "ephemeral"}}]
    ask = {"role": "user", "content": "and?"}
    base = sent["messages"]
    sent["messages"] = [*base, {"role": "assistant", "content": marked}, ask]
    assert judge.check(sent) is None
    sent["messages"] = [*base, {"role": "assistant", "content": content[1:]}, ask]
    assert judge.check(sent).rule == "thinking-latest"


def test_an_answer_of_thinking_alone_does_not_bind_requests_without_answers():
    judge = Judge()
    judge.answered(start(PLAIN), [thinking(judge, start(PLAIN), "hm")])
    assert judge.check(start(PLAIN)) is None


def test_with_a_budget_an_open_loop_starts_with_thinking():
    judge = Judge()
    sent = start(BUDGETED, BUDGET)
    call = {"type": "tool_use", "id": "t1", "name": "bash", "input": {}}
    out = {"type": "tool_result", "tool_use_id": "t1", "content": "o"}
    sent["messages"] += [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [out]},
    ]
    refusal = judge.check(sent)
    assert refusal.rule == "thinking-first"
    assert refusal.message.startswith(
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
        "`tool_use`. When `thinking` is enabled"
    )
    closed = copy.deepcopy(sent)
    closed["messages"] += [
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "more"},
    ]
    assert judge.check(closed) is None
    assert judge.check({**sent, "thinking": {"type": "disabled"}}) is None
    assert judge.check({**sent, "model": PLAIN, "thinking": ADAPTIVE}) is None


def test_with_a_budget_an_answer_that_had_no_thinking_comes_back_without():
    judge = Judge()
    sent = step(judge, grown(judge, BUDGETED, mode=BUDGET), 7, thinks=False)
    assert judge.check(sent) is None


def test_two_judges_may_bind_one_answer_to_two_prefixes():
    client, wire = Judge(), Judge()
    full, cut = start(CHECKS), start(CHECKS)
    full["messages"][0]["content"].append({"type": "text", "text": "a long story"})
    content = [thinking(wire, cut, "hm"), {"type": "text", "text": "Done."}]
    client.answered(full, content)
    wire.answered(cut, content)
    more = [{"role": "assistant", "content": content}, {"role": "user", "content": "and?"}]
    full["messages"] += more
    cut["messages"] += more
    assert client.check(full) is None
    assert wire.check(cut) is None
    assert client.check(cut).rule == "prefix"
    assert wire.check(full).rule == "prefix"


def test_signatures_look_like_base64_and_grow_with_what_they_hide():
    signatures = Signatures()
    prefix = Judge().prefix(start(CHECKS))
    short, long = signatures.mint(prefix, "a"), signatures.mint(prefix, "a" * 3000)
    assert len(long) - len(short) == pytest.approx(4000, abs=4)
    assert signatures.mint(prefix, "a") != short
    assert signatures.find(short) is None
