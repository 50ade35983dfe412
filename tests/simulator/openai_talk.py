"""How a client talks on OpenAI's wires: requests, histories, and streams put together."""

import asyncio
import contextlib
import json

import aiohttp

from cuesta.testing.simulator import Simulator

KEY = {"authorization": "Bearer sk-secret"}
PARAMETERS = {"type": "object", "properties": {}}


async def post(simulator, session, body, path, **headers):
    sent = headers.pop("data", None) or json.dumps(body).encode()
    headers = {"accept-encoding": "identity", **KEY, **headers}
    async with session.post(simulator.url + path, data=sent, headers=headers) as response:
        return response, await response.read()


def data_lines(data):
    """Return the values of a stream's events, the last `[DONE]` as a string."""
    found = []
    for part in data.decode().strip().split("\n\n"):
        line = part.split("\n")[-1].removeprefix("data: ")
        found.append(line if line == "[DONE]" else json.loads(line))
    return found


class ChatTalk:
    """Chat Completions."""

    dialect = "openai_chat"
    path = "/v1/chat/completions"
    tools = ({"type": "function", "function": {"name": "bash", "parameters": PARAMETERS}},)

    def ask(self, words="do it", **more):
        messages = [{"role": "user", "content": words}]
        return {"model": "gpt-5.5", "messages": messages, "tools": list(self.tools), **more}

    def continued(self, body, content, output="out"):
        (message,) = content
        calls = message.get("tool_calls", ())
        results = [{"role": "tool", "tool_call_id": c["id"], "content": output} for c in calls]
        more = results or [{"role": "user", "content": "go on"}]
        return {**body, "messages": [*body["messages"], message, *more]}

    def content(self, answer):
        (choice,) = answer["choices"]
        kept = {"role", "content", "reasoning_content", "tool_calls"}
        return [{k: v for k, v in choice["message"].items() if k in kept}]

    def kinds(self, content):
        (message,) = content
        names = {"reasoning_content": "reasoning", "content": "text"}
        said = [name for key, name in names.items() if message.get(key)]
        return said + ["call"] * len(message.get("tool_calls", ()))

    def assembled(self, data):
        """Put a stream together as a client does."""
        message = {"role": "assistant", "content": None}
        *chunks, done = data_lines(data)
        assert done == "[DONE]"
        for chunk in chunks:
            for choice in chunk["choices"]:
                delta = choice["delta"]
                for key in ("content", "reasoning_content"):
                    if delta.get(key):
                        message[key] = (message.get(key) or "") + delta[key]
                for piece in delta.get("tool_calls", ()):
                    _add(message.setdefault("tool_calls", []), piece)
        return [message]


def _add(calls, piece):
    piece = json.loads(json.dumps(piece))
    index = piece.pop("index")
    if index == len(calls):
        calls.append(piece)
        return
    ((kind, inner),) = piece.items()
    ((member, text),) = inner.items()
    calls[index][kind][member] += text


class ResponsesTalk:
    """Responses, without state on the server."""

    dialect = "openai_responses"
    path = "/v1/responses"
    tools = ({"type": "function", "name": "bash", "parameters": PARAMETERS},)

    def ask(self, words="do it", **more):
        return {
            "model": "gpt-5.5",
            "input": [{"role": "user", "content": words}],
            "tools": list(self.tools),
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "reasoning": {"effort": "low", "summary": "auto"},
            **more,
        }

    def continued(self, body, content, output="out"):
        results = [
            {
                "type": item["type"] + "_output",
                "call_id": item["call_id"],
                "output": output,
            }
            for item in content
            if "call_id" in item
        ]
        more = results or [{"role": "user", "content": "go on"}]
        return {**body, "input": [*body["input"], *content, *more]}

    def content(self, answer):
        return answer["output"]

    def kinds(self, content):
        names = {"message": "text", "function_call": "call"}
        return [names.get(item["type"], item["type"]) for item in content]

    def assembled(self, data):
        """Put a stream together as a client does: deltas into items, which are then checked."""
        items, events = [], data_lines(data)
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        for event in events:
            kind, index = event["type"], event.get("output_index")
            if kind == "response.output_item.added":
                items.append(json.loads(json.dumps(event["item"])))
            elif kind.endswith(".delta"):
                _grow(items[index], event)
            elif kind == "response.output_item.done":
                assert _comparable(items[index]) == _comparable(event["item"])
                items[index] = event["item"]
        assert events[-1]["response"]["output"] == items
        return items


def _grow(item, event):
    kind = event["type"].removesuffix(".delta")
    if kind == "response.output_text":
        _last(item["content"], "output_text")["text"] += event["delta"]
    elif kind == "response.reasoning_summary_text":
        _last(item["summary"], "summary_text")["text"] += event["delta"]
    else:
        item["arguments" if "arguments" in kind else "input"] += event["delta"]


def _last(parts, kind):
    if not parts:
        parts.append({"type": kind, "text": ""})
    return parts[-1]


def _comparable(item):
    """Return an item without what no delta brings."""
    item = {**item, "status": None}
    if item["type"] == "message":
        item["content"] = [{"type": p["type"], "text": p["text"]} for p in item["content"]]
    return item


async def post_json(simulator, session, body, path, **headers):
    response, data = await post(simulator, session, body, path, **headers)
    return response.status, json.loads(data)


@contextlib.asynccontextmanager
async def serving(script, conditions=None, **options):
    async with (
        Simulator(script, conditions, **options) as simulator,
        aiohttp.ClientSession(auto_decompress=False) as session,
    ):
        yield simulator, session


async def until(condition):
    deadline = asyncio.get_running_loop().time() + 10
    while not condition():
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(0.005)


def run(main):
    async def bounded():
        async with asyncio.timeout(60):
            return await main()

    return asyncio.run(bounded())
