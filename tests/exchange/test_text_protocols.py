"""Agents without tool calls through the exchange: decided once, folded as calls are."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_talk import (
    HARNESSES,
    MINI,
    PATHS,
    TERMINUS,
    answer,
    bench,
    body,
    complaint,
    grow,
    head,
    output,
    requests,
    said,
    talk,
    talks,
)

from cuesta.core.errors import ConfigError
from cuesta.core.ledger import Entry
from cuesta.exchange.compactor import Compactor
from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.protocols.text_actions import PROTOCOLS
from cuesta.testing.driver import Bench
from cuesta.testing.losses import loss
from cuesta.testing.simulator import Conditions
from cuesta.testing.simulator.registry import judge_of

WIRES = sorted(PATHS)
OPENING = "<record-of-earlier-work>"
TURNS = 120


def sent_messages(driven):
    value = json.loads(driven.body)
    return value.get("messages") or value["input"]


def digest_of(driven):
    """The record that stands in a request, or nothing."""
    texts = json.dumps(sent_messages(driven))
    at = texts.find(OPENING)
    return (
        json.loads('"' + texts[at : texts.index("</record-of-earlier-work>")] + '"')
        if at >= 0
        else ""
    )


def protocols_of(over):
    return {Entry.from_json(record).protocol for record in over.ledger.values()}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("harness", HARNESSES)
class TestLong:
    def test_contexts_stay_bounded(self, harness, wire):
        over = bench(10_000)
        seen = grow(over, talk(harness, TURNS), wire)
        assert len(seen) == TURNS + 1
        events = [driven.event for driven in seen]
        assert [driven.note for driven in seen[:4]] == ["keep; text-protocol"] * 4
        assert max(event.sent_tokens for event in events[5:]) < 15_000
        assert events[-1].raw_tokens > 60_000
        assert events[-1].cliffs >= 3
        assert not any(event.external for event in events)
        assert {event.action for event in events} == {"keep", "replace"}
        assert protocols_of(over) == {harness}

    def test_a_restart_without_the_ledger_sends_the_same_bytes(self, harness, wire):
        parts = requests(talk(harness, 60))
        over = bench(10_000)
        bodies = [over.send(body(part, wire), path=PATHS[wire]).body for part in parts]
        for number in (3, 4, 5, 24, 37, 59):
            anew = bench(10_000)
            assert anew.send(body(parts[number], wire), path=PATHS[wire]).body == bodies[number]

    def test_the_digest_quotes_the_actions_and_looks_like_none(self, harness, wire):
        last = grow(bench(10_000), talk(harness, 40), wire)[-1]
        digest = digest_of(last)
        assert "step-0" not in digest  # only the newest stretch is quoted
        assert "make step-" in digest
        assert "I look at part" in digest
        assert "out-2 out-2" not in digest
        for name in (MINI, TERMINUS):
            assert PROTOCOLS[name].act(digest) is None
        assert '{"keystrokes' not in digest
        assert "```bash" not in digest


@pytest.mark.parametrize("harness", HARNESSES)
@pytest.mark.parametrize("template", ["qwen", "mistral"])
def test_strict_chat_templates_take_what_is_sent(harness, template):
    judge = judge_of("openai_chat", Conditions(template=template))
    over = bench(10_000)
    for driven in grow(over, talk(harness, 40)):
        assert judge.verdict(driven.body, ()).refusal is None
        roles = [message["role"] for message in sent_messages(driven)]
        assert ("user", "user") not in pairwise(roles)
    assert driven.event.cliffs >= 2


class TestDeciding:
    @pytest.mark.parametrize("harness", HARNESSES)
    def test_nothing_is_compacted_until_it_is_decided(self, harness):
        over = bench(1_000)
        seen = grow(over, talk(harness, 6, size=9_000))
        assert [driven.note for driven in seen[:4]] == ["keep; text-protocol"] * 4
        assert seen[4].event.action == "replace"
        assert not any(driven.event.external for driven in seen)

    @pytest.mark.parametrize("harness", HARNESSES)
    def test_said_outright_it_counts_from_the_first_request(self, harness):
        over = bench(1_000, harness=harness)
        seen = grow(over, talk(harness, 6, size=9_000))
        assert not any("text-protocol" in driven.note for driven in seen)
        assert protocols_of(over) == {harness}

    @pytest.mark.parametrize("harness", HARNESSES)
    def test_none_is_never(self, harness):
        over = bench(10_000, harness="none")
        seen = grow(over, talk(harness, 40))
        assert not any("text-protocol" in driven.note for driven in seen)
        assert protocols_of(over) <= {""}

    def test_tools_mean_calls_whatever_is_said(self):
        over = bench(4_000, harness=MINI)
        tools = [{"type": "function", "function": {"name": "bash"}}]
        for part in requests(talk(MINI, 20)):
            over.send(body(part, tools=tools), path=PATHS["openai_chat"])
        assert protocols_of(over) <= {""}

    def test_a_chat_is_left_alone(self):
        over = bench(4_000)
        chat = [said("user", "Hello.")]
        for number in range(20):
            chat += [said("assistant", f"Yes {number}. " * 50), said("user", f"More {number}?")]
        seen = grow(over, chat)
        assert not any("text-protocol" in driven.note for driven in seen)
        assert protocols_of(over) <= {""}

    def test_an_unknown_harness_is_refused(self):
        with pytest.raises(ConfigError, match="unknown harness `aider`: choose one of mini"):
            CompactionOptions(harness="aider")


class TestLedger:
    def test_what_was_decided_stands_whatever_is_said_later(self):
        parts = requests(talk(MINI, 60))
        over = bench(10_000)
        for part in parts[:30]:
            before = over.send(body(part), path=PATHS["openai_chat"])
        other = Bench(Engine(CompactionOptions(threshold=10_000, harness="none")), over.ledger)
        again = other.send(body(parts[29]), path=PATHS["openai_chat"])
        assert again.body == before.body
        later = [other.send(body(part), path=PATHS["openai_chat"]) for part in parts[30:]]
        assert protocols_of(other) == {MINI}
        news = [driven.event for driven in later if driven.event.new_cliff]
        assert news
        assert all(event.external for event in news)  # nobody could derive them

    @pytest.mark.parametrize("version", [1, 2])
    def test_a_conversation_of_an_older_version_keeps_its_bytes(self, version):
        """It was read as a chat, in which every message was a person's."""
        parts = requests(talk(MINI, 40))
        old = bench(10_000, harness="none")
        for part in parts:
            before = old.send(body(part), path=PATHS["openai_chat"])
        assert before.event.cliffs > 0
        ledger = {}
        for key, record in old.ledger.items():
            value = json.loads(record)
            del value["protocol"]
            ledger[key] = json.dumps({**value, "v": version}).encode()
        new = Bench(Engine(CompactionOptions(threshold=10_000)), ledger)
        assert new.send(body(parts[-1]), path=PATHS["openai_chat"]).body == before.body

    def test_a_protocol_that_nobody_knows_any_more_takes_a_new_cliff(self):
        over = bench(10_000)
        *_, last = requests(talk(MINI, 40))
        over.send(body(last), path=PATHS["openai_chat"])
        for key, record in over.ledger.items():
            value = json.loads(record)
            over.ledger[key] = json.dumps({**value, "protocol": "forgotten"}).encode()
        driven = over.send(body(last), path=PATHS["openai_chat"])
        assert driven.event.action in {"replace", "keep"}


