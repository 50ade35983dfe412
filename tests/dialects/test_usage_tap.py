import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.usage import Usage
from cuesta.dialects.anthropic import AnthropicDialect
from cuesta.dialects.openai_usage import usage_of

_SSE = "text/event-stream; charset=utf-8"
_JSON = "application/json"
_BILL = {
    "input_tokens": 11,
    "cache_read_input_tokens": 5_000,
    "cache_creation_input_tokens": 700,
    "cache_creation": {"ephemeral_5m_input_tokens": 600, "ephemeral_1h_input_tokens": 100},
    "output_tokens": 42,
}
_USAGE = Usage(11, 5_000, 600, 100, 42)


def _event(kind: str, **fields: object) -> bytes:
    data = json.dumps({"type": kind, **fields}, ensure_ascii=False)
    return f"event: {kind}\ndata: {data}\n\n".encode()


def _stream(output: int = 42, **delta: object) -> bytes:
    start = {**_BILL, "output_tokens": 1}
    text = 'a "usage" that is no usage, data: {"usage": {"input_tokens": 9}} 🚀'
    return b"".join(
        [
            _event("message_start", message={"id": "m", "usage": start}),
            _event("ping"),
            _event("content_block_delta", delta={"type": "text_delta", "text": text}),
            b": a comment\n\n",
            _event("message_delta", usage={"output_tokens": output, **delta}),
            _event("message_stop"),
        ]
    )


def _answer() -> bytes:
    content = [{"type": "text", "text": '"usage": {"input_tokens": 99} 🚀'}]
    return json.dumps({"content": content, "usage": _BILL}, indent=1).encode()


def _cut(answer: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(answer), *(place for place in places if place < len(answer))})
    return [answer[a:b] for a, b in pairwise(edges)]


def _fed(content_type: str, chunks: list[bytes]) -> Usage | None:
    tap = AnthropicDialect().usage_tap(content_type)
    for chunk in chunks:
        tap.feed(chunk)
    return tap.usage


_PLACES = st.lists(st.integers(0, 10_000), max_size=40)


@given(_PLACES, st.booleans())
def test_a_stream_may_be_cut_anywhere(places, windows):
    stream = _stream().replace(b"\n", b"\r\n") if windows else _stream()
    assert _fed(_SSE, _cut(stream, places)) == _USAGE


@given(_PLACES)
def test_a_json_answer_may_be_cut_anywhere(places):
    assert _fed(_JSON, _cut(_answer(), places)) == _USAGE


def test_an_answer_may_come_byte_by_byte():
    assert _fed(_SSE, [bytes([byte]) for byte in _stream()]) == _USAGE
    assert _fed(_JSON, [bytes([byte]) for byte in _answer()]) == _USAGE


def test_a_stream_that_broke_off_tells_what_it_told():
    stream = _stream()
    start = stream[: stream.index(b"message_delta") - 7]
    assert _fed(_SSE, [start]) == Usage(11, 5_000, 600, 100, 1)
    assert _fed(_SSE, [stream[: stream.index(b"5000") + 4]]) is None


def test_a_later_figure_corrects_an_earlier_one_and_null_corrects_nothing():
    corrected = _stream(50, input_tokens=13, cache_read_input_tokens=None)
    assert _fed(_SSE, [corrected]) == Usage(13, 5_000, 600, 100, 50)


def test_usage_can_be_asked_for_while_a_stream_runs():
    tap = AnthropicDialect().usage_tap(_SSE)
    seen = []
    for chunk in _cut(_stream(), [*range(0, 2_000, 37)]):
        tap.feed(chunk)
        seen.append(tap.usage)
    assert seen[0] is None
    assert seen[-1] == _USAGE


def test_usage_can_be_asked_for_while_a_json_answer_comes():
    tap = AnthropicDialect().usage_tap(_JSON)
    for chunk in _cut(_answer(), [20, 60]):
        tap.feed(chunk)
        last = tap.usage
    assert last == _USAGE


def test_a_huge_event_hides_no_later_one():
    huge = _event("content_block_start", content_block={"data": "x" * (2 << 20)})
    stream = _stream()
    place = stream.index(b"event: message_delta")
    assert (
        _fed(_SSE, _cut(stream[:place] + huge + stream[place:], [*range(0, 3 << 20, 1 << 16)]))
        == _USAGE
    )


@given(st.binary(max_size=200), _PLACES, st.sampled_from([_SSE, _JSON, "", "text/html"]))
def test_malformed_answers_tell_nothing_and_raise_nothing(answer, places, content_type):
    assert _fed(content_type, _cut(answer, places)) is None


_COUNTS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just({})
)


@given(
    st.dictionaries(st.sampled_from(list(_BILL)), _COUNTS, max_size=5),
    st.dictionaries(st.sampled_from(list(_BILL["cache_creation"])), _COUNTS) | _COUNTS,
    st.sampled_from([_SSE, _JSON]),
)
def test_odd_figures_never_count_below_nothing(counts, lifetimes, content_type):
    usage = {**counts, "cache_creation": lifetimes}
    if content_type == _SSE:
        answer = _event("message_start", message={"usage": usage})
    else:
        answer = json.dumps({"usage": usage}).encode()
    told = _fed(content_type, [answer])
    assert told is None or min(told.prompt, told.input, told.output, told.cache_write) >= 0


@pytest.mark.parametrize(
    "answer",
    [
        b"data: [1]\n\n",
        b'data: {"usage": 3}\n\n',
        b'data: {"usage": {"input_tokens": 3\n\n',
        b'data: {"message": {"usage": []}}\n\n',
        b'data: {"message": "usage", "usage": null}\n\n',
        b"data: " + b'{"usage":' * 90_000 + b"\n\n",
        b"error \xff\xfe\n" * 9,
    ],
)
def test_events_that_bill_nothing(answer):
    assert _fed(_SSE, [answer]) is None
    assert _fed(_JSON, [answer]) is None


def test_an_error_answer_bills_nothing():
    body = b'{"type":"error","error":{"type":"overloaded_error","message":"usage"}}'
    assert _fed(_JSON, [body]) is None
    assert _fed(_SSE, [b"event: error\ndata: " + body + b"\n\n"]) is None


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ({"input_tokens": 5}, Usage(input=5)),
        ({"cache_creation_input_tokens": 9}, Usage(cache_write_5m=9)),
        (
            {
                "cache_creation_input_tokens": 9,
                "cache_creation": {"ephemeral_1h_input_tokens": 9},
            },
            Usage(cache_write_1h=9),
        ),
        ({"input_tokens": -5, "output_tokens": 2}, Usage(output=2)),
    ],
)
def test_figures_by_hand(counts, usage):
    assert _fed(_JSON, [json.dumps({"usage": counts}).encode()]) == usage


@pytest.mark.parametrize("details", ["prompt_tokens_details", "input_tokens_details"])
def test_what_openai_writes_to_the_cache_is_a_class_of_its_own(details):
    prompt = details.replace("_details", "")
    counts = {prompt: 100, details: {"cached_tokens": 60, "cache_write_tokens": 30}}
    assert usage_of(counts) == Usage(input=10, cache_read=60, cache_write_5m=30)
    counts[details]["cache_write_tokens"] = 70
    assert usage_of(counts) == Usage(cache_read=60, cache_write_5m=40), "never more than the prompt"
