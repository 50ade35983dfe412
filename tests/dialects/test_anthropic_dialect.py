import json
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.errors import RequestError
from cuesta.core.meter import COMMON
from cuesta.core.transcript import BlockKind, Role, outline
from cuesta.dialects.anthropic import AnthropicDialect
from cuesta.dialects.raw import split_array, split_object
from cuesta.dialects.registry import DIALECTS, Claim, claim
from cuesta.testing.histories import ClientHistory
from cuesta.testing.histories.hypothesis import client_histories, texts

_DIALECT = AnthropicDialect()
_MARKER = {"type": "ephemeral", "ttl": "1h"}
_THINKING = {"thinking", "redacted_thinking"}


def _parse(message: object):
    return _DIALECT.parse(json.dumps(message).encode())


def _digest(message: object) -> bytes:
    return _parse(message)[1]


def _bodies(history: ClientHistory) -> list[bytes]:
    bodies = []
    while (body := history.request()) is not None:
        bodies.append(body)
        history.answer(lambda text, before: f"signature-{len(text)}-{len(before)}")
    return bodies


def _texts_of(count: int) -> st.SearchStrategy[list[str]]:
    return st.lists(texts(max_size=30), min_size=count, max_size=count)


# Identity: what clients change from one request to the next, and what they do not.


@st.composite
def _messages(draw: st.DrawFn) -> dict:
    one, two, three, four = draw(_texts_of(4))
    blocks = [
        {"type": "text", "text": one},
        {"type": "tool_result", "tool_use_id": two, "content": [{"type": "text", "text": three}]},
        {"type": "tool_result", "tool_use_id": two, "content": four, "is_error": True},
        {"type": "tool_use", "id": two, "name": "Bash", "input": {"cache_control": one}},
        {"type": "image", "source": {"type": "base64", "data": four}},
        {"type": "thinking", "thinking": three, "signature": one},
        {"type": "future_block", "parts": [one, None, 1.5]},
    ]
    content = draw(st.lists(st.sampled_from(blocks), min_size=1, max_size=4).map(deepcopy))
    return {"role": draw(st.sampled_from(["user", "assistant", "system"])), "content": content}


@given(_messages(), st.data())
def test_a_marker_may_stand_anywhere(message, data):
    marked = deepcopy(message)
    block = data.draw(st.sampled_from(marked["content"]))
    block["cache_control"] = _MARKER
    if block["type"] == "tool_result" and isinstance(block["content"], list):
        block["content"][0]["cache_control"] = _MARKER
    assert _digest(marked) == _digest(message)


@given(texts(max_size=30), texts(max_size=30))
def test_a_lone_text_may_be_a_string_or_a_block(one, two):
    def result(content: object) -> dict:
        block = {"type": "tool_result", "tool_use_id": one, "content": content}
        return {"role": "user", "content": [block]}

    block = {"type": "text", "text": two}
    assert _digest({"role": "user", "content": two}) == _digest(
        {"role": "user", "content": [block]}
    )
    assert _digest(result(two)) == _digest(result([block]))


@pytest.mark.parametrize("content", [{}, {"content": []}, {"content": None}])
def test_a_result_without_content_may_be_written_in_three_ways(content):
    block = {"type": "tool_result", "tool_use_id": "a"}
    bare = _digest({"role": "user", "content": [block]})
    assert _digest({"role": "user", "content": [{**block, **content}]}) == bare


@given(_messages(), st.data())
def test_anything_else_changes_the_identity(message, data):
    changed = deepcopy(message)
    place = data.draw(st.integers(0, len(changed["content"]) - 1))
    block = changed["content"][place]
    kind = data.draw(st.sampled_from(["field", "inner", "role", "drop", "double", "extra"]))
    if kind == "field":
        block["is_error"] = "new"
    elif kind == "inner":
        key = next(
            k for k in ("text", "name", "thinking", "content", "source", "parts") if k in block
        )
        block[key] = [{"type": "text", "text": "something else"}]
    elif kind == "role":
        changed["role"] = {"user": "assistant"}.get(message["role"], "user")
    elif kind == "drop":
        del changed["content"][place]
    elif kind == "double":
        changed["content"].insert(place, deepcopy(block))
    else:
        changed["output_config"] = {"effort": "low"}
    assert _digest(changed) != _digest(message)


def test_a_marker_inside_a_calls_arguments_is_an_argument():
    def message(arguments: dict) -> dict:
        call = {"type": "tool_use", "id": "a", "name": "x", "input": arguments}
        return {"role": "assistant", "content": [call]}

    assert _digest(message({"cache_control": 1})) != _digest(message({}))


# Reading.


