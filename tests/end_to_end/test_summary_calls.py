"""An agent works on behind summaries: real sockets, and every call of the bill accounted for."""

import asyncio
import json

import pytest

from cuesta.core.usage import Usage
from cuesta.dialects.registry import DIALECTS
from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.proxy.app import Proxy
from cuesta.proxy.options import ProxyOptions
from cuesta.store.memory import MemoryStore
from cuesta.strategies.names import ASKING
from cuesta.testing.agent import ScriptedAgent
from cuesta.testing.job import repair_job
from cuesta.testing.simulator import ListScript, Simulator, first_user_text
from cuesta.testing.workspace import Workspace

THRESHOLD = 30_000
WORDS = "A short answer beside the conversation."
"""What the simulator answers to whoever shows no tools."""


async def repair(strategy):
    job = repair_job()
    store = MemoryStore()
    taps = {name: dialect.usage_tap for name, dialect in DIALECTS.items()}
    simulator = Simulator(ListScript(job.steps))
    async with simulator:
        options = ProxyOptions(upstream=simulator.url, port=0)
        compaction = CompactionOptions(strategy=strategy, threshold=THRESHOLD)
        proxy = Proxy(Engine(compaction), store, options, taps)
        await proxy.start()
        try:
            with Workspace() as workspace:
                agent = ScriptedAgent(
                    f"http://127.0.0.1:{proxy.port}", workspace, job.task, job.interjections
                )
                result = await agent.run(lambda _: None)
        finally:
            await proxy.stop()
    return simulator, store, result


def is_question(call):
    return first_user_text(call.body).startswith("You are asked to sum up")


def shown(simulator, words):
    """Tell of each of the agent's own requests whether these words stand in it."""
    return [words in json.dumps(c.body) for c in simulator.calls if not is_question(c)]


@pytest.mark.parametrize("strategy", sorted(ASKING))
def test_every_summary_is_billed_and_counted(strategy):
    simulator, store, result = asyncio.run(repair(strategy))
    assert result.finished
    assert not result.errors
    assert simulator.invalid == 0
    questions = [call for call in simulator.calls if is_question(call)]
    asked = [event for event in store.events(1000) if event.asked is not None]
    assert len(questions) == len(asked) > 1
    assert not any("tools" in call.body for call in questions)
    assert sum((e.asked for e in asked), Usage()) == sum((c.usage for c in questions), Usage())
    paid = sum((call.usage for call in simulator.calls if call.usage), Usage())
    assert store.totals().account.paid == paid
    (sums,) = store.totals().to_dict()["models"].values()
    assert Usage(**sums["usage"]) == paid
    assert sum(shown(simulator, WORDS)) >= len(questions)
