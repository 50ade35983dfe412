import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.ledger import ENTRY_VERSION, Cliff, Entry
from cuesta.core.policy import PROFILES, Policy

_COUNTS = st.integers(0, 10**7)
_CLIFFS = st.builds(
    Cliff,
    cut=_COUNTS,
    border=_COUNTS,
    messages=_COUNTS,
    threshold=_COUNTS,
    fixed=_COUNTS,
    family=st.text(max_size=20),
    strip=st.booleans(),
    external=st.booleans(),
    digest=st.sampled_from(["", "ab" * 32]),
    digest_tokens=_COUNTS,
    cleared=_COUNTS,
    summary=st.booleans(),
)
_ENTRIES = st.builds(
    Entry,
    policy=st.sampled_from(list(PROFILES.values())),
    strategy=st.sampled_from(["cliff", "keep_all"]),
    renderer=st.integers(0, 9),
    cliffs=st.lists(_CLIFFS, max_size=4).map(tuple),
    rung=st.integers(0, 2),
    foreign=st.booleans(),
    protocol=st.sampled_from(["", "terminus-2"]),
)
_ONE = Entry(
    PROFILES["default"], "cliff", 1, (Cliff(4, 7, 15, 32_000, 3_072, "m", False, False, "ab", 90),)
)


@given(_ENTRIES)
def test_an_entry_survives_as_json(entry: Entry):
    assert Entry.from_json(entry.to_json()) == entry


def test_a_record_names_its_version():
    assert json.loads(_ONE.to_json())["v"] == ENTRY_VERSION


def test_an_entry_of_version_1_is_read_and_clears_nothing():
    record = json.loads(_ONE.to_json())
    del record["protocol"]
    for cliff in record["cliffs"]:
        del cliff["cleared"], cliff["summary"]
    assert Entry.from_json(json.dumps({**record, "v": 1}).encode()) == _ONE


def test_an_entry_of_version_2_is_read_and_speaks_no_text_protocol():
    record = json.loads(_ONE.to_json())
    del record["protocol"]
    assert Entry.from_json(json.dumps({**record, "v": 2}).encode()) == _ONE


def _changed(**changes: object) -> bytes:
    record = json.loads(_ONE.to_json())
    return json.dumps({**record, **changes}).encode()


def _without(key: str) -> bytes:
    record = json.loads(_ONE.to_json())
    del record[key]
    return json.dumps(record).encode()


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b"\xff\xfe",
        _ONE.to_json()[:-9],
        _changed(v=ENTRY_VERSION + 1),
        _changed(v=None),
        _changed(cliffs=None),
        _changed(cliffs=[{"cut": 3}]),
        _changed(cliffs=[{**json.loads(_ONE.to_json())["cliffs"][0], "colour": "red"}]),
        *(_without(key) for key in json.loads(_ONE.to_json())),
    ],
)
def test_a_broken_record_is_a_value_error(record: bytes):
    with pytest.raises(ValueError, match=r"."):
        Entry.from_json(record)


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param({**Policy("x").to_dict(), "keep_turns": 0}, id="out of range"),
        pytest.param({**Policy("x").to_dict(), "keep_turnips": 3}, id="unknown"),
    ],
)
def test_a_record_with_an_impossible_policy_is_a_value_error(policy: dict[str, object]):
    with pytest.raises(ValueError, match=r"."):
        Entry.from_json(_changed(policy=policy))
