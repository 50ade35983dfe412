import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.errors import RequestError
from cuesta.dialects.raw import join_array, join_object, load, split_array, split_object

_BLANKS = st.text(" \t\n\r", max_size=3)
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["\ud83d", "a\udc00", "🚀", "e\u0301"])
)


@st.composite
def _texts(draw: st.DrawFn, values: st.SearchStrategy[object]) -> str:
    """Write a value as JSON in one of the ways a client may."""
    value = draw(values)
    compact = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t:\r\n")]))
    return json.dumps(value, ensure_ascii=draw(st.booleans()), separators=compact)


def _encoded(text: str) -> bytes:
    """Encode a JSON text; lone surrogates can only travel as escapes."""
    return "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in text).encode()


_VALUES = _texts(
    st.recursive(
        _SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
        max_leaves=6,
    )
)
_MEMBERS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "ключ", "\ud83d", ""]), _VALUES), max_size=6
)


@given(_MEMBERS, st.data())
def test_an_object_is_cut_into_its_members_raw_values(members, data):
    def blank() -> str:
        return data.draw(_BLANKS)

    inner = ",".join(
        f"{blank()}{json.dumps(key)}{blank()}:{blank()}{value}{blank()}" for key, value in members
    )
    raw = _encoded(f"{blank()}{{{inner or blank()}}}{blank()}")
    slices = split_object(raw)
    assert slices == {key: _encoded(value) for key, value in members}
    assert list(slices) == list(dict(members))
    assert split_object(join_object(slices)) == slices
    assert json.loads(join_object(slices)) == json.loads(raw)


@given(st.lists(_VALUES, max_size=6), st.data())
def test_an_array_is_cut_into_its_raw_elements(values, data):
    def blank() -> str:
        return data.draw(_BLANKS)

    inner = ",".join(f"{blank()}{value}{blank()}" for value in values)
    raw = _encoded(f"{blank()}[{inner or blank()}]{blank()}")
    slices = split_array(raw)
    assert slices == [_encoded(value) for value in values]
    assert split_array(join_array(slices)) == slices


@given(_VALUES)
def test_a_value_is_read_as_the_standard_library_reads_it(text: str):
    raw = _encoded(text)
    assert repr(load(raw)) == repr(json.loads(raw))


@pytest.mark.parametrize("number", ["-0", "-0.0", "1e400", "1E5", "0.1e-400", "9" * 400, "1.0"])
def test_odd_numbers_are_read_as_the_standard_library_reads_them(number: str):
    assert repr(load(number.encode())) == repr(json.loads(number))


_NO_JSON = [
    b"",
    b" ",
    b"x",
    b"{",
    b"[",
    b"}",
    b'{"a"}',
    b'{"a":}',
    b'{"a":1,}',
    b'{"a":1 "b":2}',
    b'{"a":tru}',
    b'{"a":01}',
    b'{"a":"\\q"}',
    b'{"a":"\x01"}',
    b'{"a":"x',
    b"[1,]",
    b"[1 2]",
    b"[,]",
    b"\xef\xbb\xbf{}",
    b'{"\xff":1}',
    b"\xff\xfe{\x00}\x00",
]


@pytest.mark.parametrize("raw", [*_NO_JSON, b"[]", b'"text"', b"null", b"3"])
def test_what_is_no_object_is_refused(raw: bytes):
    with pytest.raises(RequestError):
        split_object(raw)


@pytest.mark.parametrize("raw", [*_NO_JSON, b"{}", b'"text"', b"null", b"3"])
def test_what_is_no_array_is_refused(raw: bytes):
    with pytest.raises(RequestError):
        split_array(raw)


@pytest.mark.parametrize("raw", [*_NO_JSON, b'"\xff"', b'{"a":"\xc3"}', b"tru", b'"\\ud8"'])
def test_what_is_no_value_is_refused(raw: bytes):
    with pytest.raises(RequestError):
        load(raw)


@given(st.binary(max_size=60) | st.text('{}[]",:\\u0d8c1tf ', max_size=40).map(str.encode))
def test_any_bytes_are_cut_or_refused(raw: bytes):
    for cut in (split_object, split_array, load):
        with suppress(RequestError):
            cut(raw)


@pytest.mark.parametrize("raw", [b'{"a":1} x', b'{"a":1}}', b'{"a":1}{"a":2}', b"{}\x00"])
def test_bytes_behind_an_object_are_refused(raw: bytes):
    with pytest.raises(RequestError):
        split_object(raw)


@pytest.mark.parametrize("raw", [b"[1] x", b"[1]]", b"[1][2]"])
def test_bytes_behind_an_array_are_refused(raw: bytes):
    with pytest.raises(RequestError):
        split_array(raw)


@pytest.mark.parametrize("raw", [b"{1:2}", b"{null:1}", b"{[]:1}"])
def test_a_key_that_is_no_string_is_refused(raw: bytes):
    with pytest.raises(RequestError):
        split_object(raw)


_DEPTH = 100_000
_DEEP = b"[" * _DEPTH + b"]" * _DEPTH


@pytest.mark.parametrize(
    ("read", "raw"),
    [
        (load, _DEEP),
        (split_object, b'{"\\ud83d":' + _DEEP + b"}"),
        (split_array, b'["\\ud83d",' + _DEEP + b"]"),
    ],
)
def test_deep_nesting_is_refused(read, raw):
    with pytest.raises(RequestError):
        read(raw)


@pytest.mark.parametrize(
    ("read", "raw"),
    [
        (split_object, b'{"a":' + _DEEP + b"}"),
        (split_array, b"[" + _DEEP + b"]"),
    ],
)
def test_deep_nesting_is_refused_on_the_fast_path(read, raw):
    with pytest.raises(RequestError):
        read(raw)


_HUGE = b"1" * 5_000


@pytest.mark.parametrize(
    ("read", "raw"),
    [
        (load, _HUGE),
        (split_array, b'["\\ud83d",' + _HUGE + b"]"),
        (split_object, b'{"\\ud83d":1,"a":' + _HUGE + b"}"),
    ],
)
def test_a_huge_integer_is_refused_or_kept_raw(read, raw):
    with suppress(RequestError):
        read(raw)
