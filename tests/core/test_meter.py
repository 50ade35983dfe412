import base64
import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.meter import IMAGE_TOKENS, estimate, estimate_bytes, round_up
from cuesta.testing.histories.hypothesis import texts


@given(texts(), texts())
def test_more_text_is_never_fewer_tokens(before: str, after: str):
    assert estimate(before + after) >= max(estimate(before), estimate(after))


@given(texts(max_size=2000))
def test_only_the_empty_text_weighs_nothing(text: str):
    assert (estimate(text) == 0) == (text == "")
    assert estimate(text) <= 2 * max(1, len(text.encode("utf-8", "surrogatepass")))


@given(texts(surrogates=False))
def test_bytes_weigh_what_their_text_weighs(text: str):
    assert estimate_bytes(text.encode()) == estimate(text)


def test_invalid_utf8_is_weighed_not_refused():
    assert estimate_bytes(b'{"a":"\xff\xfe"}') > 0


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("a", 1),
        ("x" * 35, 10),
        ("ab " * 700, 600),
        ("字" * 160, 160),
        ("é" * 30, 20),
        ("👩" * 30, 40),
        ("a" * 35 + "字" * 10, 20),
    ],
)
def test_scripts_weigh_what_their_bytes_tell(text: str, tokens: int):
    assert estimate(text) == tokens


def test_a_long_base64_run_weighs_far_more_than_prose_of_its_length():
    run = base64.b64encode(Random(1).randbytes(75_000)).decode()
    in_prose = f"Here it is: {run} and that was it."
    assert estimate(in_prose) > 0.7 * len(run)
    assert estimate(" ".join(run[i : i + 76] for i in range(0, len(run), 76))) < 0.31 * len(run)


def test_a_short_run_is_no_base64():
    assert estimate("A" * 511 + " ") == estimate("A b." * 128)
    assert estimate("A" * 1024) > 2 * estimate("A b." * 256)


def test_an_image_has_a_flat_cost_of_its_own():
    assert 1000 <= IMAGE_TOKENS <= 2000


def test_the_estimate_is_a_function_of_the_text_alone():
    text = json.dumps({"b": ["字", "e\u0301", "x" * 600]}, ensure_ascii=False)
    assert {estimate(text) for _ in range(3)} == {estimate(text[:9] + text[9:])}


@given(st.integers(0, 10**7))
def test_rounding_goes_up_to_a_quarter_of_a_power_of_two_and_by_no_more(tokens: int):
    rounded = round_up(tokens)
    assert tokens <= rounded <= tokens * 1.25
    assert round_up(rounded) == rounded
    if rounded > 4:
        power = 1 << (rounded.bit_length() - 1)
        assert rounded / power in (1, 1.25, 1.5, 1.75)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_rounding_keeps_the_order(one: int, other: int):
    assert (one <= other) <= (round_up(one) <= round_up(other))


@pytest.mark.parametrize(
    ("tokens", "rounded"),
    [(0, 0), (1, 1), (4, 4), (5, 5), (9, 10), (16, 16), (17, 20), (3000, 3072), (3073, 3584)],
)
def test_rounding_by_hand(tokens: int, rounded: int):
    assert round_up(tokens) == rounded
