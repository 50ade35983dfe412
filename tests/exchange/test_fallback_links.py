"""Fail-open names conversations by itself; the names must be those of the ledger."""

import json

from conversations import histories, requests
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.chain import chain
from cuesta.dialects.anthropic import AnthropicDialect
from cuesta.exchange.fallback import _links

_DIALECT = AnthropicDialect()


def _agree(body: bytes) -> None:
    raw = _DIALECT.read(body).messages
    links = chain((_DIALECT.parse(message)[1] for message in raw), "anthropic")
    assert _links(json.loads(body)["messages"], "anthropic") == links


@given(histories())
def test_over_conversations(history):
    for number, body in enumerate(requests(history)):
        if number % 6 == 0:
            _agree(body)


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


@given(st.lists(_MESSAGES, max_size=4), st.booleans())
def test_over_any_messages(messages, ascii_only):
    value = {"model": "m", "messages": messages}
    text = json.dumps(value, ensure_ascii=ascii_only)
    escaped = "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in text)
    _agree(escaped.encode())
