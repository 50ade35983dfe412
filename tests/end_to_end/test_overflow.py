"""An agent works on behind a window smaller than anybody thought: real sockets, real refusals."""

import asyncio

import pytest

from cuesta.dialects.registry import DIALECTS
from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.proxy.app import Proxy
from cuesta.proxy.options import ProxyOptions
from cuesta.store.memory import MemoryStore
from cuesta.testing.agent import ScriptedAgent
from cuesta.testing.job import repair_job
from cuesta.testing.simulator import Conditions, ListScript, Simulator
from cuesta.testing.workspace import Workspace

THRESHOLD = 45_000


async def repair(model, window):
    job = repair_job()
    store = MemoryStore()
    taps = {name: dialect.usage_tap for name, dialect in DIALECTS.items()}
    simulator = Simulator(ListScript(job.steps), Conditions(window=window))
    async with simulator:
        options = ProxyOptions(upstream=simulator.url, port=0)
        proxy = Proxy(Engine(CompactionOptions(threshold=THRESHOLD)), store, options, taps)
        await proxy.start()
        try:
            with Workspace() as workspace:
                agent = ScriptedAgent(
                    f"http://127.0.0.1:{proxy.port}", workspace, job.task, job.interjections,
                    model=model,
                )  # fmt: skip
                result = await agent.run(lambda _: None)
        finally:
            await proxy.stop()
    return simulator, store.events(1000), result


@pytest.mark.parametrize(
    ("model", "window"), [("claude-opus-5-5", 26_000), ("claude-sonnet-4-5", 26_000)]
)
def test_the_agent_never_sees_an_overflow(model, window):
    simulator, events, result = asyncio.run(repair(model, window))
    assert result.finished
    assert not result.errors
    assert simulator.invalid == 0
    assert simulator.overflows > 0
    assert sum(event.refused for event in events) == simulator.overflows
    assert all(event.usage is not None for event in events)
    assert all(event.external for event in events if event.refused)
