import json
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.usage import Usage
from cuesta.trace.event import VERSION, TraceEvent

_COUNTS = st.integers(0, 10**7)
_EVENTS = st.builds(
    TraceEvent,
    at=st.floats(0, 2e9),
    conversation=st.text(max_size=8),
    dialect=st.sampled_from(["anthropic", ""]),
    path=st.text(max_size=20),
    model=st.text(max_size=20),
    action=st.sampled_from(["keep", "replace", "pass", "failed"]),
    reason=st.text(max_size=30),
    messages=_COUNTS,
    new_cliff=st.booleans(),
    raw_tokens=_COUNTS,
    sent_tokens=_COUNTS,
    usage=st.none() | st.builds(Usage, _COUNTS, _COUNTS, _COUNTS, _COUNTS, _COUNTS),
    aborted=st.booleans(),
)
_ONE = TraceEvent(1.5, "c0ffee", "anthropic", "/v1/messages", "m", "keep", "why", usage=Usage(1, 2))


@given(_EVENTS)
def test_an_event_survives_as_json(event: TraceEvent):
    assert TraceEvent.from_dict(json.loads(json.dumps(event.to_dict()))) == event


def test_a_record_names_its_version_and_every_field():
    record = _ONE.to_dict()
    assert record["v"] == VERSION
    assert record.keys() == {"v", *(f.name for f in fields(TraceEvent))}


def test_fields_added_since_are_ignored():
    assert TraceEvent.from_dict({**_ONE.to_dict(), "colour": "red"}) == _ONE


def test_a_record_from_before_a_field_was_added_gets_its_default():
    record = _ONE.to_dict()
    del record["aborted"], record["run"]
    assert TraceEvent.from_dict(record) == _ONE


def test_a_newer_version_is_refused():
    with pytest.raises(ValueError, match=f"version {VERSION + 1}"):
        TraceEvent.from_dict({**_ONE.to_dict(), "v": VERSION + 1})
