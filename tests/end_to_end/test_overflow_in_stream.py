"""A provider accepts, begins its stream, and then says that the prompt was too long."""

import asyncio
import json

import aiohttp
import pytest

from cuesta.dialects.registry import DIALECTS
from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.proxy.app import Proxy
from cuesta.proxy.options import ProxyOptions
from cuesta.store.memory import MemoryStore
from cuesta.testing.simulator import Conditions, Failure, ListScript, Simulator, Step

OUTPUT = "a line of output\n" * 200
TURNS = 8


def anthropic():
    messages = [{"role": "user", "content": "the task"}]
    for n in range(TURNS):
        use = {"type": "tool_use", "id": f"toolu_{n}", "name": "bash", "input": {"command": f"{n}"}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": OUTPUT}
        messages.append({"role": "assistant", "content": [use]})
        messages.append({"role": "user", "content": [result]})
    tools = [{"name": "bash", "input_schema": {"type": "object"}}]
    model = "claude-sonnet-4-5"
    return "/v1/messages", {
        "model": model, "max_tokens": 99, "messages": messages, "tools": tools
    }  # fmt: skip


def chat():
    messages = [{"role": "user", "content": "the task"}]
    for n in range(TURNS):
        function = {"name": "bash", "arguments": json.dumps({"command": str(n)})}
        call = {"id": f"call_{n}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"call_{n}", "content": OUTPUT})
    tools = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}]
    bill = {"stream_options": {"include_usage": True}}
    body = {"model": "gpt-5.5", "messages": messages, "tools": tools, **bill}
    return "/v1/chat/completions", body


def responses():
    items = [{"role": "user", "content": "the task"}]
    for n in range(TURNS):
        call = {"call_id": f"call_{n}", "name": "bash", "arguments": json.dumps({"command": n})}
        items.append({"type": "function_call", **call})
        items.append({"type": "function_call_output", "call_id": f"call_{n}", "output": OUTPUT})
    tools = [{"type": "function", "name": "bash", "parameters": {"type": "object"}}]
    return "/v1/responses", {"model": "gpt-5.5", "input": items, "tools": tools}


async def stream(path, body, *failures):
    """Send a request through a proxy; return the simulator, the last event, headers and data."""
    store = MemoryStore()
    taps = {name: dialect.usage_tap for name, dialect in DIALECTS.items()}
    script = ListScript([Step(text="done")])
    async with Simulator(script, Conditions(), encoding="auto") as simulator:
        simulator.fail_next(*failures)
        options = ProxyOptions(upstream=simulator.url, openai_upstream=simulator.url, port=0)
        proxy = Proxy(Engine(CompactionOptions()), store, options, taps)
        await proxy.start()
        try:
            async with aiohttp.ClientSession() as session:
                url = f"http://127.0.0.1:{proxy.port}{path}"
                key = {"x-api-key": "k", "authorization": "Bearer sk-k"}
                async with session.post(url, json={**body, "stream": True}, headers=key) as answer:
                    data = await answer.read()
                    headers = answer.headers
        finally:
            await proxy.stop()
    return simulator, store.events(1)[0], headers, data


@pytest.mark.parametrize("events", [0, 1, 2])
@pytest.mark.parametrize("wire", [anthropic, chat, responses])
def test_the_client_sees_nothing_of_it(wire, events):
    if wire is chat and events > 1:
        events = 1  # the second chunk is the answer's first word
    path, body = wire()
    simulator, event, headers, data = asyncio.run(
        stream(path, body, Failure.overflow_in_stream(events), Failure.overflow_in_stream(events))
    )
    assert b"exceeds the context window" not in data
    assert b"done" in data
    assert len(simulator.calls) == 3
    assert event.refused == 2
    assert event.new_cliff
    assert event.external
    assert event.usage is not None
    assert headers["x-cuesta"].startswith("replace")
    sizes = [len(call.raw) for call in simulator.calls]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("wire", [anthropic, chat, responses])
def test_where_nothing_shorter_is_left_the_stream_goes_on_as_it_came(wire):
    path, body = wire()
    failures = [Failure.overflow_in_stream(1)] * 4
    simulator, event, _, data = asyncio.run(stream(path, body, *failures))
    assert data.count(b"exceeds the context window") >= 1
    assert event.status == 200
    assert event.refused == len(simulator.calls)
