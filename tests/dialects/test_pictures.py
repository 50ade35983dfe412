import base64
import json
import struct
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.transcript import Block
from cuesta.dialects.pictures import UNKNOWN, encoded_size, url_size
from cuesta.dialects.registry import DIALECTS


def _png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\2" * 90


def _gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0" * 40


def _riff(kind: bytes, rest: bytes) -> bytes:
    return b"RIFF\x99\0\0\0WEBP" + kind + struct.pack("<I", len(rest)) + rest + b"\0" * 40


def _segment(marker: int, content: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", len(content) + 2) + content


def _jpeg(width: int, height: int, *before: bytes, frame: int = 0xC0) -> bytes:
    size = struct.pack(">BHHB", 8, height, width, 3)
    return b"\xff\xd8" + b"".join(before) + _segment(frame, size + b"\0" * 9) + b"\xff\xda" * 9


_VP8X = _riff(b"VP8X", b"\0\0\0\0" + (1919).to_bytes(3, "little") + (1079).to_bytes(3, "little"))
_VP8L = _riff(b"VP8L", b"\x2f" + struct.pack("<I", 639 | 479 << 14))
_VP8 = _riff(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 320, 200))


def _encoded(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


@pytest.mark.parametrize(
    ("raw", "size"),
    [
        (_png(800, 600), (800, 600)),
        (_gif(30, 20), (30, 20)),
        (_jpeg(1024, 768), (1024, 768)),
        (_jpeg(5, 7, _segment(0xE1, b"x" * 60_000), frame=0xC2), (5, 7)),
        (_jpeg(5, 7, _segment(0xC4, b"x" * 30), b"\xff\xff\xff", _segment(0xE0, b"")), (5, 7)),
        (_VP8X, (1920, 1080)),
        (_VP8L, (640, 480)),
        (_VP8, (320, 200)),
        (_jpeg(5, 7, *[_segment(0xE2, b"x" * 60_000)] * 3), UNKNOWN),
        (_png(0, 600), UNKNOWN),
        (_png(1 << 31, 600), UNKNOWN),
        (_png(8, 6)[:18], UNKNOWN),
        (_jpeg(9, 9)[:9], UNKNOWN),
        (b"\xff\xd8" + b"\xff\xe0\0\0" * 40_000, UNKNOWN),
        (b"\xff\xd8" + b"\xff" * 90_000, UNKNOWN),
        (b"BM" + b"\0" * 60, UNKNOWN),
        (b"RIFF", UNKNOWN),
        (b"", UNKNOWN),
    ],
)
def test_a_pictures_size_is_read_from_its_first_bytes(raw, size):
    assert encoded_size(_encoded(raw)) == size
    assert url_size("data:image/x;base64," + _encoded(raw)) == size


def test_base64_in_lines_is_read():
    assert encoded_size(base64.encodebytes(_png(80, 60)).decode()) == (80, 60)


@given(st.text(max_size=200))
def test_no_text_is_too_strange(text: str):
    for size in (encoded_size(text), url_size(text), url_size("data:," + text)):
        assert size == UNKNOWN or min(size) > 0


_MAGIC = st.sampled_from([b"\x89PNG\r\n\x1a\n", b"GIF8", b"RIFF\0\0\0\0WEBPVP8X", b"\xff\xd8\xff"])


@given(_MAGIC, st.binary(max_size=300))
def test_no_file_is_too_broken(magic: bytes, rest: bytes):
    size = encoded_size(_encoded(magic + rest))
    assert size == UNKNOWN or min(size) > 0


def test_a_large_picture_costs_no_more_to_look_at_than_a_small_one():
    huge = "data:image/jpeg;base64," + _encoded(b"\xff\xd8" + b"\xff" * 12_000_000)
    began = time.process_time()
    assert url_size(huge) == UNKNOWN
    assert time.process_time() - began < 0.5


def test_what_is_elsewhere_is_of_unknown_size():
    assert url_size("https://example.org/a.png?x=1,2") == UNKNOWN
    assert url_size("data:image/png;base64") == UNKNOWN


_URL = "data:image/png;base64," + _encoded(_png(800, 600))
_SOURCE = {"type": "base64", "media_type": "image/png", "data": _encoded(_png(800, 600))}


@pytest.mark.parametrize(
    ("wire", "message", "sizes"),
    [
        ("anthropic", [{"type": "image", "source": _SOURCE}], ((800, 600),)),
        ("anthropic", [{"type": "image", "source": {"type": "url", "url": "x"}}], (UNKNOWN,)),
        ("anthropic", [{"type": "image"}], (UNKNOWN,)),
        ("anthropic", [{"type": "document", "source": _SOURCE}], ()),
        (
            "anthropic",
            [{"type": "tool_result", "tool_use_id": "a",
              "content": [{"type": "image", "source": _SOURCE}] * 2}],
            ((800, 600), (800, 600)),
        ),
        ("openai_chat", [{"type": "image_url", "image_url": {"url": _URL}}], ((800, 600),)),
        (
            "openai_chat",
            [{"type": "image_url", "image_url": {"url": _URL, "detail": "low"}}],
            ((512, 512),),
        ),
        ("openai_responses", [{"type": "input_image", "image_url": _URL}], ((800, 600),)),
        ("openai_responses", [{"type": "input_image", "file_id": "f"}], (UNKNOWN,)),
        (
            "openai_responses",
            [{"type": "input_image", "image_url": _URL, "detail": "low"}],
            ((512, 512),),
        ),
    ],
)  # fmt: skip
def test_every_wires_images_bring_their_size(wire, message, sizes):
    assert _block(wire, message).pictures == sizes


def _block(wire: str, content: list) -> Block:
    body = {"type": "message"} if wire == "openai_responses" else {}
    raw = json.dumps({**body, "role": "user", "content": content}).encode()
    return DIALECTS[wire].parse(raw)[0].blocks[0]
