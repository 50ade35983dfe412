import json
from collections import Counter
from itertools import pairwise

import pytest
from history_shapes import FIXED, LISTED, blocks_of, check, extends, listed, normal, strict_json

from cuesta.testing.histories import ClientHistory, Feature


def check_places(messages):
    """Roles stand where they may, and nothing is empty."""
    roles = [message["role"] for message in messages]
    assert roles[0] == "user"
    paused = blocks_of(messages[-1])[-1:] if roles[-1] == "assistant" else []
    assert all(block["type"] in {"server_tool_use", "web_search_tool_result"} for block in paused)
    for place, message in enumerate(messages):
        if message["role"] == "system" and message["content"]:
            assert roles[place - 1] == "user"
            assert roles[place + 1 : place + 2] in ([], ["assistant"])
        assert message["content"] or "output_config" in message
        for block in blocks_of(message):
            assert block["type"] != "text" or block["text"].strip()


def check_markers(body):
    marked = [block for message in body["messages"] for block in blocks_of(message)]
    marked += body["system"] if isinstance(body.get("system"), list) else []
    assert sum("cache_control" in block for block in marked) <= 4


def check_request(wire, request):
    check(wire, request)
    if wire == "anthropic":
        check_places(request.json["messages"])
        check_markers(request.json)


def test_every_body_is_json_and_obeys_the_rules_of_pairs_and_places(play, wire):
    for seed in range(40):
        for request in play(ClientHistory(seed, turns=30, wire=wire)):
            check_request(wire, request)


def test_a_history_whose_requests_are_never_answered_still_ends(play, wire):
    for seed in range(30):
        sent = play(ClientHistory(seed, turns=20, wire=wire), answering=False)
        assert 20 <= len(sent) <= 60
        for request in sent:
            check_request(wire, request)


def test_histories_are_append_only_but_where_the_client_says_otherwise(play, wire):
    rewritten = Counter()
    for seed in range(60):
        history = ClientHistory(seed, turns=40, wire=wire)
        before = {}
        for request in play(history):
            if request.main:
                messages = [normal(wire, message) for message in listed(wire, request.json)]
                last = before.get(request.branch, messages)
                assert not request.appended or extends(last, messages), request.label
                rewritten[request.appended] += 1
                before[request.branch] = messages
    assert rewritten[False] > 15
    assert rewritten[True] > 20 * rewritten[False]


def test_without_moves_every_request_extends_the_one_before(play, wire):
    moves = {
        Feature.REWINDS,
        Feature.EDITS,
        Feature.TOOLS_CHANGE,
        Feature.ORPHAN_THINKING,
        Feature.COMPACTION_ITEMS,
        Feature.KEPT_HISTORY,
    }
    for seed in range(20):
        sent = play(ClientHistory(seed, frozenset(Feature) - moves, turns=40, wire=wire))
        assert all(request.appended for request in sent if request.main)


def test_the_marker_moves_and_lone_texts_flip_to_strings(play):
    history = ClientHistory(2, frozenset({Feature.MARKER_FLIPS, Feature.RESUME}))
    flips = 0
    sent = play(history)
    for one, two in pairwise(sent):
        before, after = one.json["messages"], two.json["messages"]
        assert "cache_control" in blocks_of(before[-1])[-1]
        assert not any("cache_control" in block for block in blocks_of(after[len(before) - 1]))
        flips += isinstance(before[-1]["content"], list) and isinstance(
            after[len(before) - 1]["content"], str
        )
    assert flips > 0


def test_odd_json_is_odd_and_says_the_same(play, wire):
    kinds = Counter()
    for seed in range(40):
        history = ClientHistory(seed, frozenset({Feature.ODD_JSON}), turns=2, wire=wire)
        body = play(history)[0].body
        parsed = strict_json(body)
        kinds["edge"] += body != body.strip()
        kinds["order"] += next(iter(parsed)) != "model"
        kinds["key escaped"] += f'"{LISTED[wire]}"'.encode() not in body
        kinds["solidus"] += b"\\/" in body
        kinds["spaced"] += b" , " in body or b",\n\t" in body
    assert min(kinds.values()) > 0
    assert len(kinds) == 5


def test_emoji_are_written_as_pairs_of_escapes_too(play):
    histories = (ClientHistory(seed, frozenset({Feature.UNICODE}), turns=20) for seed in range(10))
    bodies = [play(history)[-1].body for history in histories]
    assert any(b"\\ud83d\\ude80" in body for body in bodies)
    assert any("🚀".encode() in body for body in bodies)


@pytest.mark.parametrize("remedied", [True, False])
def test_changes_in_place_are_reported_until_the_client_takes_its_thinking_out(remedied):
    """A refused client takes its thinking out; one that is answered has no reason to."""
    broken = Counter()
    for seed in range(60):
        history = ClientHistory(seed, frozenset({Feature.EDITS}), "claude-sonnet-5-5")
        run = 0
        while history.request() is not None:
            run = run + 1 if history.broken else 0
            broken[run] += 1
            if not (remedied and history.broken):
                history.answer(lambda *_: "signature")
    assert broken[1] > 5
    assert (max(broken) > 12) != remedied


def tokens(value):
    return len(json.dumps(value, ensure_ascii=False)) // 4


def fixed(wire, body):
    """The tokens of what stands beside the messages, taken as four characters each."""
    return tokens([body.get(key) for key in FIXED[wire]])


def cliffs(wire, sent, threshold):
    """Count the cliffs of the longest branch."""
    found, gone = Counter(), Counter()
    for request in sent:
        if not request.main:
            continue
        beside, grown = fixed(wire, request.json), tokens(listed(wire, request.json))
        gone[request.branch] = min(gone[request.branch], grown)
        if beside + grown - gone[request.branch] > threshold:
            found[request.branch] += 1
            gone[request.branch] = max(grown - threshold // 3, 0)
    return max(found.values(), default=0)


def test_most_histories_cross_two_cliffs_and_large_ones_a_large_threshold(play, wire):
    histories = [ClientHistory(seed, wire=wire) for seed in range(25)]
    usual = [cliffs(wire, play(history), 8_000) for history in histories]
    assert sum(count >= 2 for count in usual) >= 20
    histories = [ClientHistory(seed, scale=6.0, wire=wire) for seed in range(5)]
    large = [cliffs(wire, play(history), 32_000) for history in histories]
    assert sum(count >= 1 for count in large) >= 4


def test_the_fixed_part_is_between_one_and_some_four_thousand_tokens(play, wire):
    for seed in range(60):
        sent = play(ClientHistory(seed, turns=2, wire=wire))
        main = [request for request in sent if request.main]
        assert 1_000 < fixed(wire, main[0].json) < 4_600
