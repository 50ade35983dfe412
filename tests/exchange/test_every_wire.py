"""What stands where on every wire: text of ours, and the client's own messages around it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.dialects.raw import split_array, split_object
from cuesta.dialects.registry import DIALECTS
from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.testing.driver import Bench
from cuesta.testing.histories import ClientHistory

OPENING = b"<record-of-earlier-work>"
AUTHORITIES = {"system", "developer"}


def replaced(wire, seed, threshold=5_000):
    """Yield the client's raw messages and those sent in their place, behind a cliff."""
    history = ClientHistory(seed, wire=wire, turns=24)
    over = Bench(Engine(CompactionOptions(threshold=threshold)))
    where = DIALECTS[wire].where
    while (body := history.request()) is not None:
        driven = over.send(body, path=history.path.partition("?")[0])
        if driven.event.action == "replace":
            raw, sent = (split_array(split_object(b)[where]) for b in (body, driven.body))
            yield [json.loads(m) for m in raw], [json.loads(m) for m in sent]
        history.answer(lambda text, _: f"sealed {text}")


def test_histories_of_every_wire_cross_cliffs():
    for wire in DIALECTS:
        crossing = sum(1 for seed in range(8) if any(True for _ in replaced(wire, seed)))
        assert crossing >= 6


def by_the_model(message):
    """Tell whether a message is the model's; an item that no one knows is."""
    theirs = message.get("type", "message") in {"message", "compaction", "additional_tools"}
    return message.get("role") == "assistant" or not theirs


def is_ours(message):
    return OPENING.decode() in json.dumps(message)


@pytest.mark.parametrize("wire", DIALECTS)
@given(seed=st.integers(0, 2**32 - 1))
def test_text_of_ours_never_speaks_as_the_system(wire, seed):
    for raw, sent in replaced(wire, seed):
        assert [m["role"] for m in sent if is_ours(m)] == ["user"]
        assert all(m in raw for m in sent if m.get("role") in AUTHORITIES)


@pytest.mark.parametrize("wire", DIALECTS)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_digest_stands_behind_the_last_the_user_said_before_the_first_answer(wire, seed):
    for raw, sent in replaced(wire, seed):
        head = next(i for i, message in enumerate(raw) if by_the_model(message))
        anchor = max(
            i
            for i in range(head)
            if raw[i].get("role") == "user" or raw[i].get("type") == "compaction"
        )
        assert sent[:anchor] == raw[:anchor]
        if wire == "openai_chat":
            assert is_ours(sent[anchor])
            said = raw[anchor]["content"]
            assert sent[anchor]["content"][: len(said)] == said
            behind = sent[anchor + 1 :]
        else:
            assert sent[anchor] == raw[anchor]
            assert is_ours(sent[anchor + 1])
            behind = sent[anchor + 2 :]
        rest = head - anchor - 1
        assert behind[:rest] == raw[anchor + 1 : head]
        assert not any(map(is_ours, behind))