@pytest.mark.parametrize(
    ("block", "kind"),
    [
        ({"type": "text", "text": "hi"}, BlockKind.TEXT),
        ({"type": "thinking", "thinking": "hm", "signature": "s"}, BlockKind.THINKING),
        ({"type": "redacted_thinking", "data": "d"}, BlockKind.THINKING),
        ({"type": "tool_use", "id": "a", "name": "x", "input": {}}, BlockKind.CALL),
        ({"type": "server_tool_use", "id": "a", "name": "x", "input": {}}, BlockKind.CALL),
        ({"type": "mcp_tool_use", "id": "a", "name": "x", "input": {}}, BlockKind.CALL),
        ({"type": "tool_result", "tool_use_id": "a"}, BlockKind.RESULT),
        ({"type": "web_search_tool_result", "tool_use_id": "a", "content": []}, BlockKind.RESULT),
        ({"type": "mcp_tool_result", "tool_use_id": "a", "content": []}, BlockKind.RESULT),
        ({"type": "image", "source": {}}, BlockKind.MEDIA),
        ({"type": "document", "source": {}}, BlockKind.MEDIA),
        ({"type": "future_block", "x": 1}, BlockKind.OPAQUE),
        ({}, BlockKind.OPAQUE),
    ],
)
def test_every_block_has_a_kind(block, kind):
    message, _ = _parse({"role": "user", "content": [block]})
    assert [b.kind for b in message.blocks] == [kind]


def test_calls_of_every_kind_are_open_until_their_result_came():
    calls = [
        {"type": kind, "id": kind, "name": "x", "input": {"a": 1}}
        for kind in ("tool_use", "server_tool_use", "mcp_tool_use")
    ]
    message, digest = _parse({"role": "assistant", "content": calls})
    opens = outline(message, digest, COMMON, human=False).opens
    assert opens == ("tool_use", "server_tool_use", "mcp_tool_use")


def test_results_are_read_in_every_shape():
    content = [
        {"type": "tool_result", "tool_use_id": "a", "content": "one"},
        {
            "type": "tool_result",
            "tool_use_id": "b",
            "is_error": True,
            "content": [
                {"type": "text", "text": "two"},
                {"type": "image", "source": {}},
                {"type": "text", "text": ""},
                {"type": "text", "text": "three"},
                {"type": "tool_reference", "tool_name": "x"},
            ],
        },
        {"type": "tool_result", "tool_use_id": "c"},
    ]
    one, two, three = _parse({"role": "user", "content": content})[0].blocks
    assert (one.texts, one.call_id, one.error) == (("one",), "a", False)
    assert (two.texts, two.error, two.media) == (("two", "three"), True, 1)
    assert two.pictures == ((0, 0),)
    assert two.weight > 0
    assert (three.texts, three.call_id, three.weight) == ((), "c", 0)


@pytest.mark.parametrize(
    ("role", "read"),
    [
        ("user", Role.USER),
        ("assistant", Role.ASSISTANT),
        ("system", Role.SYSTEM),
        ("developer", Role.SYSTEM),
    ],
)
def test_roles(role, read):
    assert _parse({"role": role, "content": "x"})[0].role is read


@pytest.mark.parametrize(
    ("kind", "pinned", "barrier"),
    [
        ("tool_addition", True, False),
        ("tool_removal", True, False),
        ("compaction", False, True),
        ("text", False, False),
        ("future_block", False, False),
    ],
)
def test_what_must_not_be_folded(kind, pinned, barrier):
    text = {"type": "text", "text": "compaction"}
    message, _ = _parse({"role": "system", "content": [text, {"type": kind, "text": ""}]})
    assert (message.pinned, message.barrier) == (pinned, barrier)


def test_hidden_thinking_is_weighed_by_its_encrypted_form():
    def size(block: dict) -> int:
        message, digest = _parse({"role": "assistant", "content": [block]})
        return outline(message, digest, COMMON, human=False).thinking

    hidden = {"type": "thinking", "thinking": "", "signature": "s" * 8_000}
    shown = {"type": "thinking", "thinking": "word " * 100, "signature": "s" * 8_000}
    redacted = {"type": "redacted_thinking", "data": "d" * 8_000}
    assert size(hidden) == size(redacted) > 900
    assert 100 < size(shown) < 200


@pytest.mark.parametrize(
    "message",
    [
        [],
        None,
        "x",
        {},
        {"role": "tool", "content": "x"},
        {"role": None, "content": "x"},
        {"role": "user", "content": 3},
        {"role": "user", "content": {"type": "text"}},
        {"role": "user", "content": ["x"]},
        {"role": "user", "content": [None]},
    ],
)
def test_what_is_no_message_is_refused(message):
    with pytest.raises(RequestError):
        _parse(message)


@pytest.mark.parametrize("depth", [300, 2_000, 100_000])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'[{"type":"tool_use","id":"a","name":"x","input":{"deep":', b"}}]"),
        (b'[{"type":"tool_result","tool_use_id":"a","content":', b"}]"),
        (b'[{"type":"future","deep":', b"}]"),
    ],
)
def test_deep_nesting_is_read_or_refused(depth, before, after):
    deep = b"[" * depth + b"]" * depth
    raw = b'{"role":"assistant","content":' + before + deep + after + b"}"
    try:
        message, digest = _DIALECT.parse(raw)
    except RequestError:
        assert depth > 300
    else:
        assert outline(message, digest, COMMON, human=False).tokens > 0


