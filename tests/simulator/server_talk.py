"""Talking to the simulator over HTTP, for the tests of its server."""

import asyncio
import contextlib
import json
import zlib

import aiohttp
import brotli
import zstandard

from cuesta.testing.simulator import (
    ListScript,
    Simulator,
    Step,
    ToolCall,
)

KEY = {"x-api-key": "sk-secret"}
TOOLS = [{"name": "bash", "input_schema": {"type": "object"}}]
LOOK = Step(thinking="I should look.", text="I look.", calls=(ToolCall("bash", {"command": "ls"}),))
READ = Step(calls=(ToolCall("bash", {"command": "cat a"}), ToolCall("bash", {"command": "cat ü"})))
SCRIPT = ListScript([LOOK, READ, LOOK], last_words="It is done.")
DECODERS = {
    "zstd": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
    "br": brotli.decompress,
    "gzip": lambda data: zlib.decompressobj(wbits=31).decompress(data),
    "deflate": zlib.decompress,
    "identity": bytes,
}


def ask(words="do it", **more):
    return {
        "model": "claude-opus-5-5",
        "max_tokens": 4000,
        "messages": [{"role": "user", "content": words}],
        "tools": TOOLS,
        **more,
    }


def continued(body, content, **more):
    calls = [block["id"] for block in content if block["type"] == "tool_use"]
    results = [{"type": "tool_result", "tool_use_id": name, "content": "out"} for name in calls]
    answer = [
        {"role": "assistant", "content": content},
        {"role": "user", "content": results or "go on"},
    ]
    return {**body, "messages": [*body["messages"], *answer], **more}


def run(main):
    async def bounded():
        async with asyncio.timeout(60):
            return await main()

    return asyncio.run(bounded())


@contextlib.asynccontextmanager
async def serving(script=SCRIPT, conditions=None, **options):
    async with (
        Simulator(script, conditions, **options) as simulator,
        aiohttp.ClientSession(auto_decompress=False) as session,
    ):
        yield simulator, session


async def post(simulator, session, body, path="/v1/messages", **headers):
    sent = headers.pop("data", None) or json.dumps(body).encode()
    headers = {"accept-encoding": "identity", **KEY, **headers}
    async with session.post(simulator.url + path, data=sent, headers=headers) as response:
        return response, await response.read()


async def post_json(simulator, session, body, **more):
    response, data = await post(simulator, session, body, **more)
    return response.status, json.loads(data)


def events(data):
    pairs = [part.split("\n", 1) for part in data.decode().strip().split("\n\n")]
    found = [(head.removeprefix("event: "), json.loads(rest[6:])) for head, rest in pairs]
    assert all(name == event["type"] for name, event in found)
    return [event for _, event in found]


def assembled(stream):
    """Put a stream together as a client does."""
    content = []
    for event in stream:
        if event["type"] == "content_block_start":
            content.append({**event["content_block"], "partial": ""})
        elif event["type"] == "content_block_delta":
            block, delta = content[event["index"]], event["delta"]
            field = {"input_json_delta": "partial_json", "signature_delta": "signature"}.get(
                delta["type"], delta["type"].removesuffix("_delta")
            )
            target = "partial" if field == "partial_json" else field
            block[target] += delta[field]
    for block in content:
        partial = block.pop("partial")
        if block["type"] == "tool_use":
            block["input"] = json.loads(partial)
    return content


async def until(condition):
    deadline = asyncio.get_running_loop().time() + 10
    while not condition():
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(0.005)
