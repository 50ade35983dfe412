"""What each feature looks like on OpenAI's two wires, and that it comes in no other way."""

import json
import re
from collections import Counter
from itertools import pairwise

import pytest
from history_shapes import ANSWERED_BY, SERVED, listed

from cuesta.testing.histories import ClientHistory, Feature

CHAT, RESPONSES = "openai_chat", "openai_responses"
FOREIGN = "[\u3000-\u9fff\U00010000-\U0010ffff\u0300-\u036f]"
OUTPUTS = {"tool", *ANSWERED_BY.values()}


def kind(message):
    """What a message or an item is: its role on Chat Completions, its type on Responses."""
    return message.get("type") or message["role"]


def role(message):
    return message.get("role") or ("tool" if kind(message) in OUTPUTS else "assistant")


def contents(message):
    content = message.get("output", message.get("content"))
    return [{"text": content}] if isinstance(content, str) else content or []


def text(message):
    return "".join(part.get("text", "") for part in contents(message))


def pictures(message):
    return [part for part in contents(message) if part.get("type") in {"image_url", "input_image"}]


def is_message(message):
    return kind(message) in {"message", "user", "system", "developer", "assistant"}


def some(holds):
    return lambda messages: any(map(holds, messages))


def behind(first, second):
    """Whether a message that is `second` stands directly behind one that is `first`."""
    return lambda messages: any(first(a) and second(b) for a, b in pairwise(messages))


def has_role(*names):
    return lambda message: role(message) in names and (is_message(message) or "tool" in names)


def mid_system(messages):
    first = next(n for n, m in enumerate(messages) if role(m) == "user")
    return any(role(m) in {"system", "developer"} and is_message(m) for m in messages[first:])


def is_output(message):
    return role(message) == "tool"


def speaks_of(pattern, *roles):
    return some(lambda m: role(m) in roles and re.search(pattern, text(m)) is not None)


def parallel(messages):
    kinds = [kind(m) in ANSWERED_BY for m in messages]
    return any(len(m.get("tool_calls", [])) > 1 for m in messages) or any(map(all, pairwise(kinds)))


def thinks_between_calls(messages):
    kinds = [kind(m) for m in messages]
    return any(here == "reasoning" and before in ANSWERED_BY for before, here in pairwise(kinds))


COMMON = {
    Feature.PARALLEL_CALLS: parallel,
    Feature.IMAGES: lambda messages: "image/png" in json.dumps(messages),
    Feature.EMPTY_RESULTS: some(lambda m: is_output(m) and not text(m) and not pictures(m)),
    Feature.MID_SYSTEM: mid_system,
    Feature.UNKNOWN_BLOCKS: lambda messages: "future_block" in json.dumps(messages),
    Feature.HUMAN_MESSAGES: behind(is_output, has_role("user")),
    Feature.PARTIAL_TURNS: speaks_of("^The connection dropped", "user"),
    Feature.ERRORS: speaks_of("^Error: ", "tool"),
    Feature.UNICODE: speaks_of(FOREIGN, "user", "tool", "assistant", "system", "developer"),
    Feature.LONG_RESULTS: some(
        lambda m: is_output(m) and (len(text(m)) > 5_500 or text(m).startswith("data:"))
    ),
    Feature.RESUME: behind(
        lambda m: role(m) == "assistant" and not m.get("tool_calls"), has_role("user")
    ),
    Feature.PART_OUTPUTS: some(
        lambda m: is_output(m) and isinstance(m.get("output", m.get("content")), list)
    ),
}
SHOWN = {
    CHAT: {
        **COMMON,
        Feature.REMINDERS: behind(is_output, has_role("user")),
        Feature.MARKER_FLIPS: lambda messages: "cache_control" in json.dumps(messages[-1]),
    },
    RESPONSES: {
        **COMMON,
        Feature.REMINDERS: behind(is_output, has_role("user")),
        Feature.INTERLEAVED_THINKING: thinks_between_calls,
        Feature.REDACTED_THINKING: some(lambda m: m.get("summary") == []),
        Feature.SERVER_TOOLS: some(lambda m: kind(m) in SERVED),
        Feature.TOOL_CHANGES: some(lambda m: kind(m) == "additional_tools"),
        Feature.CALL_KINDS: some(lambda m: kind(m) in ANSWERED_BY and kind(m) != "function_call"),
        Feature.COMPACTION_ITEMS: some(lambda m: kind(m) == "compaction"),
        Feature.KEPT_HISTORY: lambda messages: "compaction" in map(kind, messages[1:]),
    },
}
BESIDE = {Feature.IMAGES: frozenset({Feature.RESUME})}
"""What a feature needs to occur often: a picture comes with a person's words."""
ROWS = [(wire, feature) for wire, features in SHOWN.items() for feature in features]