class TestPeople:
    @pytest.mark.parametrize("harness", HARNESSES)
    def test_what_a_person_says_between_stays(self, harness):
        messages = talk(harness, 8)
        wish = said("user", "Never touch the file secret.cfg, whatever happens.")
        messages += [answer(harness, 8), wish, *talk(harness, 40)[len(head(harness)) :]]
        last = grow(bench(10_000), messages)[-1]
        assert last.event.cliffs >= 3
        assert f"User: {wish['content']}" in digest_of(last)

    @pytest.mark.parametrize("harness", HARNESSES)
    def test_an_output_that_a_person_pastes_is_theirs(self, harness):
        """It fits the template, and answers no action."""
        pasted = said("user", output(harness, 77, 200)["content"])
        messages = [*talk(harness, 8), said("assistant", "I am done, I think."), pasted]
        messages += talk(harness, 40)[len(head(harness)) :]
        assert "out-77" in digest_of(grow(bench(10_000), messages)[-1])

    @pytest.mark.parametrize("harness", HARNESSES)
    def test_many_who_answer_actions_leave_room_for_cliffs(self, harness):
        messages = talk(harness, 4)
        for number in range(60):
            messages += [answer(harness, number, "echo " + "x" * 3_000), said("user", "No.")]
        last = grow(bench(10_000), messages)[-1]
        assert last.event.cliffs >= 2
        assert last.event.sent_tokens < 15_000

    @pytest.mark.parametrize("harness", HARNESSES)
    def test_slips_and_complaints_are_no_persons(self, harness):
        messages = talk(harness, 8)
        messages += [said("assistant", "Hm."), complaint(harness)]
        messages += talk(harness, 40)[len(head(harness)) :]
        last = grow(bench(10_000), messages)[-1]
        assert complaint(harness)["content"] not in digest_of(last)


@given(talks(), st.sampled_from([1_500, 3_000]), st.sampled_from([128, 1 << 30]))
def test_invariants_hold(made, threshold, block):
    """Append-only between cliffs, the last message is the client's, and a re-attach is equal."""
    harness, messages = made
    over = bench(threshold, block)
    before = None
    for part in requests(messages):
        driven = over.send(body(part), path=PATHS["openai_chat"])
        assert driven.event.action in {"keep", "replace"}
        sent = sent_messages(driven)
        assert sent[-1] == part[-1] or len(part) == len(head(harness))
        if before is not None and not driven.event.new_cliff:
            assert sent[: len(before)] == before
        before = sent
        anew = bench(threshold)
        assert anew.send(body(part), path=PATHS["openai_chat"]).body == driven.body


@pytest.mark.parametrize("wire", WIRES)
@given(talks(), st.sampled_from([1_500, 3_000]))
def test_what_was_valid_stays_valid_and_nothing_is_lost(wire, made, threshold):
    judge = judge_of(wire)
    over = bench(threshold)
    for part in requests(made[1]):
        raw = body(part, wire)
        driven = over.send(raw, path=PATHS[wire])
        if judge.verdict(raw, ()).refusal is None:
            refusal = judge.verdict(driven.body, ()).refusal
            assert refusal is None, refusal
            assert loss(raw, driven.body) == ""


class TestLibrary:
    @pytest.mark.parametrize("harness", HARNESSES)
    @pytest.mark.parametrize("said_outright", [True, False])
    def test_the_library_sends_what_the_proxy_sends(self, harness, said_outright):
        options = CompactionOptions(threshold=10_000)
        given_name = harness if said_outright else ""
        compactor = Compactor("qwen3-coder", options, dialect="openai_chat", harness=given_name)
        over = bench(10_000, harness=given_name)
        for part in requests(talk(harness, 40)):
            driven = over.send(body(part), path=PATHS["openai_chat"])
            assert compactor.compact(part) == sent_messages(driven)
        assert driven.event.cliffs >= 2
