import json
from collections import Counter
from itertools import pairwise

import pytest

from cuesta.testing.histories import ClientHistory, Feature


def strict_json(body):
    def unique(pairs):
        keys = [key for key, _ in pairs]
        assert len(keys) == len(set(keys))
        return dict(pairs)

    parsed = json.loads(body, object_pairs_hook=unique)
    json.dumps(parsed, ensure_ascii=False).encode()
    return parsed


def blocks_of(message):
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def plain(block):
    return {key: value for key, value in block.items() if key != "cache_control"}


def normal(message):
    rest = {key: value for key, value in message.items() if key != "content"}
    return {**rest, "content": [plain(block) for block in blocks_of(message)]}


def check_pairs(messages):
    """Every call has its result in the run that opens the very next message, and none twice."""
    calls = [block["id"] for m in messages for block in blocks_of(m) if block["type"] == "tool_use"]
    assert len(calls) == len(set(calls))
    for here, after in zip(messages, [*messages[1:], None], strict=True):
        open_calls = [block["id"] for block in blocks_of(here) if block["type"] == "tool_use"]
        results = [block for block in blocks_of(after or here) if block["type"] == "tool_result"]
        if after is None:
            assert not open_calls
        else:
            assert sorted(open_calls) == sorted(block["tool_use_id"] for block in results)
            assert blocks_of(after)[: len(results)] == results


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


def check_body(body):
    check_pairs(body["messages"])
    check_places(body["messages"])
    check_markers(body)


def test_every_body_is_json_and_obeys_the_rules_of_pairs_and_places(play):
    for seed in range(40):
        for request in play(ClientHistory(seed, turns=30)):
            check_body(strict_json(request.body))


def test_a_history_whose_requests_are_never_answered_still_ends(play):
    for seed in range(30):
        sent = play(ClientHistory(seed, turns=20), answering=False)
        assert 20 <= len(sent) <= 60
        for request in sent:
            check_body(strict_json(request.body))


def extends(before, after):
    """Tell whether `after` is `before` plus a suffix, the last message of `before` grown."""
    if len(after) < len(before) or after[: len(before) - 1] != before[:-1]:
        return False
    old, new = before[-1], after[len(before) - 1]
    grown = new["content"][: len(old["content"])]
    return {**new, "content": grown} == old


def test_histories_are_append_only_but_where_the_client_says_otherwise(play):
    rewritten = Counter()
    for seed in range(60):
        history = ClientHistory(seed, turns=40)
        before = {}
        for request in play(history):
            if request.main:
                messages = [normal(message) for message in request.json["messages"]]
                last = before.get(request.branch, messages)
                assert not request.appended or extends(last, messages), request.label
                rewritten[request.appended] += 1
                before[request.branch] = messages
    assert rewritten[False] > 15
    assert rewritten[True] > 20 * rewritten[False]


def test_without_moves_every_request_extends_the_one_before(play):
    moves = {Feature.REWINDS, Feature.EDITS, Feature.TOOLS_CHANGE, Feature.ORPHAN_THINKING}
    for seed in range(20):
        sent = play(ClientHistory(seed, frozenset(Feature) - moves, turns=40))
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


def test_odd_json_is_odd_and_says_the_same(play):
    kinds = Counter()
    for seed in range(40):
        body = play(ClientHistory(seed, frozenset({Feature.ODD_JSON}), turns=2))[0].body
        parsed = strict_json(body)
        kinds["edge"] += body != body.strip()
        kinds["order"] += next(iter(parsed)) != "model"
        kinds["key escaped"] += b'"messages"' not in body
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


def cliffs(sent, threshold):
    """Count the cliffs of the longest branch, tokens taken as four characters."""
    found, gone = Counter(), Counter()
    for request in sent:
        if not request.main:
            continue
        body = request.json
        fixed = len(json.dumps([body["system"], body["tools"]], ensure_ascii=False)) // 4
        grown = len(json.dumps(body["messages"], ensure_ascii=False)) // 4
        gone[request.branch] = min(gone[request.branch], grown)
        if fixed + grown - gone[request.branch] > threshold:
            found[request.branch] += 1
            gone[request.branch] = max(grown - threshold // 3, 0)
    return max(found.values(), default=0)


def test_most_histories_cross_two_cliffs_and_large_ones_a_large_threshold(play):
    usual = [cliffs(play(ClientHistory(seed)), 8_000) for seed in range(25)]
    assert sum(count >= 2 for count in usual) >= 20
    large = [cliffs(play(ClientHistory(seed, scale=6.0)), 32_000) for seed in range(5)]
    assert sum(count >= 1 for count in large) >= 4


def test_the_fixed_part_is_between_one_and_four_thousand_tokens(play):
    for seed in range(60):
        main = [request for request in play(ClientHistory(seed, turns=2)) if request.main]
        body = main[0].json
        tokens = len(json.dumps([body["system"], body["tools"]], ensure_ascii=False)) // 4
        assert 1_000 < tokens < 4_000
