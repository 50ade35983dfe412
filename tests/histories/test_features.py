import json
import re
from collections import Counter
from itertools import pairwise

import pytest

from cuesta.testing.histories import ClientHistory, Feature

CHECKING = ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-1")


def blocks_of(body):
    for message in body["messages"]:
        content = message["content"]
        if isinstance(content, str):
            yield message, {"type": "text", "text": content}
        else:
            for block in content:
                yield message, block


def test_every_feature_occurs_in_fifty_of_a_thousand_histories(play, wire):
    possible = ClientHistory.possible(wire)
    occurred, checks = Counter(), Counter()
    for seed in range(1000):
        history = ClientHistory(seed, turns=14, wire=wire)
        play(history)
        assert set(history.features) <= history.drawn <= possible
        occurred.update(feature for feature, count in history.features.items() if count)
        checks[history.checks] += 1
    rare = {feature.name: occurred[feature] for feature in possible if occurred[feature] < 50}
    assert not rare
    assert 400 < checks[True] < 600 if wire == "anthropic" else not checks[True]


def test_what_a_wire_cannot_have_is_left_out(wire):
    history = ClientHistory(1, frozenset(Feature), turns=2, wire=wire)
    assert history.drawn == ClientHistory.possible(wire) < set(Feature)


def test_without_features_a_history_is_a_plain_loop_of_single_calls(play, wire):
    history = ClientHistory(1, features=frozenset(), wire=wire)
    sent = play(history)
    assert not +history.features
    assert len(sent) == 60
    assert all(request.kind == "main" and request.appended for request in sent)


def test_without_features_there_are_four_kinds_of_blocks(play):
    sent = play(ClientHistory(1, features=frozenset()))
    kinds = {block["type"] for _, block in blocks_of(sent[-1].json)}
    assert kinds <= {"text", "thinking", "tool_use", "tool_result"}


def of_type(*kinds):
    return lambda body: any(block["type"] in kinds for _, block in blocks_of(body))


def result_where(holds):
    return lambda body: any(
        block["type"] == "tool_result" and holds(block) for _, block in blocks_of(body)
    )


def text_with(pattern):
    return lambda body: any(
        block["type"] == "text" and re.search(pattern, block["text"])
        for _, block in blocks_of(body)
    )


def kinds_of(message):
    content = message["content"]
    return ["text"] if isinstance(content, str) else [block["type"] for block in content]


def message_where(role, holds):
    return lambda body: any(
        message["role"] == role and holds(kinds_of(message)) for message in body["messages"]
    )


def thinks_between_calls(kinds):
    return "thinking" in kinds[kinds.index("tool_use") :] if "tool_use" in kinds else False


SHOWN = {
    Feature.PARALLEL_CALLS: message_where("assistant", lambda kinds: kinds.count("tool_use") > 1),
    Feature.INTERLEAVED_THINKING: message_where("assistant", thinks_between_calls),
    Feature.REDACTED_THINKING: of_type("redacted_thinking"),
    Feature.ORPHAN_THINKING: message_where("assistant", lambda kinds: kinds == ["thinking"]),
    Feature.IMAGES: lambda body: b'"image/png"' in json.dumps(body).encode(),
    Feature.EMPTY_RESULTS: result_where(lambda block: not block.get("content")),
    Feature.SERVER_TOOLS: of_type("server_tool_use"),
    Feature.MID_SYSTEM: message_where("system", lambda kinds: "text" in kinds),
    Feature.TOOL_CHANGES: of_type("tool_addition", "tool_removal"),
    Feature.EFFORT_CHANGES: message_where("system", lambda kinds: not kinds),
    Feature.UNKNOWN_BLOCKS: of_type("future_block"),
    Feature.HUMAN_MESSAGES: message_where(
        "user", lambda kinds: kinds[:1] + kinds[-1:] == ["tool_result", "text"]
    ),
    Feature.REMINDERS: message_where(
        "user", lambda kinds: kinds[:1] + kinds[-1:] == ["tool_result", "text"]
    ),
    Feature.PARTIAL_TURNS: text_with("Your response above was cut off"),
    Feature.ERRORS: result_where(lambda block: block.get("is_error") is True),
    Feature.UNICODE: text_with("[\u3000-\u9fff\U00010000-\U0010ffff\u0300-\u036f]"),
    Feature.MARKER_FLIPS: lambda body: any(
        "cache_control" in block for _, block in blocks_of(body)
    ),
    Feature.LONG_RESULTS: result_where(lambda block: len(str(block.get("content"))) > 5_500),
    Feature.RESUME: message_where("assistant", lambda kinds: kinds[-1] == "text"),
}


