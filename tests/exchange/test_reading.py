"""What is recognised of a body's beginning is what reading it again would have given."""

import json
from dataclasses import replace

import pytest
from conversations import histories
from hypothesis import assume, given
from hypothesis import strategies as st
from wire import CHECKING, body, talk, turn

from cuesta.core.errors import RequestError
from cuesta.dialects.registry import DIALECTS
from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.exchange.reading import Reader
from cuesta.testing.driver import Bench
from cuesta.testing.histories import ClientHistory

NEVER = 1 << 40
BLOCKS = st.sampled_from([64, 301, 2_048])


def readers(wire="anthropic", block=128):
    """A reader that recognises beginnings, and one that never does."""
    dialect = DIALECTS[wire]
    return Reader(dialect, wire, 1, block), Reader(dialect, wire, 2, NEVER)


def read(reader, raw):
    """Read a body; return its facts and its reading, or the error."""
    try:
        cut = reader.cut(raw, "")
        return cut, reader.dialect.facts(cut.request), reader.read(raw, "", cut)
    except RequestError as error:
        return str(error)


def plain_outline(outline):
    return replace(outline, digest=b"", opens=(), answers=())


def assert_same(fast, plain, where="messages"):
    assert isinstance(fast, str) == isinstance(plain, str)
    if isinstance(plain, str):
        assert fast == plain
        return
    (body_f, facts_f, read_f), (body_p, facts_p, read_p) = fast, plain
    members_f, members_p = body_f.request.members, body_p.request.members
    assert list(members_f) == list(members_p)
    assert all(members_f[key] == members_p[key] for key in members_p if key != where)
    assert list(body_f.request.messages) == list(body_p.request.messages)
    assert body_f.request.model == body_p.request.model
    assert body_f.meter == body_p.meter
    assert facts_f == facts_p
    assert list(read_f.links) == list(read_p.links)
    assert (read_f.whole.head, read_f.whole.turns) == (read_p.whole.head, read_p.whole.turns)
    assert list(read_f.whole.turns) == list(read_p.whole.turns)
    assert read_f.first_call == read_p.first_call
    assert list(map(plain_outline, read_f.outlines)) == list(map(plain_outline, read_p.outlines))


@pytest.mark.parametrize("wire", DIALECTS)
@given(seed=st.integers(0, 2**32), block=BLOCKS)
def test_both_ways_read_the_same(wire, seed, block):
    history = ClientHistory(seed, wire=wire, turns=24)
    fast, plain = readers(wire, block)
    while (raw := history.request()) is not None:
        assert_same(read(fast, raw), read(plain, raw), DIALECTS[wire].where)
        history.answer(lambda text, _: f"sealed {text}")


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", CHECKING])
def test_a_growing_conversation_is_recognised(model):
    fast, _ = readers()
    messages = talk(12, thinks=True)
    read(fast, body(messages, model=model))
    for number in range(12, 30):
        messages += turn(number, thinks=True)
        cut, _, reading = read(fast, body(messages, model=model))
        assert cut.count >= len(messages) - 2 * 6
        assert len(reading.links) == len(messages)


@given(histories(), BLOCKS)
def test_both_ways_send_the_same(history, block):
    options = CompactionOptions(threshold=5_000)
    fast, plain = Bench(Engine(options, block=block)), Bench(Engine(options, block=NEVER))
    while (raw := history.request()) is not None:
        path = history.path.partition("?")[0]
        one, other = fast.send(raw, path=path), plain.send(raw, path=path)
        assert one.body == other.body
        assert one.event == other.event
        history.answer(lambda text, _: f"sealed {text}")
    assert fast.ledger == plain.ledger


SPACES = st.text(" \t\n\r", max_size=3)


@st.composite
def odd_bodies(draw):
    """Two bodies that begin alike, written oddly: spaces, repeated and unknown members, order."""
    messages = talk(draw(st.integers(8, 14)), size=300)
    members = [("model", '"claude-sonnet-4-5"'), ("max_tokens", "9")]
    extra = st.sampled_from(
        [
            ("model", '"claude-haiku-4-5"'), ("messages", '[{"role":"user","content":"two"}]'),
            ("messages", "[0]"), ("messages", "7"), ("metadata", '{"a":"}"}'), ("a b", "1"),
            ("kéy", '"\\ud800"'), ("", "[]"), ("max_tokens", "1"), ("system", '"s"'),
        ]
    )  # fmt: skip
    before = draw(st.lists(extra, max_size=2))
    behind = draw(st.lists(extra, max_size=2))
    comma, colon, blank = f"{draw(SPACES)},{draw(SPACES)}", f":{draw(SPACES)}", draw(SPACES)

    def written(listed, behind):
        items = comma.join(json.dumps(m, separators=(comma, colon)) for m in listed)
        pairs = [*members, *before, ("messages", f"[{blank}{items}{blank}]"), *behind]
        inner = comma.join(f'"{key}"{colon}{value}' for key, value in pairs)
        return f"{blank}{{{blank}{inner}{blank}}}{blank}".encode()

    longer = [*messages, *turn(90, size=200)]
    again = draw(st.booleans())
    return written(messages, behind), written(longer, behind if again else draw(st.lists(extra)))


@given(odd_bodies(), BLOCKS)
def test_odd_bodies_are_read_the_same(bodies, block):
    fast, plain = readers(block=block)
    for raw in (*bodies, *bodies):
        assert_same(read(fast, raw), read(plain, raw))


@given(st.data(), BLOCKS)
def test_a_changed_byte_is_never_overlooked(data, block):
    fast, plain = readers(block=block)
    raw = body(talk(12, size=300))
    read(fast, raw)
    at = data.draw(st.integers(0, len(raw) - 1))
    other = raw[:at] + data.draw(st.binary(max_size=3)) + raw[at + data.draw(st.integers(0, 3)) :]
    assume(other != raw)
    assert_same(read(fast, other), read(plain, other))


@pytest.mark.parametrize("border", range(1, 10))
def test_a_turn_that_goes_on_with_other_messages_is_read_again(border):
    fast, plain = readers(block=4)
    messages = talk(12, size=200)
    read(fast, body(messages))
    more = {"role": "user", "content": "One more thing."}
    end = len(talk(border))
    for goes_on in ([more], [more, *messages[end:]], [messages[end], more]):
        raw = body([*messages[:end], *goes_on])
        assert_same(read(fast, raw), read(plain, raw))


def test_another_tenant_or_model_is_read_afresh():
    fast, _ = readers()
    raw = body(talk(12, size=300))
    read(fast, raw)
    assert fast.cut(raw, "").count > 0
    assert fast.cut(raw, "another").count == 0
    assert fast.cut(body(talk(12, size=300), model="claude-opus-5-5"), "").count == 0


def test_a_call_that_the_client_took_back_is_forgotten():
    fast, plain = readers()
    words = [
        {"role": role, "content": f"{number} {role} " * 20}
        for number in range(12)
        for role in ("user", "assistant")
    ]
    read(fast, body([*words, {"role": "user", "content": "now call"}, *talk(12, size=300)[1:]]))
    raw = body([*words, {"role": "user", "content": "something else"}])
    assert read(fast, raw)[2].first_call is None
    assert_same(read(fast, raw), read(plain, raw))
