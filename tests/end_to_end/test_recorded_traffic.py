"""Live traffic is recorded and replayed: the same bytes left, as the provider itself saw them.

Real sockets, the strict simulator, the scripted agent, every wire, several cliffs.
"""

import asyncio
import dataclasses
import json
from contextlib import asynccontextmanager, closing
from itertools import pairwise

import aiohttp
import pytest
from wire_clients import CHAT, CHECKING, KEYS, MODELS, OTHER, RESPONSES, client_of, script, work

from cuesta.dialects.registry import DIALECTS
from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.exchange.recorder import Recorder
from cuesta.harnesses.saved.base import Problems
from cuesta.harnesses.saved.recordings import Recordings
from cuesta.lab.recorded import replayed
from cuesta.proxy.app import Proxy
from cuesta.proxy.options import ProxyOptions
from cuesta.store.memory import MemoryStore
from cuesta.store.recordings import Recording, read_recordings
from cuesta.testing.agent import ScriptedAgent
from cuesta.testing.job import repair_job
from cuesta.testing.simulator import Conditions, ListScript, Simulator
from cuesta.testing.workspace import Workspace

ROUNDS = 32


@asynccontextmanager
async def recorded(simulator, folder, options, store=None):
    """Give the address of a proxy that records."""
    taps = {name: dialect.usage_tap for name, dialect in DIALECTS.items()}
    where = ProxyOptions(upstream=simulator.url, openai_upstream=simulator.url, port=0)
    with closing(Recording(folder, dataclasses.asdict(options))) as recording:
        recorder = Recorder(Engine(options, seed=7).exchange, recording.keep)
        proxy = Proxy(recorder, store or MemoryStore(), where, taps)
        await proxy.start()
        try:
            yield f"http://127.0.0.1:{proxy.port}"
        finally:
            await proxy.stop()


def held_to_live(folder, simulator):
    """Check a recording's replay against the provider's bytes; return its requests."""
    records = list(read_recordings(folder))
    options = CompactionOptions(**records[0].opened.options)
    replay = list(replayed(records, options))
    assert [body for _, body in replay] == [record.sent for record in records]
    other = replayed(records, dataclasses.replace(options, threshold=2 * options.threshold))
    assert [body for _, body in other] != [record.sent for record in records]
    forms = [form.body or record.body for record in records for form in record.forms]
    assert sorted(forms) == sorted(call.raw for call in simulator.calls)
    return records


def cliffs(records):
    return sum(record.event.new_cliff for record in records)


@pytest.mark.parametrize("model", MODELS)
def test_every_wire(tmp_path, model):
    async def go():
        async with Simulator(script(ROUNDS)) as simulator:
            options = CompactionOptions(threshold=4_000)
            async with recorded(simulator, tmp_path, options) as url:
                client = client_of(model)
                client.say("Look at everything.")
                assert await work(client, url, ROUNDS + 1)
            return simulator, client

    simulator, client = asyncio.run(go())
    records = held_to_live(tmp_path, simulator)
    assert len(records) == ROUNDS + 1
    assert cliffs(records) >= 3
    assert all(record.event.usage is not None for record in records)
    assert b"sk-k" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
    (session,) = sessions(tmp_path)
    answer = [message for message in client.history if message.get("role") == "assistant"][-1]
    before = client.history[: client.history.index(answer)]
    messages = [json.loads(message) for message in session.messages]
    assert messages == before[: len(messages)]
    assert [m for m in before[len(messages) :] if m["type"] != "reasoning"] == []
    assert len(session.calls) == len(records)
    assert session.calls[-1].at == len(messages)
    assert sum(call.hole for call in session.calls) == sum(r.sent != r.body for r in records)


def sessions(folder):
    problems = Problems()
    (path,) = folder.iterdir()
    found = list(Recordings().read(path.read_bytes(), problems))
    assert not problems.counts
    return found


@pytest.mark.parametrize("profile", ["default", "paper"])
def test_several_conversations_at_once(tmp_path, profile):
    async def go():
        async with Simulator(script(ROUNDS)) as simulator:
            options = CompactionOptions(threshold=4_000, profile=profile)
            async with recorded(simulator, tmp_path, options) as url:
                clients = [client_of(model) for model in (CHECKING, OTHER, CHAT, RESPONSES) * 2]
                for number, client in enumerate(clients):
                    client.say(f"Look at everything, {number}.")
                assert all(await asyncio.gather(*(work(c, url, ROUNDS) for c in clients)))
            return simulator

    records = held_to_live(tmp_path, asyncio.run(go()))
    assert len(records) == 8 * ROUNDS
    assert cliffs(records) >= 8 * 2
    assert any(later.began < former.ended for former, later in pairwise(records))
    assert len(sessions(tmp_path)) == 8


@pytest.mark.parametrize(
    ("threshold", "window"), [(9_000, 200_000), (45_000, 26_000)], ids=["cliffs", "refusals"]
)
def test_the_scripted_agent(tmp_path, threshold, window):
    async def go():
        job = repair_job()
        async with Simulator(ListScript(job.steps), Conditions(window=window)) as simulator:
            options = CompactionOptions(threshold=threshold)
            async with recorded(simulator, tmp_path, options) as url:
                with Workspace() as workspace:
                    agent = ScriptedAgent(url, workspace, job.task, job.interjections)
                    assert (await agent.run()).finished
        return simulator

    simulator = asyncio.run(go())
    records = held_to_live(tmp_path, simulator)
    assert cliffs(records) >= (3 if threshold < window else 1)
    refused = sum(form.declined is not None for record in records for form in record.forms)
    assert refused == simulator.overflows
    assert bool(refused) is (threshold > window)
    (session,) = sessions(tmp_path)
    assert [call.usage for call in session.calls] == [record.event.usage for record in records]


def test_a_proxy_that_was_started_again_goes_on_in_another_file(tmp_path):
    async def go():
        options, store = CompactionOptions(threshold=4_000), MemoryStore()
        async with Simulator(script(ROUNDS)) as simulator:
            client = client_of(CHECKING)
            client.say("Look at everything.")
            for _ in range(3):
                async with recorded(simulator, tmp_path, options, store) as url:
                    assert await work(client, url, 10)
            return simulator

    records = held_to_live(tmp_path, asyncio.run(go()))
    assert len({record.opened.process for record in records}) == len(list(tmp_path.iterdir())) == 3
    assert cliffs(records) >= 2


def test_bodies_that_nobody_reads_and_queries_are_not_written_down(tmp_path):
    async def go():
        async with Simulator(script(2)) as simulator:
            recording = recorded(simulator, tmp_path, CompactionOptions())
            async with recording as url, aiohttp.ClientSession() as session:
                login = {"refresh_token": "very-secret"}
                path = "/v1/oauth/token?key=also-secret"
                async with session.post(url + path, json=login, headers=KEYS) as answer:
                    await answer.read()

    asyncio.run(go())
    (path,) = tmp_path.iterdir()
    assert b"secret" not in path.read_bytes()
    (record,) = read_recordings(tmp_path)
    assert (record.came.path, record.came.body, record.sent) == ("/v1/oauth/token", None, b"")
    assert list(replayed([record], CompactionOptions())) == []
