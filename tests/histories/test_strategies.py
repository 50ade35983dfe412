from random import Random

import pytest
from history_shapes import WIRES
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

from cuesta.testing.histories import Feature
from cuesta.testing.histories.hypothesis import client_histories, texts

SHORT = settings(
    max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
SEARCH = settings(max_examples=500, deadline=None, database=None)


@SHORT
@given(st.sampled_from(WIRES).flatmap(lambda wire: client_histories(max_turns=12, wire=wire)))
def test_histories_are_fresh_and_play_to_their_end(history):
    main = 0
    while history.request() is not None:
        main += history.request_kind in {"main", "retry", "delta"}
        history.answer(lambda *_: "signature")
    assert main >= 1
    assert set(history.features) <= history.drawn


def test_a_failing_history_shrinks_to_one_feature_and_few_turns(play):
    def fails(history):
        play(history)
        return history.features[Feature.ERRORS] > 0

    found = find(client_histories(max_turns=20), fails, settings=SEARCH, random=Random(1))
    assert Feature.ERRORS in found.drawn
    assert len(found.drawn) <= 2
    assert "turns=20" not in repr(found)


@pytest.mark.parametrize(
    "holds",
    [
        lambda text: any("\ud800" <= char <= "\udfff" for char in text),
        lambda text: any("\u4e00" <= char <= "\u9fff" for char in text),
        lambda text: any(char > "\uffff" for char in text),
        lambda text: len(text) >= 64 and text.isalnum() and text.isascii(),
        lambda text: not text,
    ],
    ids=["surrogate", "ideograph", "astral", "base64", "empty"],
)
def test_texts_hold_what_is_hard(holds):
    assert holds(find(texts(), holds, settings=SEARCH, random=Random(1)))


@SHORT
@given(texts(surrogates=False, max_size=80))
def test_texts_without_surrogates_can_be_sent(text):
    text.encode()
    assert len(text) <= 80