@pytest.mark.parametrize("feature", SHOWN, ids=lambda feature: feature.name)
def test_a_feature_that_is_counted_stands_in_the_bodies_and_no_other_way(play, feature):
    shows = SHOWN[feature]
    counted = 0
    for seed in range(8):
        history = ClientHistory(seed, frozenset({feature}), "claude-opus-5-5", turns=50)
        seen = any(shows(request.json) for request in play(history) if request.main)
        assert seen == bool(history.features[feature])
        counted += seen
        plain = ClientHistory(seed, frozenset(), "claude-opus-5-5", turns=10)
        assert not any(shows(request.json) for request in play(plain))
    assert counted >= 4


def test_a_retry_is_the_same_body_and_only_the_second_is_answered(play):
    sent = play(ClientHistory(2, frozenset({Feature.RETRIES})))
    pairs = [(one, two) for one, two in pairwise(sent) if two.kind == "retry"]
    assert pairs
    for first, second in pairs:
        assert first.kind == "main"
        assert first.body == second.body
        assert not first.answered
        assert second.answered


def test_side_calls_leave_no_trace_in_the_history(play):
    side, counts = [], []
    for seed in range(6):
        sent = play(ClientHistory(seed, frozenset({Feature.SIDE_CALLS})))
        side += [request for request in sent if request.kind == "side"]
        counts += [request for request in sent if request.kind == "count_tokens"]
        assert all(request.appended for request in sent if request.main)
    for request in side:
        assert request.json["tools"] == []
        assert request.json["output_config"]["format"]["type"] == "json_schema"
        assert request.answered[0]["type"] == "text"
    for request in counts:
        assert "max_tokens" not in request.json
        assert request.path == "/v1/messages/count_tokens?beta=true"
        assert not request.answered
    assert len({len(request.json["messages"]) for request in counts}) > 2
    assert side


def test_branches_share_a_beginning_and_continue_in_turn(play):
    history = ClientHistory(3, frozenset({Feature.FORKS}), turns=60)
    main = [request for request in play(history) if request.main]
    branches = {request.branch for request in main}
    assert len(branches) == 1 + history.features[Feature.FORKS] > 1
    last = {request.branch: request.json["messages"] for request in main}
    changes = sum(one.branch != two.branch for one, two in pairwise(main))
    assert changes > 5
    assert last[0][0] == last[1][0]
    assert last[0] != last[1]


def test_growing_appends_to_the_last_user_message(play):
    history = ClientHistory(4, frozenset({Feature.GROWING_LAST}))
    sent = play(history)
    grown = 0
    for one, two in pairwise(sent):
        before, after = one.json["messages"], two.json["messages"]
        if len(before) == len(after):
            assert before[:-1] == after[:-1]
            old, new = (content_blocks(messages[-1]) for messages in (before, after))
            assert new[: len(old)] == old
            assert len(new) > len(old)
            grown += 1
    assert grown == history.features[Feature.GROWING_LAST] > 0


def content_blocks(message):
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


@pytest.mark.parametrize("model", CHECKING)
def test_models_that_check_prefixes_think_adaptively(play, model):
    history = ClientHistory(1, frozenset(), model, turns=4)
    body = play(history)[-1].json
    assert history.checks
    assert body["model"] == model
    assert body["thinking"]["type"] == "adaptive"


def test_with_a_budget_each_answer_starts_with_thinking_and_there_are_no_system_messages(play):
    budgets = 0
    for seed in range(6):
        history = ClientHistory(
            seed, frozenset(Feature) - {Feature.SERVER_TOOLS}, "claude-haiku-4-5"
        )
        for request in play(history):
            assert "thinking" not in request.json or not history.checks
            roles = {message["role"] for message in request.json["messages"]}
            assert "system" not in roles
            if request.json.get("thinking", {}).get("type") == "enabled":
                assert request.json["max_tokens"] > request.json["thinking"]["budget_tokens"]
                if request.main and request.answered:
                    assert request.answered[0]["type"] in {"thinking", "redacted_thinking"}
                    budgets += 1
    assert budgets > 50
