"""What a body holds on each wire, compared and checked without any of the product's own code."""

import json

WIRES = ("anthropic", "openai_chat", "openai_responses")
LISTED = {"anthropic": "messages", "openai_chat": "messages", "openai_responses": "input"}
FIXED = {
    "anthropic": ("system", "tools"),
    "openai_chat": ("tools",),
    "openai_responses": ("instructions", "tools"),
}
ANSWERED_BY = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "tool_search_call": "tool_search_output",
}
SERVED = {"web_search_call", "file_search_call", "code_interpreter_call", "mcp_call"}
MADE_BY_MODEL = {"message", "future_block", *ANSWERED_BY, *SERVED}


def strict_json(body):
    def unique(pairs):
        keys = [key for key, _ in pairs]
        assert len(keys) == len(set(keys))
        return dict(pairs)

    parsed = json.loads(body, object_pairs_hook=unique)
    json.dumps(parsed, ensure_ascii=False).encode()
    return parsed


def listed(wire, body):
    """The messages or items of a body."""
    return body[LISTED[wire]]


def blocks_of(message):
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def normal(wire, message):
    """A message without what a client may change in it from one request to the next."""
    plain = {key: value for key, value in message.items() if value is not None}
    if wire == "openai_responses":
        plain.setdefault("type", "message")
    text = "input_text" if wire == "openai_responses" else "text"
    for key in ("content", "output"):
        if isinstance(plain.get(key), str):
            plain[key] = [{"type": text, "text": plain[key]}]
        if isinstance(plain.get(key), list):
            plain[key] = [unmarked(part) for part in plain[key]]
    return plain


def unmarked(part):
    return {key: value for key, value in part.items() if key != "cache_control"}


def extends(before, after):
    """Tell whether `after` is `before` plus a suffix, the last message of `before` grown."""
    if len(after) < len(before) or after[: len(before) - 1] != before[:-1]:
        return False
    old, new = before[-1], after[len(before) - 1]
    if old == new:
        return True
    grown = new["content"][: len(old["content"])]
    return old["role"] == "user" and {**new, "content": grown} == old


def check_anthropic(body):
    """Every call has its result in the run that opens the very next message, and none twice."""
    messages = body["messages"]
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


def check_chat(body):
    """Tool messages stand in one run behind the message that called them, one for each call."""
    open_calls = []
    seen = []
    for message in body["messages"]:
        role = message["role"]
        if role == "tool":
            open_calls.remove(message["tool_call_id"])
            assert isinstance(message["content"], str | list)
            continue
        assert not open_calls
        calls = message.get("tool_calls", [])
        assert role == "assistant" or not calls
        open_calls = [call["id"] for call in calls]
        seen += open_calls
        assert all(isinstance(json.loads(c["function"]["arguments"]), dict) for c in calls)
        assert message.get("content") or calls
        assert message.get("reasoning_content") != ""
    assert not open_calls
    assert len(seen) == len(set(seen))
    assert body["messages"][-1]["role"] != "assistant"


def check_responses(body, *, broken=""):
    """Calls and outputs pair one to one, and reasoning has something of the model's behind it."""
    if isinstance(body["input"], str):
        assert body["input"]
        return
    items = [{"type": "message", **item} for item in body["input"]]
    delta = "previous_response_id" in body
    open_calls = {}
    calls = set()
    ids = [item["id"] for item in items if "id" in item]
    assert len(ids) == len(set(ids))
    for place, item in enumerate(items):
        kind = item["type"]
        if kind in ANSWERED_BY.values():
            assert delta or open_calls.pop(item["call_id"]) == kind
            continue
        made = kind in {*ANSWERED_BY, *SERVED, "reasoning"} or item.get("role") == "assistant"
        assert made or not open_calls
        if kind in ANSWERED_BY:
            assert item["call_id"] not in calls
            calls.add(item["call_id"])
            open_calls[item["call_id"]] = ANSWERED_BY[kind]
        elif kind == "reasoning" and not broken:
            after = items[place + 1]
            assert after["type"] in MADE_BY_MODEL
            assert after.get("role", "assistant") == "assistant"
            assert item["encrypted_content"]
        elif kind == "compaction":
            assert not open_calls
        elif kind == "compaction_trigger":
            assert place == len(items) - 1
        elif kind == "message":
            assert item["content"]
    assert not open_calls


CHECKS = {"anthropic": check_anthropic, "openai_chat": check_chat}


def check(wire, request):
    """Check one request of a history, whatever it is for."""
    body = strict_json(request.body)
    if wire == "openai_responses":
        check_responses(body, broken=request.broken)
    else:
        CHECKS[wire](body)
