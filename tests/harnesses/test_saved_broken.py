"""Saved sessions with broken, foreign, repeated and twisted lines: all else is read."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from saved_reading import check, read
from saved_samples import SAMPLES, gemini_lines, jsonl, opencode_messages

from cuesta.harnesses.saved.base import BEGINNING, Problems, decode, document, encode, first_values
from cuesta.harnesses.saved.registry import FORMATS, recognise
from cuesta.harnesses.saved.sums import Sums, sums

LINED = [name for name in SAMPLES if SAMPLES[name]().startswith(b'{"')]
DOCUMENTS = [name for name in SAMPLES if name not in LINED]
FOREIGN = {
    "torn": lambda line: line[: len(line) // 2],
    "not JSON": lambda _: b"\xff\xfe{]",
    "another value": lambda _: b"[1, 2]",
    "foreign": lambda _: b'{"kind": "note", "words": "x"}',
    "nested too deep": lambda _: b"[" * 10_000,
    "nothing": lambda _: b"",
    "null": lambda _: b"null",
}
VALUES = (None, True, -1, 1e300, "", "x", [], [None], [[]], {}, {"type": 5}, [{"type": None}])


def total(found):
    return sum(map(sums, found), Sums())


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("name", LINED)
def test_one_bad_line_costs_at_most_that_line(name, kind):
    """The last lines but one are spoilt one by one; what a line told may be gone, no more."""
    lines = SAMPLES[name]().splitlines()
    harness = name.split()[0]
    best = total(read(b"\n".join(lines), harness)[0])
    for place, line in enumerate(lines):
        spoilt = [*lines[:place], FOREIGN[kind](line), *lines[place + 1 :]]
        found, problems = read(b"\n".join(spoilt), harness)
        left = total(found)
        assert left.calls >= best.calls - 1
        assert left.human >= best.human - 1
        assert left.tools >= best.tools - 2
        assert kind == "nothing" or problems, place


@pytest.mark.parametrize("name", LINED)
def test_a_file_that_breaks_off_is_read_to_there(name):
    content, harness = SAMPLES[name](), name.split()[0]
    first = content.index(b"\n") + 1
    before = 0
    for end in range(first, len(content), 97):
        found, _ = read(content[:end], harness)
        now = sum(len(s.messages) - s.shared for s in found)
        assert now >= before - 1
        before = now


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_that_breaks_off_is_read_to_there(name):
    content, harness = SAMPLES[name](), name.split()[0]
    before = 0
    for end in range(200, len(content) - 10, 97):
        found, problems = read(content[:end], harness)
        now = sum(len(s.messages) for s in found)
        assert now >= before - 2
        assert problems["broken off"] == 1
        before = now
    assert before >= 5


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_with_rubbish_in_it_is_read_to_there(name):
    content, harness = SAMPLES[name](), name.split()[0]
    middle = content.index(b"\n", len(content) // 2)
    found, problems = read(content[:middle] + b"\n<<<<<\n" + content[middle:], harness)
    assert problems["broken off"] == 1
    assert found[0].calls


def twisted(value, path=(), shape=(), seen=None):
    """Yield where to put what into a value: each kind of member is made something else once."""
    seen = set() if seen is None else seen
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in pairs:
        kind = inner.get("type", inner.get("role")) if isinstance(inner, dict) else None
        inner_shape = (*shape, key if isinstance(key, str) else "*", kind)
        if inner_shape not in seen:
            seen.add(inner_shape)
            yield from (((*path, key), other) for other in VALUES)
        if isinstance(inner, dict | list):
            yield from twisted(inner, (*path, key), inner_shape, seen)


def put(value, path, other):
    """Return a copy of a value in which something else stands at a path."""
    if not path:
        return other
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = put(value[path[0]], path[1:], other)
    return copy


def read_twisted(saved, content):
    """Read content that may be no more of its format; and see that what was read is sound."""
    found = list(saved.read(content, Problems()))
    for session in found:
        check(session)
        sums(session)


@pytest.mark.parametrize("name", LINED)
def test_a_line_with_a_member_of_another_kind_breaks_nothing(name):
    lines = [json.loads(line) for line in SAMPLES[name]().splitlines()]
    saved = recognise(SAMPLES[name]()[:BEGINNING])
    for path, other in twisted(lines):
        read_twisted(saved, jsonl(put(lines, path, other)))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_with_a_member_of_another_kind_breaks_nothing(name):
    value = json.loads(SAMPLES[name]())
    saved = recognise(SAMPLES[name]()[:BEGINNING])
    for path, other in twisted(value):
        read_twisted(saved, json.dumps(put(value, path, other)).encode())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "id", "role", "content", "x"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_whatever_stands_in_a_file_no_reader_raises(data):
    name = data.draw(st.sampled_from(sorted(SAMPLES)))
    lines = SAMPLES[name]().splitlines()
    for value in data.draw(st.lists(json_values, min_size=1, max_size=3)):
        place = data.draw(st.integers(0, len(lines) - 1))
        lines[place : place + data.draw(st.integers(0, 1))] = [json.dumps(value).encode()]
    content = b"\n".join(lines)
    for saved in FORMATS:
        saved.recognises(content[:BEGINNING])
        read_twisted(saved, content)


@given(st.binary(max_size=200))
def test_any_bytes_are_foreign_or_read(content):
    saved = recognise(content)
    if saved is not None:
        read_twisted(saved, content)


def test_lone_surrogates_and_numbers_that_are_none_are_read():
    value = decode(b'{"text": "\\ud83d", "size": NaN, "many": 123456789012345678901234567890}')
    assert json.loads(encode({"text": value["text"]})) == {"text": "\ud83d"}
    assert json.loads(encode({"many": value["many"]}))["many"] == value["many"]


def test_a_long_first_line_is_known_by_what_stands_before_it_is_cut():
    long = {"type": "user", "sessionId": "s", "uuid": "1", "parentUuid": None}
    content = json.dumps({**long, "message": {"role": "user", "content": "x" * BEGINNING}}).encode()
    assert recognise(content[:BEGINNING]).harness == "claude-code"
    assert document(content, Problems())["uuid"] == "1"


@pytest.mark.parametrize(
    "content",
    [b"[" * BEGINNING, b'{"a":' * 10_000, b'"' * BEGINNING, b"\\" * BEGINNING, b"}" * BEGINNING],
)
def test_hostile_beginnings_cost_little_and_are_foreign(content):
    assert recognise(content[:BEGINNING]) is None
    assert not [v for v in first_values(content[:BEGINNING]) if isinstance(v, str)]


def test_formats_keep_to_their_own():
    contents = {name: make() for name, make in SAMPLES.items()}
    contents["gemini-cli rewound"] = jsonl([*gemini_lines(), {"$rewindTo": "u1"}])
    contents["opencode bare"] = json.dumps({
        "info": {"id": "ses_1"}, "messages": opencode_messages(),
    }).encode()  # fmt: skip
    for name, content in contents.items():
        known = [f.harness for f in FORMATS if f.recognises(content[:BEGINNING])]
        assert known[0] == name.split()[0], known
        assert set(known[1:]) <= {"plain"}
