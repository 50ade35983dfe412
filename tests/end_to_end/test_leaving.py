"""A conversation goes on without Cuesta: real sockets, the strict simulator, every wire.

What the trace says is in the way is what the provider then refuses.
"""

import asyncio
import json
from contextlib import asynccontextmanager

import aiohttp
import pytest

from cuesta.dialects.registry import DIALECTS
from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.proxy.app import Proxy
from cuesta.proxy.options import ProxyOptions
from cuesta.store.memory import MemoryStore
from cuesta.testing.simulator import Conditions, ListScript, Simulator, Step, ToolCall
from cuesta.testing.simulator.thinking import BINDING_BETA
from cuesta.trace.leaving import Obstacles, obstacles

CHECKING = "claude-opus-5-5"
OTHER = "claude-opus-4-8"
CHAT = "my-model"
RESPONSES = "gpt-5.5"
MODELS = (CHECKING, OTHER, CHAT, RESPONSES)
ROUNDS = 32
LARGE, SMALL = 200_000, 9_000
KEYS = {"x-api-key": "k", "authorization": "Bearer sk-k", "anthropic-version": "2023-06-01"}
OUTPUT = "a line of output\n" * 100
SUMMARY = "This session is being continued. Summary: the work goes on as the user asked."
DEMAND = "CRITICAL: Respond with TEXT ONLY. Summarise the conversation."
PARAMETERS = {"type": "object", "properties": {"command": {"type": "string"}}}


def script(rounds=ROUNDS):
    """Rounds of work, an end, and more work for whoever goes on."""
    looking = [
        Step(thinking=f"Hm {n}.", calls=(ToolCall("bash", {"command": f"look {n}"}),))
        for n in range(rounds)
    ]
    return ListScript([*looking, Step(thinking="So.", text="Done."), *looking])


class Anthropic:
    """A client of Anthropic Messages, with its whole history."""

    path = "/v1/messages"

    def __init__(self, model):
        self.model = model
        self.history = []
        self.fields = {}
        self.headers = {}

    def say(self, text):
        self.history.append({"role": "user", "content": text})

    def body(self):
        tools = [{"name": "bash", "input_schema": PARAMETERS}]
        thinking = {"type": "adaptive", **self.fields}
        body = {"model": self.model, "max_tokens": 9_000, "tools": tools, "thinking": thinking}
        return {**body, "messages": self.history}

    def take(self, answer):
        """Keep an answer; return whether there was more to do, and do it."""
        content = answer["content"]
        self.history.append({"role": "assistant", "content": content})
        results = [
            {"type": "tool_result", "tool_use_id": block["id"], "content": OUTPUT}
            for block in content
            if block["type"] == "tool_use"
        ]
        if results:
            self.history.append({"role": "user", "content": results})
        return bool(results)

    def without_thinking(self):
        for message in self.history:
            if message["role"] == "assistant":
                message["content"] = [b for b in message["content"] if b["type"] != "thinking"]

    def shorten(self):
        """Put a summary in the place of all but the last answer, as Claude Code does."""
        last = next(m for m in reversed(self.history) if m["role"] == "assistant")
        self.history = [{"role": "user", "content": SUMMARY}, last]


class Chat(Anthropic):
    """A client of Chat Completions."""

    path = "/v1/chat/completions"

    def body(self):
        tools = [{"type": "function", "function": {"name": "bash", "parameters": PARAMETERS}}]
        return {"model": self.model, "tools": tools, "messages": self.history}

    def take(self, answer):
        message = answer["choices"][0]["message"]
        self.history.append(message)
        calls = message.get("tool_calls") or ()
        self.history += [
            {"role": "tool", "tool_call_id": call["id"], "content": OUTPUT} for call in calls
        ]
        return bool(calls)


class Responses(Anthropic):
    """A client of Responses that keeps its history itself, reasoning sealed."""

    path = "/v1/responses"

    def body(self):
        tools = [{"type": "function", "name": "bash", "parameters": PARAMETERS}]
        include = ["reasoning.encrypted_content"]
        body = {"model": self.model, "tools": tools, "store": False, "include": include}
        return {**body, "input": self.history}

    def take(self, answer):
        self.history += answer["output"]
        calls = [item for item in answer["output"] if item["type"] == "function_call"]
        self.history += [
            {"type": "function_call_output", "call_id": call["call_id"], "output": OUTPUT}
            for call in calls
        ]
        return bool(calls)

    def shorten(self):
        """Put a summary in the place of everything, as Codex does."""
        self.history = [{"role": "user", "content": SUMMARY}]


def client_of(model):
    return {CHAT: Chat, RESPONSES: Responses}.get(model, Anthropic)(model)


async def ask(client, url):
    """Send the history; return the answer, or None where it is refused."""
    async with aiohttp.ClientSession() as session:
        headers = {**KEYS, **client.headers}
        async with session.post(url + client.path, json=client.body(), headers=headers) as answer:
            data = json.loads(await answer.read())
            return data if answer.status == 200 else None


