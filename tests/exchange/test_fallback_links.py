"""Fail-open names conversations by itself; the names must be those of the ledger."""

import json

from conversations import histories, requests
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.chain import chain
from cuesta.dialects.registry import DIALECTS
from cuesta.exchange.fallback import _links

_KEYS = {"anthropic": "messages", "openai_chat": "messages", "openai_responses": "input"}


def _agree(body: bytes, wire: str = "anthropic", tenant: str = "") -> None:
    dialect = DIALECTS[wire]
    raw = dialect.read(body).messages
    links = list(chain((dialect.parse(message)[1] for message in raw), wire, tenant))
    assert _links(json.loads(body)[_KEYS[wire]], wire, tenant) == links


def test_every_wire_is_known():
    assert _KEYS.keys() == DIALECTS.keys()


@given(histories())
def test_over_conversations(history):
    for number, body in enumerate(requests(history)):
        if number % 6 == 0:
            _agree(body)
            _agree(body, tenant="somebody")


_TEXTS = st.text(max_size=6) | st.sampled_from(["\ud83d", "é", "🚀", ""])
_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _TEXTS
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "content", "cache_control", "x"]), inner)
    ),
    max_leaves=6,
)
_PARTS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "image", "tool_result", "document"])},
    optional={"text": _TEXTS, "content": _VALUES, "cache_control": _VALUES, "x": _VALUES},
)
_BLOCKS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_use", "tool_result", "thinking", "future"])},
    optional={
        "text": _TEXTS,
        "input": st.dictionaries(_TEXTS, _VALUES, max_size=2),
        "content": st.none() | _TEXTS | st.lists(_PARTS | _TEXTS, max_size=3) | _VALUES,
        "cache_control": _VALUES,
    },
)
_MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system", "developer"])},
    optional={
        "content": st.none() | _TEXTS | st.lists(_BLOCKS, max_size=4),
        "cache_control": _VALUES,
        "output_config": _VALUES,
    },
)


_CHAT = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool", "developer"])},
    optional={
        "content": st.none() | _TEXTS | st.lists(_PARTS, max_size=3),
        "tool_calls": st.none() | st.lists(_PARTS, max_size=2),
        "tool_call_id": _TEXTS,
        "reasoning_content": st.none() | _TEXTS,
        "cache_control": _VALUES,
    },
)
_ITEMS = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant"])},
    optional={
        "type": st.sampled_from(["message", "reasoning", "function_call", "future_call", "odd"])
        | st.sampled_from(["function_call_output", "compaction", "additional_tools"]),
        "content": st.none() | _TEXTS | st.lists(_PARTS, max_size=2),
        "output": st.none() | _TEXTS | st.lists(_PARTS, max_size=2),
        "call_id": st.none() | _TEXTS,
        "arguments": st.none() | _TEXTS,
        "cache_control": _VALUES,
    },
)


@given(
    st.tuples(st.just("anthropic"), st.lists(_MESSAGES, max_size=4))
    | st.tuples(st.just("openai_chat"), st.lists(_CHAT, max_size=4))
    | st.tuples(st.just("openai_responses"), st.lists(_ITEMS, max_size=4)),
    st.booleans(),
)
def test_over_any_messages(conversation, ascii_only):
    wire, messages = conversation
    text = json.dumps({"model": "m", _KEYS[wire]: messages}, ensure_ascii=ascii_only)
    escaped = "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in text)
    _agree(escaped.encode(), wire)
