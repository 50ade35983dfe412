"""A recording's lines: any of them comes back as it was, and what is none is refused in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.usage import Usage
from cuesta.trace.event import TraceEvent
from cuesta.trace.recording import (
    VERSION,
    Came,
    Declined,
    Ended,
    Form,
    Opened,
    Sent,
    from_dict,
    joined,
    to_dict,
)

EVENT = TraceEvent(5.0, "c1", "anthropic", "/v1/messages", "m", "keep", "", usage=Usage(input=3))
OPENED = Opened(1.0, "p1", {"threshold": 4_000})

numbers = st.integers(1, 9)
bodies = st.one_of(
    st.binary(max_size=50),
    st.text(max_size=50).map(str.encode),
)
maybe = st.none() | bodies
texts = st.text(max_size=10)
lines = st.one_of(
    st.builds(Opened, st.floats(0, 1e10), texts, st.dictionaries(texts, st.integers())),
    st.builds(Came, numbers, st.floats(0, 1e10), texts, texts, texts, texts, maybe),
    st.builds(Sent, numbers, texts, maybe),
    st.builds(Declined, numbers, numbers, bodies),
    st.builds(Ended, numbers, st.sampled_from([None, EVENT])),
)


def came(number, body=b"{}"):
    return Came(number, float(number), "POST", "/v1/messages", "host", "", body)


@given(lines)
def test_every_line_comes_back(line):
    assert from_dict(to_dict(line)) == line


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"v": VERSION},
        {"v": VERSION, "kind": "elsewhere"},
        {"v": VERSION, "kind": "sent", "exchange": 1, "dialect": ""},
        {"v": VERSION, "kind": "sent", "exchange": [1], "dialect": "", "body": None},
        {"v": VERSION, "kind": "sent", "exchange": 1, "dialect": "", "body": 7},
        {"v": VERSION, "kind": "sent", "exchange": 1, "dialect": "", "body": "text"},
        {"v": VERSION, "kind": "ended", "exchange": 1, "event": {"at": 1}},
        {"v": VERSION, "kind": "ended", "exchange": 1, "event": [1]},
        {"v": "1", "kind": "ended", "exchange": 1, "event": None},
    ],
)
def test_what_is_no_line_is_a_value_error(record):
    with pytest.raises(ValueError, match="a recording"):
        from_dict(record)


def test_a_newer_version_says_so_and_a_new_field_is_ignored():
    record = to_dict(Ended(1, EVENT))
    assert from_dict({**record, "new": 1}) == Ended(1, EVENT)
    with pytest.raises(ValueError, match=f"of version {VERSION + 1}, this is version {VERSION}"):
        from_dict({**record, "v": VERSION + 1})


def test_lines_are_put_together():
    refusal = Declined(1, 400, b"too long")
    (record,) = joined(
        [OPENED, came(1, b"came"), Sent(1, "d", None), refusal, Sent(1, "d", b"form"),
         Ended(1, EVENT)]
    )  # fmt: skip
    assert record.opened == OPENED
    assert record.forms == (Form(None, refusal), Form(b"form"))
    assert (record.body, record.sent, record.dialect, record.event) == (
        b"came", b"form", "d", EVENT,
    )  # fmt: skip
    assert (record.began, record.ended) == (1, 5)


@pytest.mark.parametrize(
    ("forms", "sent"),
    [([], b""), ([None], b"came"), ([b"form"], b"form"), ([b"form", None], b"came")],
)
def test_what_was_sent_last(forms, sent):
    lines = [OPENED, came(1, b"came"), *(Sent(1, "d", form) for form in forms), Ended(1, None)]
    assert next(joined(lines)).sent == sent


def test_requests_come_in_the_order_in_which_they_came_whenever_they_ended():
    lines = [OPENED, came(1), came(2), came(3), Ended(3, EVENT), Ended(2, EVENT), Ended(1, None)]
    records = list(joined(lines))
    assert [record.came.exchange for record in records] == [1, 2, 3]
    assert [record.ended for record in records] == [6, 5, 4]


@given(st.sets(st.integers(0, 11)))
def test_lost_lines_lose_their_own_requests_only(lost):
    lines = [OPENED]
    for number in range(1, 5):
        lines += [came(number), Sent(number, "d", b"form"), Ended(number, EVENT)]
    left = [line for place, line in enumerate(lines) if place - 1 not in lost]
    records = {record.came.exchange: record for record in joined(left)}
    for number in range(1, 5):
        mine = {3 * number - 3, 3 * number - 2, 3 * number - 1}
        if not mine & lost:
            record = records[number]
            assert (record.sent, record.event) == (b"form", EVENT)
        assert (number in records) is (3 * number - 3 not in lost)


def test_a_request_without_an_end_does_not_hold_up_all_others():
    def endless():
        yield OPENED
        yield came(1)
        for number in range(2, 100_000):
            yield came(number)
            yield Ended(number, EVENT)

    records = joined(endless())
    first = next(records)
    assert (first.came.exchange, first.event, first.ended) == (1, None, 0)
    assert next(records).came.exchange == 2