@pytest.mark.parametrize(("wire", "feature"), ROWS, ids=[f"{w}-{f.name}" for w, f in ROWS])
def test_a_feature_that_is_counted_stands_in_the_bodies_and_no_other_way(play, wire, feature):
    shows = SHOWN[wire][feature]
    counted = 0
    beside = BESIDE.get(feature, frozenset())
    for seed in range(12):
        history = ClientHistory(seed, beside | {feature}, turns=50, wire=wire)
        seen = any(shows(listed(wire, request.json)) for request in play(history) if request.main)
        assert seen == bool(history.features[feature])
        counted += seen
        plain = ClientHistory(seed, beside, turns=10, wire=wire)
        assert not any(shows(listed(wire, request.json)) for request in play(plain))
    assert counted >= 4


LOOSENING = {
    Feature.MID_SYSTEM,
    Feature.HUMAN_MESSAGES,
    Feature.REMINDERS,
    Feature.GROWING_LAST,
}


def test_unless_a_feature_says_so_chat_suits_the_templates_of_open_models(play):
    """One system message, the first; users and final answers in turn, tool traffic not counted."""
    features = frozenset(Feature) - LOOSENING
    for seed in range(40):
        for request in play(ClientHistory(seed, features, turns=30, wire=CHAT)):
            first, *rest = request.json["messages"]
            assert first["role"] in {"system", "developer"}
            plain = [m["role"] for m in rest if m["role"] != "tool" and "tool_calls" not in m]
            assert plain[::2] == ["user"] * len(plain[::2])
            assert plain[1::2] == ["assistant"] * len(plain[1::2])


def test_the_loosening_features_do_loosen(play):
    broken = 0
    for seed in range(10):
        history = ClientHistory(seed, frozenset(LOOSENING), turns=30, wire=CHAT)
        roles = [message["role"] for message in play(history)[-1].json["messages"]]
        broken += (
            "system" in roles[1:]
            or "developer" in roles[1:]
            or ("tool", "user") in {*pairwise(roles)}
        )
    assert broken > 5


@pytest.mark.parametrize("wire", [CHAT, RESPONSES])
def test_side_calls_offer_no_tools_or_ask_for_a_compaction(play, wire):
    kinds = Counter()
    for seed in range(12):
        sent = play(ClientHistory(seed, frozenset({Feature.SIDE_CALLS}), wire=wire))
        assert all(request.appended for request in sent if request.main)
        for request in sent:
            if request.kind == "side":
                kinds[side_kind(wire, request)] += 1
                assert request.answered
            else:
                assert request.kind == "main"
                assert request.path == {CHAT: "/v1/chat/completions"}.get(wire, "/v1/responses")
    assert (
        kinds.keys()
        == {
            CHAT: {"title", "summary"},
            RESPONSES: {"title", "summary", "trigger", "compact"},
        }[wire]
    )


def kind_of_last(body):
    return None if isinstance(body["input"], str) else kind(body["input"][-1])