async def work(client, url, rounds):
    """Let the client work for some rounds at most; return whether nothing was refused."""
    for _ in range(rounds):
        answer = await ask(client, url)
        if answer is None:
            return False
        if not client.take(answer):
            break
    return True


@asynccontextmanager
async def behind_cuesta(model, window, rounds=ROUNDS):
    """Give a client at the end of its task, the provider, the proxy's address and its store."""
    store = MemoryStore()
    taps = {name: dialect.usage_tap for name, dialect in DIALECTS.items()}
    async with Simulator(script(rounds), Conditions(window=window)) as simulator:
        options = ProxyOptions(upstream=simulator.url, openai_upstream=simulator.url, port=0)
        engine = Engine(CompactionOptions(threshold=4_000, window=window))
        proxy = Proxy(engine, store, options, taps)
        await proxy.start()
        try:
            client = client_of(model)
            client.say("Look at everything.")
            url = f"http://127.0.0.1:{proxy.port}"
            assert await work(client, url, rounds + 1)
            assert store.events(1)[0].cliffs >= (3 if rounds == ROUNDS else 0)
            assert simulator.invalid == simulator.overflows == 0
            yield client, simulator, url, store
        finally:
            await proxy.stop()


async def summarise(client, url):
    """Have the history summarised behind Cuesta, and go on with the summary."""
    client.say(DEMAND)
    assert await ask(client, url) is not None
    client.history.pop()
    client.shorten()


def rules(simulator):
    return [call.refusal.rule for call in simulator.calls if call.refusal]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("window", [LARGE, SMALL])
def test_leaving_at_once_fails_exactly_where_the_trace_says_so(model, window):
    async def leave():
        async with behind_cuesta(model, window) as (client, simulator, _, store):
            told = obstacles(store.events(1_000), window=window)
            client.say("Go on.")
            went_on = await work(client, simulator.url, 6)
            return told, went_on, rules(simulator)

    told, went_on, refused = asyncio.run(leave())
    assert told.thinking is (model == CHECKING)
    assert bool(told.tokens) is (window == SMALL)
    assert went_on is (told == Obstacles())
    expected = ["prefix"] * told.thinking or ["window"] * bool(told.tokens)
    assert refused == expected


@pytest.mark.parametrize("model", MODELS)
def test_leaving_works_once_the_client_has_had_its_history_summarised(model):
    async def leave():
        async with behind_cuesta(model, SMALL) as (client, simulator, url, store):
            await summarise(client, url)
            told = obstacles(store.events(1_000), window=SMALL)
            if model == CHECKING:
                client.without_thinking()
            client.say("Go on.")
            return told, await work(client, simulator.url, 6), rules(simulator)

    assert asyncio.run(leave()) == (Obstacles(), True, [])


@pytest.mark.parametrize("model", MODELS)
def test_it_works_as_well_some_turns_after_the_summary(model):
    async def leave():
        async with behind_cuesta(model, SMALL) as (client, simulator, url, store):
            await summarise(client, url)
            if model == CHECKING:
                client.without_thinking()
            client.say("Go on.")
            assert await work(client, url, 2)
            told = obstacles(store.events(1_000), window=SMALL)
            return told, await work(client, simulator.url, 6), rules(simulator)

    assert asyncio.run(leave()) == (Obstacles(), True, [])


@pytest.mark.parametrize("model", [CHECKING, OTHER])
@pytest.mark.parametrize("through", [True, False])
def test_a_last_answer_kept_with_its_thinking_is_refused_with_or_without_cuesta(model, through):
    """Claude Code keeps it so; it takes the thinking out itself when it is told."""

    async def leave():
        async with behind_cuesta(model, LARGE, rounds=2) as (client, simulator, url, _):
            await summarise(client, url if through else simulator.url)
            client.say("Go on.")
            went_on = await work(client, simulator.url, 3)
            if not went_on:
                client.without_thinking()
                assert await work(client, simulator.url, 3)
            return went_on, rules(simulator)

    assert asyncio.run(leave()) == ((False, ["prefix"]) if model == CHECKING else (True, []))


def test_a_client_that_leaves_thinking_out_can_leave_at_once():
    async def leave():
        async with behind_cuesta(CHECKING, LARGE) as (client, simulator, _, _store):
            client.without_thinking()
            client.say("Go on.")
            return await work(client, simulator.url, 6)

    assert asyncio.run(leave())


def test_a_client_that_has_thinking_dropped_can_leave_at_once():
    """Pi asks for it with every request."""

    async def leave():
        async with behind_cuesta(CHECKING, LARGE) as (client, simulator, _, _store):
            client.fields = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}
            client.headers = {"anthropic-beta": BINDING_BETA}
            client.say("Go on.")
            return await work(client, simulator.url, 6)

    assert asyncio.run(leave())
