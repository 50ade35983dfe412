"""Whatever stands where in a message: a dialect reads it, or says that it cannot."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.errors import RequestError
from cuesta.dialects.registry import DIALECTS

KEYS = [
    "type", "role", "content", "text", "id", "name", "input", "arguments", "output",
    "tool_use_id", "tool_call_id", "call_id", "tool_calls", "function", "function_call",
    "custom", "source", "data", "image_url", "url", "detail", "status", "is_error", "thinking",
    "signature", "reasoning", "reasoning_content", "summary", "encrypted_content", "action",
]  # fmt: skip
WORDS = [
    "user", "assistant", "system", "developer", "tool", "text", "tool_use", "tool_result",
    "server_tool_use", "image", "document", "thinking", "redacted_thinking", "function",
    "message", "function_call", "function_call_output", "reasoning", "input_text",
    "output_text", "input_image", "refusal", "shell_call", "shell_call_output", "mcp_call",
    "compaction", "custom_tool_call", "custom_tool_call_output", "tool_search_output", "low",
    "failed", "base64",
]  # fmt: skip
LEAVES = st.sampled_from(WORDS) | st.none() | st.booleans() | st.integers() | st.text(max_size=3)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=12,
)
KINDS = st.sampled_from(WORDS)
PARTS = st.builds(
    lambda rest, kind: {**rest, "type": kind},
    st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4),
    KINDS | VALUES,
)
MESSAGES = st.builds(
    lambda rest, role, kind, content: {**rest, "role": role, **kind, "content": content},
    st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4),
    st.sampled_from(["user", "assistant", "system", "developer", "tool"]),
    st.builds(lambda kind: {"type": kind}, KINDS) | st.just({}),
    VALUES | st.lists(PARTS, max_size=3),
)


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
@given(message=MESSAGES | VALUES)
def test_a_message_is_read_or_refused(dialect, message):
    raw = json.dumps(message).encode()
    try:
        read, _ = dialect.parse(raw)
    except RequestError:
        return
    left = dialect.without_thinking(raw)
    assert left is None or dialect.parse(left)[0].role is read.role
    cleared = dialect.cleared(raw)
    assert (json.loads(cleared) != message) == bool(read.clearable)
    assert not dialect.parse(cleared)[0].clearable


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
@given(members=st.dictionaries(st.sampled_from([*KEYS, "tools", "usage", "stream"]), VALUES))
def test_a_body_and_an_answer_are_read_or_refused(dialect, members):
    raw = json.dumps({"model": "m", dialect.where: [], **members}).encode()
    try:
        request = dialect.read(raw)
        dialect.facts(request)
        dialect.fixed(request)
    except RequestError:
        pass
    dialect.usage_tap("application/json").feed(raw)
    dialect.said("application/json", raw)
