"""A conversation goes on without Cuesta: real sockets, the strict simulator, every wire.

What the trace says is in the way is what the provider then refuses.
"""

import asyncio
from contextlib import asynccontextmanager

import pytest
from wire_clients import CHECKING, MODELS, OTHER, ask, client_of, script, work

from cuesta.dialects.registry import DIALECTS
from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.proxy.app import Proxy
from cuesta.proxy.options import ProxyOptions
from cuesta.store.memory import MemoryStore
from cuesta.testing.simulator import Conditions, Simulator
from cuesta.testing.simulator.thinking import BINDING_BETA
from cuesta.trace.leaving import Obstacles, obstacles

ROUNDS = 32
LARGE, SMALL = 200_000, 9_000
DEMAND = "CRITICAL: Respond with TEXT ONLY. Summarise the conversation."


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
