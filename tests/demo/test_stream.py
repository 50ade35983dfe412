import gzip
import json
import zlib

import brotli
import pytest
import zstandard

from cuesta.core.errors import RequestError
from cuesta.core.usage import Usage
from cuesta.testing.stream import Answer, EventReader, decoder_for

EVENTS = [
    {
        "type": "message_start",
        "message": {
            "usage": {
                "input_tokens": 7,
                "cache_read_input_tokens": 100,
                "cache_creation_input_tokens": 50,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": 30,
                    "ephemeral_1h_input_tokens": 20,
                },
                "output_tokens": 1,
            }
        },
    },
    {"type": "ping"},
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "thinking", "thinking": "", "signature": ""},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "thinking_delta", "thinking": "hm"},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "signature_delta", "signature": "c2ln"},
    },
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "text_delta", "text": "na\u00ef"},
    },
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "ve\n"}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "of_tomorrow", "x": 1}},
    {"type": "content_block_stop", "index": 1},
    {
        "type": "content_block_start",
        "index": 2,
        "content_block": {"type": "tool_use", "id": "a", "name": "search", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 2,
        "delta": {"type": "input_json_delta", "partial_json": '{"patt'},
    },
    {
        "type": "content_block_delta",
        "index": 2,
        "delta": {"type": "input_json_delta", "partial_json": 'ern":"x"}'},
    },
    {"type": "content_block_stop", "index": 2},
    {
        "type": "content_block_start",
        "index": 3,
        "content_block": {"type": "tool_use", "id": "b", "name": "list_files", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 3,
        "delta": {"type": "input_json_delta", "partial_json": ""},
    },
    {"type": "content_block_stop", "index": 3},
    {"type": "event_of_tomorrow"},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use"},
        "usage": {"output_tokens": 42},
    },
    {"type": "message_stop"},
]

CONTENT = [
    {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
    {"type": "text", "text": "na\u00efve\n"},
    {"type": "tool_use", "id": "a", "name": "search", "input": {"pattern": "x"}},
    {"type": "tool_use", "id": "b", "name": "list_files", "input": {}},
]


def wire(end="\n"):
    lines = []
    for event in EVENTS:
        data = json.dumps(event, ensure_ascii=False)
        lines += [": a comment", f"event: {event['type']}", f"data: {data}", ""]
    return (end.join(lines) + end).encode()


def read(pieces):
    reader, answer = EventReader(), Answer()
    for piece in pieces:
        for event in reader.feed(piece):
            answer.add(event)
    return answer


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("size", [1, 7, 1000, 1_000_000])
def test_answer_is_the_same_however_the_bytes_come(size, end):
    raw = wire(end)
    answer = read(raw[i : i + size] for i in range(0, len(raw), size))
    assert answer.content == CONTENT
    assert answer.stop_reason == "tool_use"
    assert answer.complete
    assert [call["id"] for call in answer.calls] == ["a", "b"]
    assert answer.usage == Usage(7, 100, 30, 20, 42)


def test_data_over_several_lines_is_one_event():
    (event,) = EventReader().feed(b'data: {"type":\ndata: "ping"}\n\n')
    assert event == {"type": "ping"}


def test_events_are_given_before_the_end():
    raw = wire()
    first = raw.index(b"\n\n") + 2
    assert len(list(EventReader().feed(raw[:first]))) == 1


def test_error_event_and_missing_end():
    error = b'data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    assert read([error]).error == "Overloaded"
    assert not read([wire()[:-20]]).complete


def _zstd(data):
    return zstandard.ZstdCompressor().compress(data)


@pytest.mark.parametrize(
    ("encoding", "compress"),
    [
        ("", bytes),
        ("identity", bytes),
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("br", brotli.compress),
        ("zstd", _zstd),
        (" GZIP ", gzip.compress),
    ],
)
def test_every_encoding_asked_for_is_read_piece_by_piece(encoding, compress):
    raw, decoder = compress(wire()), decoder_for(encoding)
    pieces = (decoder.decompress(raw[i : i + 5]) for i in range(0, len(raw), 5))
    assert read(pieces).content == CONTENT


def test_other_encodings_are_refused():
    with pytest.raises(RequestError, match="compress"):
        decoder_for("compress")
