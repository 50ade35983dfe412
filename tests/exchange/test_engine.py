import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire import CHECKING, PLAIN, bench, body, grow, talk, turn

from cuesta.core.errors import ConfigError
from cuesta.core.ledger import Entry
from cuesta.exchange.engine import Engine
from cuesta.exchange.events import (
    Command,
    LookUp,
)
from cuesta.exchange.options import CompactionOptions
from cuesta.strategies.keep_all import KeepAll
from cuesta.testing.driver import Bench

_COUNT = "/v1/messages/count_tokens"
_LONG = body(talk(20))


# What passes untouched.


def _truncated(place: int) -> bytes:
    return _LONG[: place % len(_LONG)]


_ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "type", "text", "input", "tool_use_id"]), inner
        )
    ),
    max_leaves=10,
)


@given(
    st.binary(max_size=80)
    | st.text(max_size=80).map(str.encode)
    | st.integers(0, len(_LONG) - 1).map(_truncated)
    | st.dictionaries(st.sampled_from(["model", "messages", "max_tokens"]), _ODD)
    .map(json.dumps)
    .map(str.encode)
    | st.lists(_ODD, max_size=3).map(body)
)
def test_malformed_bodies_pass_untouched(malformed):
    over = bench()
    for path in ("/v1/messages", _COUNT):
        driven = over.send(malformed, path=path)
        assert driven.body == malformed
        assert driven.event.action in {"pass", "keep"}
    assert over.ledger == {}


@pytest.mark.parametrize(
    "malformed",
    [
        b"",
        b"\xff\xfe",
        _LONG[:-1],
        _LONG.replace(b'"the task"', b'"\xc3"'),
        body([]),
        body([{"role": "tool", "content": "x"}]),
        body([{"role": "user", "content": 5}]),
        _LONG.replace(b'"messages"', b'"Messages"'),
        body(talk(20), model=None),
    ],
)
def test_a_body_that_cannot_be_read_passes_and_says_so(malformed):
    driven = bench().send(malformed)
    assert driven.body == malformed
    assert driven.event.action == "pass"
    assert driven.event.reason.startswith(("not readable", "no messages"))


@pytest.mark.parametrize("depth", [700, 100_000])
def test_a_body_nested_too_deeply_passes(depth):
    deep = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "input": {"x": "@"}}]}
    raw = body([*talk(3), deep]).replace(b'"@"', b"[" * depth + b"]" * depth)
    driven = bench().send(raw)
    assert driven.body == raw
    assert driven.event.action in {"pass", "keep"}


@pytest.mark.parametrize(
    ("path", "action"),
    [
        ("/v1/messages", "replace"),
        ("/v1/messages/", "replace"),
        (_COUNT, "replace"),
        ("/v1/messages/batches", "pass"),
        ("/v1/complete", "pass"),
        ("/", "pass"),
    ],
)
def test_only_conversations_are_planned(path, action):
    driven = bench().send(_LONG, path=path)
    assert driven.event.action == action
    assert (driven.body == _LONG) == (action == "pass")


@pytest.mark.parametrize(
    "fields",
    [{"max_tokens": 1}, {"max_tokens": 0}],
)
def test_a_probe_passes_however_long_its_conversation(fields):
    raw = body(talk(20), **fields)
    over = bench()
    driven = over.send(raw)
    assert (driven.body, driven.event.action, over.ledger) == (raw, "pass", {})


def test_a_title_request_passes_and_does_not_enter_the_conversation():
    title = body(
        [{"role": "user", "content": "word " * 60_000}],
        output_config={"format": {"type": "json_schema"}},
        tools=[],
    )
    driven = bench().send(title)
    assert (driven.body, driven.event.action, driven.event.conversation) == (title, "pass", "")


def test_another_strategy_is_asked_instead():
    over = Bench(Engine(CompactionOptions(threshold=8_000), strategy=KeepAll()))
    assert over.send(_LONG).body == _LONG
    assert over.ledger == {}


def test_options_that_make_no_sense_are_refused_at_once():
    for options in (CompactionOptions(profile="papers"), CompactionOptions(threshold=-1)):
        with pytest.raises(ConfigError):
            Engine(options)


