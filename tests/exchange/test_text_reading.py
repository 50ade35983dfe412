"""Plain text that stands for calls: both ways of reading agree, and links know nothing of it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_talk import (
    HARNESSES,
    MINI,
    PATHS,
    SWE,
    TERMINUS,
    answer,
    bench,
    body,
    complaint,
    output,
    requests,
    said,
    talk,
    talks,
)
from test_reading import BLOCKS, NEVER, assert_same, read

from cuesta.core.transcript import BlockKind
from cuesta.dialects.registry import DIALECTS
from cuesta.exchange.reading import Reader

FORCED = st.sampled_from(["", *HARNESSES, "none"])


def readers(wire, block, harness=""):
    dialect = DIALECTS[wire]
    return (
        Reader(dialect, wire, 1, block, harness=harness),
        Reader(dialect, wire, 2, NEVER, harness=harness),
    )


def assert_reads_the_same(fast, plain, raw, wire):
    one, other = read(fast, raw), read(plain, raw)
    assert_same(one, other, DIALECTS[wire].where)
    assert one[2].speech.protocol == other[2].speech.protocol
    assert one[2].speech.open == other[2].speech.open
    assert [one[2].message(i) for i in range(len(one[2].links))] == [
        other[2].message(i) for i in reversed(range(len(other[2].links)))
    ][::-1]


@pytest.mark.parametrize("wire", PATHS)
@given(talks(), BLOCKS, FORCED)
def test_both_ways_read_the_same(wire, made, block, harness):
    _, messages = made
    fast, plain = readers(wire, block, harness)
    for part in requests(messages):
        assert_reads_the_same(fast, plain, body(part, wire), wire)


@given(talks(), st.data(), BLOCKS)
def test_a_fork_or_a_changed_head_is_read_the_same(made, data, block):
    """Whatever was decided of one beginning is not taken over to another."""
    harness, messages = made
    fast, plain = readers("anthropic", block)
    assert_reads_the_same(fast, plain, body(messages, "anthropic"), "anthropic")
    at = data.draw(st.integers(1, len(messages)))
    chat = [said("assistant", "Well."), said("user", "Why?")]
    step = [answer(harness, 99), output(harness, 99, 300)]
    turn = data.draw(st.sampled_from([step, chat]))
    forked = [*messages[:at], *turn * data.draw(st.integers(1, 6))]
    assert_reads_the_same(fast, plain, body(forked, "anthropic"), "anthropic")
    other = {"system": data.draw(st.sampled_from(["Be kind.", ""]))}
    value = {**json.loads(body(forked, "anthropic")), **other}
    assert_reads_the_same(fast, plain, json.dumps(value).encode(), "anthropic")


@pytest.mark.parametrize("harness", HARNESSES)
def test_tools_that_come_later_end_it_and_a_beginning_is_not_taken_over(harness):
    fast, plain = readers("openai_chat", 64)
    messages = talk(harness, 12, size=300)
    tools = [{"type": "function", "function": {"name": "bash"}}]
    for offered in (None, tools, [], tools):
        raw = body(messages, "openai_chat")
        if offered is not None:
            raw = raw[:-1] + b', "tools": ' + json.dumps(offered).encode() + b"}"
        assert_reads_the_same(fast, plain, raw, "openai_chat")
        assert read(fast, raw)[2].speech.protocol == ("" if offered else harness)


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_decision_is_not_taken_over_with_less_than_it_rests_on(harness):
    """A branch in which a person answers the third action is a chat."""
    fast, plain = readers("openai_chat", 64)
    messages = talk(harness, 12, size=300)
    assert read(fast, body(messages))[2].speech.protocol == harness
    third = next(i for i, m in enumerate(messages) if m == answer(harness, 2))
    branch = [*messages[: third + 1], said("user", "No."), *messages[third + 2 :]]
    cut, _, reading = read(fast, body(branch))
    assert (cut.count, reading.speech.protocol) == (0, "")
    assert_reads_the_same(fast, plain, body(branch), "openai_chat")


@pytest.mark.parametrize("harness", [MINI, SWE])
def test_a_decision_is_not_taken_over_with_another_system_prompt(harness):
    """It may stand behind the messages, so that the bytes begin alike."""
    fast, plain = readers("anthropic", 64)
    value = json.loads(body(talk(harness, 12, size=300), "anthropic"))
    system = value.pop("system")
    for text, spoken in ((system, harness), ("Be kind.", ""), (system, harness)):
        raw = json.dumps({**value, "system": text}).encode()
        assert_reads_the_same(fast, plain, raw, "anthropic")
        assert read(fast, raw)[2].speech.protocol == spoken


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_known_beginning_is_taken_over(harness):
    fast, _ = readers("openai_chat", 256)
    read(fast, body(talk(harness, 20, size=300)))
    cut, _, reading = read(fast, body(talk(harness, 21, size=300)))
    assert cut.count > 30
    assert reading.speech.protocol == harness


@given(talks(), FORCED, FORCED)
def test_links_do_not_depend_on_the_protocol(made, one, other):
    raw = body(made[1])
    links = [
        list(read(Reader(DIALECTS["openai_chat"], "chat", 1, harness=harness), raw)[2].links)
        for harness in (one, other)
    ]
    assert links[0] == links[1]


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_message_is_read_by_what_stands_before_it(harness):
    """The same bytes mean another thing elsewhere: nothing is remembered by the bytes alone."""
    told, slip = output(harness, 0, 200), complaint(harness)
    messages = talk(harness, 4, size=200)
    odd = [*messages, said("assistant", "Done."), told, said("user", "So?"), slip, told]
    reader, _ = readers("openai_chat", NEVER)
    _, _, reading = read(reader, body([*odd, answer(harness, 9), told]))
    results = [
        any(block.kind is BlockKind.RESULT for block in reading.message(i).blocks)
        for i in range(len(odd) - 4, len(odd) + 2)
    ]
    assert results == [False, False, False, False, False, True]
    assert [reading.outlines[len(odd) + i].human for i in (-4, -3, -2, -1, 1)] == [True] * 4 + [
        False
    ]


def test_a_request_without_tools_is_no_summary_of_the_history():
    over = bench(8_000, block=1 << 30)
    last = over.send(body(talk(MINI, 30)), path=PATHS["openai_chat"])
    assert last.event.action == "replace"


def test_terminus_asks_for_a_hand_over_with_all_of_its_history():
    over = bench(8_000)
    ask = said(
        "user", "You are about to hand off your work to another AI agent. Write it all down."
    )
    messages = [*talk(TERMINUS, 30)[:-1], ask]
    assert over.send(body(talk(TERMINUS, 30)), path=PATHS["openai_chat"]).event.action == "replace"
    driven = over.send(body(messages), path=PATHS["openai_chat"])
    assert driven.note.startswith("keep; a summary of the history")
    assert driven.body == body(messages)
