import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.chain import chain, message_digest
from cuesta.dialects.anthropic import AnthropicDialect

_DIGESTS = st.lists(st.binary(min_size=32, max_size=32), min_size=1, max_size=8)


@given(_DIGESTS, st.data())
def test_a_link_depends_on_every_message_before_it_and_on_none_after(digests, data):
    links = chain(digests, "anthropic")
    place = data.draw(st.integers(0, len(digests) - 1))
    other = [*digests[:place], bytes(byte ^ 1 for byte in digests[place]), *digests[place + 1 :]]
    changed = chain(other, "anthropic")
    assert links[:place] == changed[:place]
    assert not set(links[place:]) & set(changed[place:])
    assert chain(digests[: place + 1], "anthropic") == links.first(place + 1)


@given(_DIGESTS)
def test_another_dialect_or_tenant_is_another_conversation(digests):
    chains = [
        chain(digests, "anthropic"),
        chain(digests, "openai"),
        chain(digests, "anthropic", "one"),
        chain(digests, "anthropic", "two"),
    ]
    links = [link for links in chains for link in links]
    assert len(set(links)) == len(links)


def test_repeated_messages_have_different_links():
    assert len(set(chain([b"\0" * 32] * 5, "anthropic"))) == 5


def test_the_dialects_name_cannot_be_moved_into_the_tenants():
    assert chain([b"x"], "b", "a") != chain([b"x"], "a\0b", "")
    assert chain([b"x"], "ab", "") != chain([b"x"], "b", "a")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=6), _JSON, max_size=5))
def test_key_order_does_not_change_a_digest(value):
    turned = dict(reversed(value.items()))
    assert message_digest(turned) == message_digest(value)


@given(_JSON, _JSON)
def test_different_values_have_different_digests(one, other):
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (message_digest(one) == message_digest(other)) == same


_PLAIN = b'{"role":"user","content":[{"type":"text","text":"h\xc3\xa9 \xf0\x9f\x9a\x80/"}]}'


@pytest.mark.parametrize(
    "written",
    [
        b'{"content":[{"text":"h\xc3\xa9 \xf0\x9f\x9a\x80/","type":"text"}],"role":"user"}',
        b' {\n "role" : "user",\t"content":[ {"type":"text","text":"h\\u00e9 \\ud83d\\ude80\\/"}]}',
        b'{"role":"user","content":"h\xc3\xa9 \xf0\x9f\x9a\x80/"}',
        _PLAIN.replace(b"}]", b',"cache_control":{"type":"ephemeral","ttl":"1h"}}]'),
    ],
)
def test_how_a_client_writes_a_message_does_not_change_its_link(written: bytes):
    assert AnthropicDialect().parse(written)[1] == AnthropicDialect().parse(_PLAIN)[1]