# A conversation, from cliff to cliff.


def test_a_conversation_is_kept_then_dropped_then_grows_on_what_was_sent():
    over = bench()
    driven = grow(over, talk(16))
    actions = [d.event.action for d in driven]
    first = actions.index("replace")
    assert actions == ["keep"] * first + ["replace"] * (len(actions) - first)
    fell = [d.event.cliffs for d in driven if d.event.new_cliff]
    assert fell == list(range(1, len(fell) + 1))
    assert len(fell) >= 2
    assert len(over.ledger) == len(fell)
    sent = json.loads(driven[-1].body)["messages"]
    assert sent[0] == {"role": "user", "content": "the task"}
    assert sent[-2:] == turn(15)
    assert driven[-1].event.sent_tokens < driven[-1].event.raw_tokens / 2


@pytest.mark.parametrize("profile", ["default", "paper"])
def test_a_system_message_in_the_head_stands_behind_the_digest(profile):
    system = {"role": "system", "content": [{"type": "text", "text": "Be brief."}]}
    task, *turns = talk(12)
    driven = bench(profile=profile).send(body([task, system, *turns]))
    sent = json.loads(driven.body)["messages"]
    if profile == "default":
        assert sent[0] == task
        assert "record-of-earlier-work" in sent[1]["content"][0]["text"]
        assert sent[2] == system
        assert sent[3:] == turns[3 - len(sent) :]
    else:  # the head ends with the first human message: the rest belongs to the first turn
        assert sent[0] == task
        assert system not in sent


def _digest(raw: bytes) -> str:
    return json.loads(raw)["messages"][1]["content"][0]["text"]


def test_no_digest_is_ever_built_from_an_earlier_one():
    words = {3: "human-3", 9: "human-9"}
    conversation = [talk(0)[0]]
    for number in range(22):
        conversation += turn(number, size=6_000 if number % 2 else 40, words=words.get(number, ""))
    over = bench(5_000)
    driven = [d for d in grow(over, conversation) if d.event.new_cliff]
    cliffs = max((Entry.from_json(e).cliffs for e in over.ledger.values()), key=len)
    assert len(cliffs) == len(driven) >= 3
    previous = 0
    for cliff, sent in zip(cliffs, driven, strict=True):
        text = _digest(sent.body)
        for number in range(22):
            live = previous <= number < cliff.cut
            assert (f"make step-{number}\n" in text) == live
            assert (f"out-{number} " in text) == (live and number % 2 == 0)
        for number, said in words.items():
            assert (said in text) == (number < cliff.cut)
        assert text.count("<record-of-earlier-work>") == 1
        previous = cliff.cut


def test_a_ledger_holds_no_text_of_the_conversation():
    over = bench()
    grow(over, talk(16, words="confidential words"))
    stored = b"".join(over.ledger.values())
    assert stored
    for text in (b"confidential", b"task", b"make", b"out-", b"toolu"):
        assert text not in stored


def test_a_retry_gets_the_same_bytes_and_no_new_cliff():
    over = bench()
    first = grow(over, talk(16))[-1]
    ledger = dict(over.ledger)
    again = over.send(body(talk(16)))
    assert again.body == first.body
    assert not again.event.new_cliff
    assert over.ledger == ledger


def test_a_change_of_the_model_takes_one_cliff():
    over = bench()
    grow(over, talk(16))
    conversation = talk(17)
    other = over.send(body(conversation, model="claude-opus-5"))
    assert other.event.new_cliff
    assert other.event.external
    onwards = over.send(body([*conversation, *turn(17, size=40)], model="claude-opus-5"))
    assert not onwards.event.new_cliff
    sent = json.loads(other.body)["messages"]
    assert json.loads(onwards.body)["messages"][: len(sent)] == sent


def test_each_model_is_measured_by_its_own_meter_whatever_was_remembered():
    models = ("claude-opus-4-5", "claude-opus-5-5", "claude-opus-4-5")
    over = bench(threshold=100_000)
    seen = [over.send(body(talk(4), model=model)).event.raw_tokens for model in models]
    fresh = bench(threshold=100_000).send(body(talk(4), model=models[1])).event.raw_tokens
    assert seen[0] == seen[2] < seen[1] == fresh