def side_kind(wire, request):
    body = request.json
    if wire == CHAT:
        assert "tools" not in body
        assert request.answered[0]["role"] == "assistant"
        wanted = body.get("response_format")
        return "summary" if wanted is None else {"json_schema": "title"}[wanted["type"]]
    if request.path == "/v1/responses/compact":
        assert "stream" not in body
        assert [item["type"] for item in request.answered] == ["compaction"]
        return "compact"
    if kind_of_last(body) == "compaction_trigger":
        assert [item["type"] for item in request.answered] == ["compaction"]
        return "trigger"
    assert request.answered[0]["type"] == "message"
    if "format" in body["text"]:
        assert "tools" not in body
        return {"json_schema": "title"}[body["text"]["format"]["type"]]
    assert body["tools"] == []
    return "summary"


@pytest.mark.parametrize("wire", [CHAT, RESPONSES])
def test_what_was_answered_comes_back_in_the_next_request(play, wire):
    """But for what a client leaves out: ids, states, probabilities, reasoning on Chat."""
    echoed = 0
    for seed in range(20):
        history = ClientHistory(seed, frozenset({Feature.PARALLEL_CALLS}), turns=12, wire=wire)
        sent = play(history)
        for one, two in pairwise(sent):
            known = [bare(message) for message in listed(wire, two.json)]
            assert all(bare(message) in known for message in one.answered)
            echoed += len(one.answered)
    assert echoed > 200


def bare(message):
    left_out = {"id", "status", "reasoning_content"}
    kept = {key: value for key, value in message.items() if key not in left_out and value}
    if kept.get("role") == "assistant":
        kept.pop("type", None)
        kept["content"] = text(message)
    return kept


def test_ids_stand_on_all_items_or_on_the_providers_or_on_none(play):
    habits = Counter()
    for seed in range(30):
        history = ClientHistory(seed, frozenset({Feature.RESUME}), turns=20, wire=RESPONSES)
        items = play(history)[-1].json["input"]
        named = {
            has_id: {role(i) for i in items if ("id" in i) == has_id} for has_id in (True, False)
        }
        habits["all" if not named[False] else "none" if not named[True] else "given"] += 1
        assert not named[True] & named[False]
    assert min(habits["all"], habits["given"], habits["none"]) > 2


def test_with_a_previous_response_the_input_is_only_what_is_new():
    deltas = 0
    features = frozenset({Feature.PREVIOUS_RESPONSE, Feature.RESUME, Feature.PARALLEL_CALLS})
    for seed in range(8):
        history = ClientHistory(seed, features, wire=RESPONSES)
        ids, whole = [], []
        while (body := history.request()) is not None:
            body = json.loads(body)
            assert body["store"] is True
            if history.request_kind == "delta":
                deltas += 1
                assert body["previous_response_id"] == ids[-1]
                assert {role(item) for item in body["input"]} <= {"tool", "user"}
                whole += body["input"]
            else:
                assert "previous_response_id" not in body
                assert all(item in body["input"] for item in whole)
                whole = []
            history.answer(lambda *_: "sealed")
            ids.append(history.response_id)
        assert len(set(ids)) == len(ids)
    assert deltas > 30


def test_a_compaction_item_stands_for_everything_before_it(play):
    features = frozenset({Feature.COMPACTION_ITEMS})
    asked, inline = 0, 0
    for seed in range(12):
        for one, two in pairwise(play(ClientHistory(seed, features, wire=RESPONSES))):
            first = one.answered[0]
            if first["type"] != "compaction":
                continue
            asked, inline = asked + (one.kind == "side"), inline + (one.kind == "main")
            assert bare(two.json["input"][0]) == bare(first)
            assert not two.appended
            made = len(one.answered)
            assert {role(i) for i in two.json["input"][made:]} <= {"tool", "user"}
    assert asked > 3
    assert inline > 1


