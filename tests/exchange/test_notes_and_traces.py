"""What a note and a trace tell, and what they never hold."""

import json
from dataclasses import asdict

import pytest
from wire import PLAIN, bench, body, grow, talk, turn

from cuesta.core.usage import Usage
from cuesta.exchange.engine import Engine
from cuesta.exchange.events import (
    Accepted,
    Answered,
    Arrived,
    Command,
    Done,
    LookUp,
    Record,
    Send,
)
from cuesta.exchange.options import CompactionOptions
from cuesta.testing.driver import Bench
from cuesta.trace.event import TraceEvent

_COUNT = "/v1/messages/count_tokens"
_LONG = body(talk(20))


_ASIDES = [
    b"\xff{",
    body([{"role": "r\u00e9sum\u00e9\n\x00" * 40, "content": "x"}]),
    body(talk(1), model="modèle\n🚀" * 50),
    body(talk(20), model="x" * 500),
    _LONG,
    body(talk(2)),
    body(talk(1), max_tokens=1),
]


@pytest.mark.parametrize("raw", _ASIDES)
def test_a_note_fits_a_header(raw):
    note = bench().send(raw).note
    assert note.isascii()
    assert note.isprintable()
    assert 0 < len(note) <= 200


def test_a_note_says_what_was_done():
    note = bench().send(_LONG).note
    assert note.startswith("replace; ")
    assert "tokens" in note
    assert "cliffs" in note
    assert bench().send(body(talk(1))).note.startswith("keep; ")


def test_a_note_says_which_cliffs_are_new_and_which_nobody_could_foresee():
    driven = bench()
    first = driven.send(_LONG)
    assert first.note.endswith(f"cliffs {first.event.cliffs}, new")
    assert driven.send(_LONG).note.endswith(f"cliffs {first.event.cliffs}")
    other = body(talk(20), model="claude-haiku-5-5")
    assert driven.send(other).note.endswith(", new and external")


def _marked(value: object) -> object:
    """Put a marker into every text of a JSON value but roles and types."""
    if isinstance(value, dict):
        plain = {"role", "type", "tool_use_id", "id"}
        return {k: v if k in plain else _marked(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_marked(item) for item in value]
    return f"MARKER {value} MARKER" if isinstance(value, str) else value


@pytest.mark.parametrize("cut", [None, -1, 9_000])
@pytest.mark.parametrize("turns", [1, 20])
def test_a_trace_and_a_note_never_hold_text_of_the_conversation(turns, cut):
    raw = body(
        _marked(talk(turns, thinks=True, words="x")),
        system="MARKER",
        tools=[{"name": "MARKER", "description": "MARKER", "input_schema": {}}],
        metadata={"user_id": "MARKER"},
    )[:cut]
    for path in ("/v1/messages", _COUNT, "/other"):
        driven = bench().send(raw, path=path)
        assert "MARKER" not in json.dumps(driven.event.to_dict())
        assert "MARKER" not in driven.note


def test_a_failure_is_traced_without_text():
    def fault(command: Command) -> None:
        if isinstance(command, LookUp):
            raise OSError("MARKER")

    over = Bench(Engine(CompactionOptions(threshold=8_000)), fault=fault)
    driven = over.send(body(_marked(talk(20))))
    assert driven.event.action == "failed"
    assert "OSError" in driven.event.reason
    assert "MARKER" not in json.dumps(driven.event.to_dict()) + driven.note


def test_a_trace_tells_what_was_planned_and_what_it_cost():
    over = bench()
    *_, before = grow(over, talk(15))
    usage = Usage(input=5, cache_read=900, output=7)
    driven = over.send(body(talk(16)), at=42.0, usage=usage)
    event = driven.event
    assert event.at == 42.0
    assert event.conversation == before.event.conversation != ""
    assert event.previous_raw_tokens == before.event.raw_tokens
    assert (event.dialect, event.path, event.model) == ("anthropic", "/v1/messages", PLAIN)
    assert (event.messages, event.status, event.usage) == (33, 200, usage)
    assert event.threshold == 8_000
    assert asdict(event)["run"] == ""


def test_conversations_have_names_of_their_own_and_branches_share_one():
    over = bench()
    one = over.send(body(talk(1))).event.conversation
    other = over.send(body([{"role": "user", "content": "another task"}])).event.conversation
    longer = over.send(body(talk(2))).event.conversation
    branch = over.send(body([*talk(1), *turn(77)])).event.conversation
    assert one == longer == branch != other


def test_token_counts_leave_no_mark_on_the_next_request():
    over = bench()
    over.send(_LONG, path=_COUNT)
    event = over.send(_LONG).event
    assert event.previous_raw_tokens == 0
    assert event.new_cliff


def _driven(arrived: Arrived, answered: Answered) -> TraceEvent:
    """Drive an exchange that asks the ledger nothing to its end."""
    exchange = Engine(CompactionOptions()).exchange(arrived)
    command = next(exchange)
    while not isinstance(command, Record):
        command = exchange.send(Accepted() if isinstance(command, Send) else answered)
    with pytest.raises(StopIteration):
        exchange.send(Done())
    return command.event


def test_a_trace_tells_how_an_answer_ended():
    arrived = Arrived(1.0, "POST", "/elsewhere", (), b"x", run="r1")
    event = _driven(arrived, Answered(3.5, 502, None, aborted=True))
    assert (event.seconds, event.status, event.aborted, event.run) == (2.5, 502, True, "r1")


@pytest.mark.parametrize(
    ("headers", "subscription"),
    [
        ((), False),
        ((("authorization", "Bearer sk-ant-oat01-x"),), True),
        ((("authorization", "Bearer sk-ant-api03-x"),), False),
        ((("x-api-key", "k"), ("authorization", "Bearer sk-ant-oat01-x")), False),
    ],
)
def test_a_login_is_told_from_a_key_and_neither_is_traced(headers, subscription):
    event = _driven(Arrived(0, "GET", "/v1/models", headers, b""), Answered(0, 200, None))
    assert event.subscription is subscription
    assert "sk-ant" not in json.dumps(event.to_dict())


def test_a_conversation_keeps_its_name_over_turns_restarts_and_branches():
    first, resumed = bench(), bench()
    names = {first.send(body(talk(count))).event.conversation for count in range(25)}
    names.add(resumed.send(body(talk(30))).event.conversation)
    names.add(first.send(body([*talk(10), *talk(12)[-2:]])).event.conversation)
    assert len(names) == 1
    other = body([{"role": "user", "content": "another task"}, *talk(3)[1:]])
    assert first.send(other).event.conversation not in names