def test_a_message_that_grew_takes_at_most_one_new_cliff():
    over = bench()
    conversation = talk(16)
    grow(over, conversation)
    grown = [*conversation[:-1], {**conversation[-1]}]
    grown[-1]["content"] = [*grown[-1]["content"], {"type": "text", "text": "and this"}]
    over.send(body(grown))
    later = [
        over.send(body([*grown, *turn(16, size=40)])),
        over.send(body([*grown, *turn(16, size=40), *turn(17, size=40)])),
    ]
    assert not any(d.event.new_cliff for d in later)


def test_thinking_of_the_kept_turns_is_cut_out_once_and_later_thinking_stays():
    def thoughts(raw: bytes) -> list[str]:
        found = []
        for message in json.loads(raw)["messages"]:
            blocks = message["content"] if isinstance(message["content"], list) else []
            found += [b["thinking"] for b in blocks if b["type"] == "thinking"]
        return found

    driven = grow(bench(), talk(16, thinks=True), model=CHECKING)
    first = next(i for i, d in enumerate(driven) if d.event.new_cliff)
    assert thoughts(driven[first - 1].body) == [f"hm {number}" for number in range(first - 1)]
    assert thoughts(driven[first].body) == []
    assert thoughts(driven[first + 1].body) == [f"hm {first}"]
    plain = grow(bench(), talk(16, thinks=True), model=PLAIN)
    assert len(thoughts(plain[-1].body)) >= 3


@pytest.mark.parametrize(
    "options",
    [CompactionOptions(profile="paper", threshold=30_000), CompactionOptions(threshold=30_000)],
    ids=["another profile", "another threshold"],
)
def test_under_other_options_what_is_stored_is_served_as_stored(options):
    over = bench(8_000)
    conversation = talk(16, words="go on")
    assert over.send(body(conversation)).event.new_cliff
    restarted = Bench(Engine(options), dict(over.ledger))
    conversation += turn(16, size=40)
    driven = restarted.send(body(conversation))
    assert driven.body == over.send(body(conversation)).body
    assert not driven.event.new_cliff


@pytest.mark.xfail(strict=True, reason="a sibling's cliff on a shared prefix is taken over")
def test_a_sibling_asked_again_under_other_options_does_not_compact_what_was_answered_before():
    # Seven turns go by untouched. The proxy restarts with a smaller threshold, a fork of the
    # conversation asks again from its fifth turn, and takes a cliff there. The first goes on.
    over = bench(20_000)
    conversation = talk(7, size=2_000, thinks=True)
    assert not any(d.event.new_cliff for d in grow(over, conversation, model=CHECKING))
    restarted = Bench(Engine(CompactionOptions(threshold=2_200)), over.ledger)
    assert restarted.send(body(conversation[:11], model=CHECKING)).event.new_cliff
    onwards = restarted.send(body([*conversation, *turn(7, size=40)], model=CHECKING))
    if onwards.event.action == "replace":
        sent = json.loads(onwards.body)["messages"]
        kinds = [b["type"] for m in sent if isinstance(m["content"], list) for b in m["content"]]
        assert "thinking" not in kinds  # it was produced behind the untouched prefix


# Failing open.


def _fails(command: Command) -> None:
    if isinstance(command, LookUp):
        raise OSError("the disk is gone")


@pytest.mark.parametrize(
    ("path", "key", "model"),
    [
        ("/v1/messages", "messages", PLAIN),
        ("/v1/messages", "messages", CHECKING),
        ("/v1/chat/completions", "messages", PLAIN),
        ("/v1/chat/completions", "messages", CHECKING),
        ("/v1/responses", "input", PLAIN),
        ("/v1/responses", "input", CHECKING),
    ],
)
def test_a_ledger_that_is_gone_breaks_no_request(path, key, model):
    raw = json.dumps({"model": model, key: [{"role": "user", "content": "hi"}]}).encode()
    over = Bench(Engine(CompactionOptions()), fault=_fails)
    driven = over.send(raw, path=path)
    assert driven.body == raw
    assert driven.event.action == "failed"