def test_resumed_clients_add_a_null_field_to_old_reasoning(play):
    marked, gained = 0, 0
    for seed in range(30):
        sent = play(ClientHistory(seed, frozenset({Feature.RESUME}), wire=RESPONSES))
        for one, two in pairwise(sent):
            new = [item for item in two.json["input"] if item.get("type") == "reasoning"]
            marked += any("content" in item for item in new)
            old = [item for item in one.json["input"] if item.get("type") == "reasoning"]
            gained += any(
                "content" in b and "content" not in a for a, b in zip(old, new, strict=False)
            )
            assert all(item.get("content") is None for item in new)
            assert two.appended
    assert marked > 50
    assert gained > 5


def test_reasoning_left_by_cut_streams_stays_until_the_client_was_refused_for_it():
    """Some stand in a row, as several tries leave them."""
    longest, refused = 0, Counter()
    for seed in range(40):
        history = ClientHistory(seed, frozenset({Feature.ORPHAN_THINKING}), wire=RESPONSES)
        while (body := history.request()) is not None:
            kinds = [item.get("type") for item in json.loads(body)["input"]]
            orphans = [
                place
                for place, kind in enumerate(kinds)
                if kind == "reasoning" and kinds[place + 1 : place + 2] in ([], ["reasoning"])
            ]
            assert bool(orphans) == (history.broken == "orphan")
            refused[history.broken] += 1
            longest = max(longest, sum(two - one == 1 for one, two in pairwise(orphans)) + 1)
            if not history.broken or refused["orphan"] % 3:
                history.answer(lambda *_: "sealed")
    assert longest >= 3
    assert refused["orphan"] > 20
    assert refused[""] > 1_000


def test_seals_are_asked_for_in_order_with_what_stands_before_them():
    history = ClientHistory(
        4, frozenset({Feature.INTERLEAVED_THINKING, Feature.COMPACTION_ITEMS}), wire=RESPONSES
    )
    count = 0
    while history.request() is not None:
        seals = []

        def mint(text, before, seals=seals):
            seals.append((f"sealed {len(seals)} {len(text)}", before))
            return seals[-1][0]

        answered = history.answer(mint)
        sealed = [
            (item["encrypted_content"], n)
            for n, item in enumerate(answered)
            if "encrypted_content" in item
        ]
        assert [seal for seal, _ in seals] == [seal for seal, _ in sealed]
        assert all(
            before == answered[:n] for (_, before), (_, n) in zip(seals, sealed, strict=True)
        )
        count += len(seals) > 1
    assert count > 5


def test_chat_models_show_their_reasoning_or_hide_it(play):
    shown = Counter()
    for seed in range(40):
        history = ClientHistory(seed, frozenset(), turns=6, wire=CHAT)
        answers = [request.answered[0] for request in play(history)]
        thinks = [("reasoning_content" in answer) for answer in answers]
        if history.model == "deepseek-chat-v4":
            assert all(thinks)
        elif history.model != "qwen3-coder":
            assert not any(thinks)
        shown[history.model] += 1
    assert len(shown) == 4


def test_mistrals_call_ids_have_nine_characters(play):
    history = ClientHistory(1, frozenset(), "mistral-large", turns=6, wire=CHAT)
    calls = [m["tool_call_id"] for m in play(history)[-1].json["messages"] if m["role"] == "tool"]
    assert calls
    assert all(re.fullmatch("[a-z0-9]{9}", call) for call in calls)


@pytest.mark.parametrize("wire", [CHAT, RESPONSES])
def test_headers_name_the_session_and_hold_no_credentials(play, wire):
    named = Counter()
    for seed in range(30):
        history = ClientHistory(seed, turns=1, wire=wire)
        play(history)
        assert history.headers["content-type"] == "application/json"
        assert not history.headers.keys() & {"authorization", "x-api-key", "cookie"}
        named.update(history.headers.keys())
    assert 10 < max(named[name] for name in ("x-session-id", "session-id")) < 30