def test_deep_arguments_that_can_be_parsed_can_be_weighed():
    deep = b"[" * 700 + b"]" * 700
    call = b'{"type":"tool_use","id":"a","name":"x","input":{"deep":' + deep + b"}}"
    message, digest = _DIALECT.parse(b'{"role":"assistant","content":[' + call + b"]}")
    assert outline(message, digest, COMMON, human=False).tokens > 700


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"model":"m"}',
        b'{"messages":[]}',
        b'{"model":3,"messages":[]}',
        b'{"model":"m","messages":{}}',
        b'{"model":"m","messages":null}',
        b'{"model":"m","messages":"hi"}',
        b'{"model":"m","messages":[}',
    ],
)
def test_a_body_without_model_or_messages_is_refused(body):
    with pytest.raises(RequestError):
        _DIALECT.read(body)


def test_facts():
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "x"}] * 2,
        "max_tokens": 512,
        "tools": [{}, {}, {}],
        "output_config": {"format": {"type": "json_schema"}},
    }
    facts = _DIALECT.facts(_DIALECT.read(json.dumps(body).encode()))
    assert (facts.messages, facts.tools, facts.max_tokens, facts.structured) == (2, 3, 512, True)
    bare = _DIALECT.facts(
        _DIALECT.read(b'{"model":"m","messages":[],"output_config":{"effort":1}}')
    )
    assert (bare.messages, bare.tools, bare.max_tokens, bare.structured) == (0, 0, None, False)


# Splicing: the client's own bytes.


@given(client_histories(max_turns=12))
def test_splice_keeps_every_other_member_byte_for_byte_and_in_order(history):
    for body in _bodies(history):
        request = _DIALECT.read(body)
        spliced = _DIALECT.splice(request, [b'{"n": 1}', *request.messages[1:]])
        before, after = split_object(body), split_object(spliced)
        assert list(after) == list(before)
        assert {k: v for k, v in after.items() if k != "messages"} == {
            k: v for k, v in before.items() if k != "messages"
        }
        assert split_array(after["messages"])[0] == b'{"n": 1}'
        assert split_array(after["messages"])[1:] == split_array(before["messages"])[1:]
        json.loads(spliced)


@given(client_histories(max_turns=15))
def test_without_thinking_all_other_blocks_stay_byte_for_byte_and_in_order(history):
    for raw in _DIALECT.read(_bodies(history)[-1]).messages:
        value = json.loads(raw)
        cut = _DIALECT.without_thinking(raw)
        if isinstance(value["content"], str):
            assert cut == raw
            continue
        blocks = split_array(split_object(raw)["content"])
        kept = [block for block in blocks if json.loads(block)["type"] not in _THINKING]
        if len(kept) == len(blocks):
            assert cut == raw
        elif not kept:
            assert cut is None
        else:
            assert cut is not None
            assert split_array(split_object(cut)["content"]) == kept
            before, after = split_object(raw), split_object(cut)
            assert list(before) == list(after)
            assert all(before[key] == after[key] for key in before if key != "content")


def test_thinking_is_cut_from_between_other_blocks():
    raw = (
        b'{ "role" : "assistant", "content" : [ {"type":"thinking","thinking":"a"} , '
        b'{"type":"text", "text":"\\u00e9 "} ,{"data":"d","type":"redacted_thinking"},\n'
        b'{"type":"tool_use","id":"x"} ], "x" : 1.50 }'
    )
    assert _DIALECT.without_thinking(raw) == (
        b'{"role":"assistant","content":[{"type":"text", "text":"\\u00e9 "},'
        b'{"type":"tool_use","id":"x"}],"x":1.50}'
    )


@given(st.lists(st.sampled_from(sorted(_THINKING)), min_size=1, max_size=4))
def test_a_message_of_nothing_but_thinking_goes_whole(kinds):
    content = [{"type": kind, "thinking": "a", "data": "d"} for kind in kinds]
    raw = json.dumps({"role": "assistant", "content": content}).encode()
    assert _DIALECT.without_thinking(raw) is None


@given(texts(surrogates=False))
def test_a_digest_is_a_user_message_of_one_text(text):
    before = b'{"role":"user", "content":"hi"}'
    kept, digest = _DIALECT.with_digest(before, text)
    assert kept == before
    assert json.loads(digest) == {"role": "user", "content": [{"type": "text", "text": text}]}


# Claims.


@pytest.mark.parametrize(
    ("method", "path", "claimed"),
    [
        ("POST", "/v1/messages", Claim("anthropic")),
        ("POST", "/v1/messages/", Claim("anthropic")),
        ("POST", "/v1/messages/count_tokens", Claim("anthropic", counts=True)),
        ("GET", "/v1/messages", None),
        ("POST", "/v1/messages/batches", None),
        ("POST", "/v1/messagesx", None),
        ("POST", "/v1/chat/completions", Claim("openai_chat")),
        ("POST", "/v1/responses", Claim("openai_responses")),
        ("GET", "/v1/responses", None),
        ("POST", "/v1/responses/compact", None),
        ("POST", "/", None),
        ("HEAD", "/v1/messages", None),
    ],
)
def test_only_the_conversation_endpoints_are_claimed(method, path, claimed):
    assert claim(method, path) == claimed
    assert claimed is None or claimed.dialect in DIALECTS
