"""What every reader of the scaffolds' sessions must do, whatever the format."""

import json
from collections import Counter

import pytest
from independent_scaffold_sums import sums_of
from saved_samples import SAMPLES
from scaffold_files import FILES
from scaffold_reading import BEGINNING, DATA, messages_of, read, sums

from cuesta.core.usage import Usage
from cuesta.harnesses.saved.base import Problems
from cuesta.harnesses.saved.registry import FORMATS, recognise

SCAFFOLDS = [form for form in FORMATS if form.harness in FILES]
BUILDERS = [builder for builders in FILES.values() for builder in builders]
JUNK = (None, True, 7, "junk", [], {}, [None], [[]], {"role": 7}, {"content": [7]})
HELD = ("messages", "history", "steps")
by_name = pytest.mark.parametrize("builder", BUILDERS, ids=lambda builder: builder.__name__)


def items_of(value):
    """Yield the lists of messages, events or steps of a document."""
    if isinstance(value, list):
        yield value
        return
    for key in HELD:
        if isinstance(value.get(key), list):
            yield value[key]
    for inner in (*value.get("attempts", ()), *value.get("subagent_trajectories", ())):
        yield from items_of(inner)


def paths(value, path=()):
    """Yield the places of all values of a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, below in inner:
        yield (*path, key)
        if isinstance(below, dict | list):
            yield from paths(below, (*path, key))


def with_junk(content, path, junk):
    value = json.loads(content)
    place = value
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = junk
    return json.dumps(value).encode()


def read_by(builder, content):
    """Read a file that is known to be a builder's, whatever was done to it."""
    (form,) = [form for form in SCAFFOLDS if builder in FILES[form.harness]]
    problems = Problems()
    return list(form.read(content, problems)), problems.counts


def one_document(content):
    """Return the file's one document: the first row, where it holds rows."""
    return content.splitlines()[0] if b"\n{" in content else content


@by_name
def test_only_its_own_reader_knows_a_file(builder):
    beginning = builder()[:BEGINNING]
    known = {form.harness for form in FORMATS if form.recognises(beginning)} - {"plain"}
    assert len(known) == 1
    assert builder in FILES[recognise(beginning).harness]


@pytest.mark.parametrize("name", SAMPLES)
def test_files_of_other_programs_are_left_to_their_readers(name):
    beginning = SAMPLES[name]()[:BEGINNING]
    assert [form.harness for form in SCAFFOLDS if form.recognises(beginning)] == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"messages": [{"role": "user", "content": "\\"mini_version\\": \\"1\\""}]}',
        b'[{"role": "user", "content": "hi"}]',
        b'{"type": "user", "message": {"content": "ATIF-v1.7"}}\n{"type": "assistant"}\n',
    ],
)
def test_no_scaffold_knows_other_files(content):
    for form in SCAFFOLDS:
        assert not form.recognises(content)
        list(form.read(content, Problems()))


@by_name
def test_of_a_file_that_is_cut_off_the_beginning_is_read(builder):
    content = one_document(builder())
    (full, *_), _ = read_by(builder, content)
    for end in range(1, len(content) - 1, 97):
        sessions, problems = read_by(builder, content[:end])
        assert problems
        for session in sessions[:1]:
            messages_of(session)
            assert session.messages[:-3] == full.messages[: max(len(session.messages) - 3, 0)]
    assert len(session.messages) >= len(full.messages) - 3


@by_name
def test_every_value_can_be_broken(builder):
    content = one_document(builder())
    for number, path in enumerate(paths(json.loads(content))):
        junk = JUNK[number % len(JUNK)]
        sessions, _ = read_by(builder, with_junk(content, path, junk))
        for session in sessions:
            messages_of(session)
            sums([session])
            assert all(0 <= call.at < len(session.messages) for call in session.calls)
            assert all(0 <= number < len(session.calls) for number in session.compactions)


@by_name
@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_one_broken_item_costs_no_other(builder, junk):
    content = one_document(builder())
    whole, before = read_by(builder, content)
    kept = Counter(raw for session in whole for raw in session.messages)
    value = json.loads(content)
    for items in items_of(value):
        for i, item in enumerate(items):
            items[i] = junk
            sessions, problems = read_by(builder, json.dumps(value).encode())
            left = Counter(raw for session in sessions for raw in session.messages)
            assert problems - before
            assert sum((kept - left).values()) <= 3, "more than the item and its results"
            items[i] = item


@by_name
def test_the_call_behind_a_lost_message_is_marked(builder):
    value = json.loads(one_document(builder()))
    items = next(items_of(value))
    items[1] = "junk"
    (session, *_), _ = read_by(builder, json.dumps(value).encode())
    assert session.calls[0].hole


@by_name
def test_bills_are_not_touched_by_the_reader(builder):
    sessions, _ = read(builder())
    for session in sessions:
        for call in session.calls:
            assert call.usage is None or min(vars_of(call.usage)) >= 0
            assert call.usage is None or call.thoughts <= call.usage.output or not call.usage.output


def vars_of(usage):
    return [getattr(usage, name) for name in Usage.__slots__]


def saved_files():
    folders = ("mini-swe-agent", "openhands", "swe-agent", "pydantic-ai")
    return [path for folder in folders for path in sorted((DATA / folder).glob("*"))]


@pytest.mark.parametrize("path", saved_files() or [None], ids=lambda path: path and path.name)
def test_sums_of_real_files_are_the_independent_ones(path):
    if path is None or path.name.endswith(".zst"):
        pytest.skip(f"{DATA} is not here, or the archive has a test of its own")
    sessions, problems = read(path.read_bytes())
    assert problems == {}
    assert sums(sessions) == sums_of(path)
