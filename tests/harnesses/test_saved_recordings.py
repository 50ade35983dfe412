"""Sessions out of recordings: the longest request of a conversation, with its calls and bills."""

import json
from dataclasses import replace

import pytest

from cuesta.core.usage import Usage
from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.exchange.recorder import Recorder
from cuesta.harnesses.saved.base import Problems
from cuesta.harnesses.saved.recordings import Recordings
from cuesta.store.recordings import encode
from cuesta.testing.driver import Bench
from cuesta.trace.recording import Opened

MODEL = "claude-opus-4-8"
TOOLS = [{"name": "bash", "input_schema": {"type": "object"}}]


def text(role, words, *, marked=False):
    block = {"type": "text", "text": words}
    if marked:
        block["cache_control"] = {"type": "ephemeral"}
    return {"role": role, "content": [block]}


def turn(number, output="out"):
    use = {"type": "tool_use", "id": f"toolu_{number}", "name": "bash", "input": {}}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": output}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]


def body(messages, **members):
    members = {"system": "Be brief.", "tools": TOOLS, "max_tokens": 99, **members}
    return json.dumps({"model": MODEL, **members, "messages": messages}).encode()


class Tape:
    """A recording made without files."""

    def __init__(self, **options):
        self.lines = [Opened(0.0, "p", {})]
        recorder = Recorder(Engine(CompactionOptions(**options)).exchange, self.lines.append)
        self._bench = Bench(recorder)
        self.sent = 0

    def send(self, messages, **members):
        self.sent += 1
        self._bench.send(body(messages, **members), at=float(self.sent), usage=Usage(self.sent))

    @property
    def content(self):
        return b"".join(map(encode, self.lines))

    def read(self):
        problems = Problems()
        return list(Recordings().read(self.content, problems)), problems.counts


def plain(session):
    return [json.loads(message) for message in session.messages]


def test_a_recording_is_known_by_its_first_line():
    tape = Tape()
    tape.send([text("user", "hello")])
    assert Recordings().recognises(tape.content[:65_536])
    for other in (b"", b"\xff\n", b'{"type": "user"}\n', b'{"v": 1}\n', b"[1]", tape.content[:20]):
        assert not Recordings().recognises(other)


def test_a_conversation_is_its_longest_request_with_the_bill_of_each():
    tape = Tape()
    messages = [text("user", "hello")]
    for number in range(4):
        tape.send(messages)
        messages = [*messages, *turn(number)]
    tape.send(messages)
    (session,), problems = tape.read()
    assert not problems
    assert plain(session) == messages
    assert (session.harness, session.wire, session.whole) == ("cuesta", "anthropic", True)
    assert json.loads(session.members["system"]) == "Be brief."
    assert json.loads(session.members["tools"]) == TOOLS
    assert [call.at for call in session.calls] == [1, 3, 5, 7, 9]
    assert [call.usage for call in session.calls] == [Usage(n) for n in range(1, 6)]
    assert {call.model for call in session.calls} == {MODEL}
    assert not any(call.hole for call in session.calls)


def test_a_marker_that_moves_makes_no_other_conversation():
    tape = Tape()
    first = text("user", "hello", marked=True)
    tape.send([first])
    tape.send([{"role": "user", "content": "hello"}, *turn(0)])
    (session,), _ = tape.read()
    assert len(session.calls) == 2
    assert not any(call.hole for call in session.calls)


def test_a_call_that_was_sent_compacted_is_a_hole():
    tape = Tape(threshold=4_000)
    messages = [text("user", "hello")]
    for number in range(20):
        messages += turn(number, "a line of output\n" * 100)
        tape.send(messages)
    (session,), _ = tape.read()
    assert plain(session) == messages
    holes = [call.hole for call in session.calls]
    assert holes == sorted(holes)
    assert not holes[0]
    assert holes[-1]


def test_a_last_message_that_grew_is_a_hole_of_the_call_before():
    tape = Tape()
    hello = text("user", "hello")
    asked, answered = turn(0)
    said = {"type": "text", "text": "Mind this."}
    grown = {**answered, "content": [*answered["content"], said]}
    tape.send([hello])
    tape.send([hello, asked, answered])
    tape.send([hello, asked, grown, *turn(1)])
    (session,), _ = tape.read()
    assert [(call.at, call.hole) for call in session.calls] == [(1, False), (3, True), (5, False)]
    assert plain(session) == [hello, asked, grown, *turn(1)]


def test_a_rewind_is_a_session_of_its_own_with_its_own_calls_only():
    tape = Tape()
    trunk = [text("user", "hello"), *turn(0)]
    tape.send(trunk)
    tape.send([*trunk, *turn(1), *turn(2)])
    tape.send([*trunk, *turn(3)])
    tape.send([*trunk, *turn(3), *turn(4)])
    (one, other), _ = tape.read()
    assert [call.usage.input for call in one.calls] == [1, 2]
    assert [call.usage.input for call in other.calls] == [3, 4]
    assert plain(other) == [*trunk, *turn(3), *turn(4)]
    assert one.name != other.name


def test_a_request_that_is_sent_again_is_another_call_of_the_same_session():
    tape = Tape()
    messages = [text("user", "hello"), *turn(0), *turn(1)]
    for _ in range(2):
        tape.send(messages)
    tape.send(messages[:3])
    (session,), _ = tape.read()
    assert [call.at for call in session.calls] == [5, 5, 3]
    assert plain(session) == messages


def test_side_calls_are_no_sessions():
    tape = Tape()
    tape.send([text("user", "Name this session.")], tools=[], max_tokens=1)
    assert tape.read()[0] == []


def test_broken_lines_are_counted_and_cost_their_own_requests_only():
    tape = Tape()
    messages = [text("user", "hello")]
    for number in range(4):
        tape.send(messages)
        messages = [*messages, *turn(number)]
    lines = tape.content.splitlines(keepends=True)
    lines[4] = b'{"v": 1, "kind": "came"}\n'  # of the second request
    problems = Problems()
    (session,) = Recordings().read(b"".join([*lines[:-1], lines[-1][:30]]), problems)
    assert [call.usage.input for call in session.calls] == [1, 3]
    assert problems.counts == {
        "a line of a recording lacks something": 1,
        "not JSON": 1,
        "a request without its end": 1,
    }


def test_requests_that_make_no_sense_are_counted():
    tape = Tape()
    tape.send([text("user", "hello")])
    *_, ended = tape.lines
    for changes in ({"conversation": [1]}, {"seconds": "long"}, {"dialect": "of tomorrow"}):
        event = replace(ended.event, **changes)
        lines = [*tape.lines[:-1], replace(ended, event=event)]
        if "dialect" in changes:
            lines[2] = replace(lines[2], dialect="of tomorrow")
        problems = Problems()
        assert list(Recordings().read(b"".join(map(encode, lines)), problems)) == []
        assert problems.counts == {"a request that cannot be read": 1}


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xff\xfe", b'{"v": 1, "kind": "opened"}'])
def test_nothing_is_no_session(content):
    assert list(Recordings().read(content, Problems())) == []
