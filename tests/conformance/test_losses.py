"""What two bodies side by side tell: each loss is named, and a rightful form is none."""

import json

import pytest

from cuesta.testing.losses import loss

DIGEST = "<record-of-earlier-work>\nsteps\n</record-of-earlier-work>"
TASK = {"role": "user", "content": "the task"}
OLD = [{"role": "assistant", "content": "one"}, {"role": "user", "content": "go on"}]
NEW = [{"role": "assistant", "content": "two"}, {"role": "user", "content": "and on"}]
CHANGE = {"role": "system", "content": [{"type": "tool_removal", "name": "bash"}]}
COMPACTION = {"type": "compaction", "encrypted_content": "sealed"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}
PAUSED, SHORTER = (
    {"role": "assistant", "content": blocks} for blocks in ([THOUGHT, SEARCH], [SEARCH])
)
MARK = {"cache_control": {"type": "ephemeral"}}


def ours(role="user", **fields):
    return {"role": role, "content": [{"type": "text", "text": DIGEST, **fields}]}


def body(messages, where="messages"):
    return json.dumps({"model": "m", where: messages}).encode()


@pytest.mark.parametrize(
    ("client", "sent"),
    [
        ([TASK, *OLD, *NEW], [TASK, ours(), *NEW]),
        ([TASK, *OLD, *NEW], [{"role": "user", "content": f"the task\n\n{DIGEST}"}, *NEW]),
        ([TASK, *OLD, CHANGE, *NEW], [TASK, ours(), CHANGE, *NEW]),
        ([COMPACTION, TASK, *OLD, *NEW], [COMPACTION, TASK, ours(), *NEW]),
        ([TASK, *OLD, COMPACTION, *NEW], [TASK, ours(), COMPACTION, *NEW]),
        ([TASK, *OLD, PAUSED], [TASK, ours(), SHORTER]),
        ([TASK, *OLD, {**PAUSED, "content": [THOUGHT]}], [TASK, ours()]),
        ([TASK, *OLD, {**TASK, **MARK}], [TASK, ours(), TASK]),
    ],
)
def test_a_rightful_form_loses_nothing(client, sent):
    assert loss(body(client), body(sent)) == ""
    assert loss(body(client, "input"), body(sent, "input")) == ""


@pytest.mark.parametrize(
    ("client", "sent", "told"),
    [
        ([TASK, *OLD, *NEW], [TASK, ours(), NEW[0]], "last message"),
        ([TASK, *OLD, PAUSED], [TASK, ours(), {**PAUSED, "content": [THOUGHT]}], "last message"),
        ([TASK, *OLD, CHANGE, *NEW], [TASK, ours(), *NEW], "tools is gone"),
        ([TASK, *OLD, *NEW], [TASK, ours("developer"), *NEW], "speak as the user"),
        ([TASK, *OLD, *NEW], [TASK, ours(), ours(), *NEW], "more than one"),
        ([TASK, *OLD, *NEW], [TASK, ours(**MARK), *NEW], "cache marker"),
        ([COMPACTION, TASK, *OLD, *NEW], [TASK, ours(), *NEW], "provider is gone"),
        ([TASK, COMPACTION, *OLD, *NEW], [TASK, ours(), COMPACTION, *NEW], "stands before"),
    ],
)
def test_each_loss_is_told(client, sent, told):
    assert told in loss(body(client), body(sent))


def test_an_untouched_body_and_one_without_a_list_lose_nothing():
    assert loss(b"{}", b"{}") == ""
    assert loss(b'{"input": "hello"}', b'{ "input": "hello" }') == ""
