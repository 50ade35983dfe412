import base64
import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.factors import FACTORS
from cuesta.core.meter import COMMON, RUN, Meter, meter_for, round_up
from cuesta.core.models import read_model
from cuesta.testing.histories.hypothesis import texts

_METERS = [Meter(name, factors) for name, factors in FACTORS.items()]
_ANY = st.sampled_from(_METERS)
_NAMES = {
    "claude": "claude-opus-4-5",
    "claude-4.7": "claude-opus-5-5",
    "gemini": "google/gemini-3-pro-preview",
    "gpt": "gpt-5.5-codex",
    "other": "qwen3-coder",
}


def _meter(family: str) -> Meter:
    return meter_for(read_model(_NAMES[family]))


@pytest.mark.parametrize("family", FACTORS)
def test_every_family_is_found_by_a_models_name(family: str):
    assert _meter(family) == Meter(family, FACTORS[family])


@given(_ANY, texts(), texts())
def test_a_whole_weighs_what_its_parts_weigh_but_for_rounding(meter, before, after):
    # The line break keeps two halves of encoded data from being one run.
    whole = meter.text(f"{before}\n{after}")
    assert whole >= max(meter.text(before), meter.text(after)) - 1
    assert abs(whole - meter.text(before) - meter.text(after)) <= 3


@given(_ANY, texts(max_size=2000))
def test_only_the_empty_text_weighs_nothing(meter: Meter, text: str):
    assert (meter.text(text) == 0) == (text == "")
    assert meter.text(text) <= 2 * max(1, len(text.encode("utf-8", "surrogatepass")))


@given(_ANY, st.text(st.characters(), max_size=200), st.integers(1, 20))
def test_any_text_is_weighed_and_always_alike(meter: Meter, text: str, times: int):
    weight = meter.text(text * times)
    assert weight == meter.text("".join([text] * times)) >= 0


@given(_ANY, texts(surrogates=False))
def test_bytes_weigh_what_their_text_weighs(meter: Meter, text: str):
    assert meter.raw(text.encode()) == meter.text(text)


@given(_ANY, st.binary(max_size=700))
def test_any_bytes_are_weighed(meter: Meter, raw: bytes):
    assert (meter.raw(raw) > 0) == bool(raw)


_ZH = "测试失败了。无法打开文件。请检查路径是否正确。"
_RU = "Тест не прошёл: не удалось открыть файл."
_CODE = "def mean(xs: list[float]) -> float:\n    return sum(xs) / len(xs)\n"


@pytest.mark.parametrize(
    ("family", "text", "tokens"),
    [
        ("claude", "a", 1),
        ("claude", "x" * 100, 24),
        ("claude", "word " * 200, 240),
        ("claude", "2026-12-01", 11),
        ("claude", "\t" + " " * 64 + "x", 4),
        ("claude", _CODE, 20),
        ("claude", _ZH, 25),
        ("claude", _RU, 28),
        ("claude", "\ud800" * 10, 11),
        ("claude-4.7", _CODE, 24),
        ("gemini", _CODE, 20),
        ("gemini", _ZH, 15),
        ("gpt", _CODE, 18),
        ("gpt", _RU, 15),
        ("other", _CODE, 20),
    ],
)
def test_golden_weights(family: str, text: str, tokens: int):
    assert _meter(family).text(text) == tokens


@pytest.mark.parametrize("meter", _METERS, ids=FACTORS)
def test_scripts_stand_in_order(meter: Meter):
    latin, cyrillic, chinese = (meter.text(sign * 120) for sign in "aя字")
    assert latin < cyrillic <= chinese
    assert latin < meter.text("/" * 120)
    assert latin < meter.text("7" * 120)
    assert meter.text(" " * 120) < latin


@pytest.mark.parametrize("meter", _METERS, ids=FACTORS)
def test_a_long_base64_run_weighs_far_more_than_prose_of_its_length(meter: Meter):
    run = base64.b64encode(Random(1).randbytes(75_000)).decode()
    in_prose = f"Here it is: {run} and that was it."
    assert 0.68 * len(run) < meter.text(in_prose) < 0.9 * len(run)
    prose = ("And that was it, " * (len(run) // 17))[: len(run)]
    assert meter.text(in_prose) > 2 * meter.text(prose)


@pytest.mark.parametrize("lead", ["", " ", "x ", "é" * 77, "a" * 300 + "\n"])
@pytest.mark.parametrize("meter", _METERS, ids=FACTORS)
def test_a_run_is_seen_wherever_it_stands_and_only_from_its_length_on(meter: Meter, lead: str):
    around = meter.text(lead + "." * 9)
    encoded = meter.factors.encoded * RUN // 1000
    assert abs(meter.text(lead + "q" * RUN + "." * 9) - around - encoded) <= 1
    short = meter.factors.letters * (RUN - 1) // 1000
    assert abs(meter.text(lead + "q" * (RUN - 1) + "." * 9) - around - short) <= 1


@given(_ANY, st.integers(1, 1 << 16), st.integers(1, 1 << 16))
def test_a_picture_has_a_bounded_weight_and_either_way_round_the_same(meter, width, height):
    tokens = meter.picture(width, height)
    rule = meter.factors.pictures
    most = max(rule.patches * rule.each // 1000, rule.unknown)
    assert 1 <= tokens <= most
    assert tokens == meter.picture(height, width)


@pytest.mark.parametrize(
    ("family", "width", "height", "tokens"),
    [
        ("claude", 256, 256, 100),
        ("claude", 1024, 1024, 1369),
        ("claude", 1280, 720, 1196),
        ("claude", 1920, 1080, 1568),
        ("claude", 4032, 3024, 1568),
        ("claude", 8000, 1, 56),
        ("claude", 0, 0, 1600),
        ("claude-4.7", 1920, 1080, 2691),
        ("claude-4.7", 3840, 2160, 2952),
        ("gemini", 1024, 1024, 1080),
        ("gpt", 256, 256, 76),
        ("gpt", 1024, 1024, 1228),
        ("gpt", 1920, 1080, 2448),
        ("gpt", 0, 0, 2000),
    ],
)
def test_golden_pictures(family: str, width: int, height: int, tokens: int):
    assert _meter(family).picture(width, height) == tokens


def test_a_picture_whose_size_is_half_known_is_unknown():
    assert COMMON.picture(0, 900) == COMMON.picture(900, -1) == COMMON.picture(0, 0)


def test_the_estimate_is_a_function_of_the_text_alone():
    text = json.dumps({"b": ["字", "e\u0301", "x" * 600]}, ensure_ascii=False)
    assert {COMMON.text(text) for _ in range(3)} == {COMMON.text(text[:9] + text[9:])}


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
