"""Content codings are undone wherever the pieces end, and never into unbounded memory."""

from __future__ import annotations

import tracemalloc
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from proxy_rig import gzipped, raw_deflated

from cuesta.core.errors import RequestError
from cuesta.proxy.decode import UndecodableError, decode, decoder_for

ENCODERS = {
    "gzip": gzipped,
    "x-gzip": gzipped,
    "deflate": zlib.compress,
    "deflate raw": raw_deflated,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}
LIMIT = 1 << 30


def name(coding):
    return coding.split()[0]


@pytest.mark.parametrize("coding", ENCODERS)
@given(text=st.binary(max_size=5000), times=st.integers(1, 50), size=st.integers(1, 700))
def test_pieces_may_end_anywhere(coding, text, times, size):
    content = text * times
    coded = ENCODERS[coding](content)
    decoder = decoder_for(name(coding))
    pieces = []
    for start in range(0, len(coded), size):
        assert not decoder.ended
        pieces += decoder.feed(coded[start : start + size])
    assert b"".join(pieces) == content
    assert decoder.ended
    assert decode(coded, name(coding), LIMIT) == content


@pytest.mark.parametrize("coding", ENCODERS)
def test_a_body_cut_short_is_not_taken_for_whole(coding):
    coded = ENCODERS[coding](bytes(range(256)) * 100)
    for length in (1, 2, len(coded) // 2, len(coded) - 1):
        with pytest.raises(UndecodableError):
            decode(coded[:length], name(coding), LIMIT)


@pytest.mark.parametrize("coding", ENCODERS)
def test_bytes_after_the_end_are_not_passed_over(coding):
    with pytest.raises(UndecodableError):
        decode(ENCODERS[coding](b"content") + b"and more", name(coding), LIMIT)


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_members_may_follow_one_another(coding):
    encode = ENCODERS[coding]
    assert decode(encode(b"one ") + encode(b"two"), coding, LIMIT) == b"one two"


@pytest.mark.parametrize("coding", ENCODERS)
def test_a_bomb_takes_little_memory_before_it_is_refused(coding):
    nothing = bytes(100 << 20)
    bomb = brotli.compress(nothing, quality=1) if coding == "br" else ENCODERS[coding](nothing)
    assert len(bomb) < 1 << 20
    tracemalloc.start()
    with pytest.raises(RequestError) as refused:
        decode(bomb, name(coding), 8 << 20)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert refused.value.status == 413
    assert peak < 60 << 20


def test_an_unknown_coding_has_no_decoder():
    assert decoder_for("compress") is None
    assert decoder_for("gzip, br") is None
    with pytest.raises(UndecodableError):
        decode(b"x", "compress", LIMIT)


@pytest.mark.parametrize("coding", ["", "identity", " Identity "])
def test_a_plain_body_comes_back_as_it_is(coding):
    assert decode(b"{}", coding, 1) == b"{}"
