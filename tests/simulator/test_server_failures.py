"""The simulator over HTTP: failures on command, and clients that leave."""

import asyncio
import json
import urllib.error
import urllib.request

import aiohttp
import pytest
from server_talk import (
    KEY,
    SCRIPT,
    ask,
    events,
    post,
    post_json,
    run,
    serving,
    until,
)

from cuesta.testing.simulator import (
    Failure,
    Simulator,
)


def test_status_failures_come_once_each_and_the_retry_gets_the_same_step():
    async def main():
        async with serving() as (simulator, session):
            simulator.fail_next(Failure.status(429, retry_after=1), Failure.status(529))
            _, first = await post(simulator, session, ask())
            second, data = await post(simulator, session, ask())
            status, _ = await post_json(simulator, session, ask())
            steps = [(call.conversation, call.step) for call in simulator.calls]
            return json.loads(first), second, json.loads(data), status, steps, simulator

    first, second, overloaded, status, steps, simulator = run(main)
    assert first["error"]["type"] == "rate_limit_error"
    assert [call.status for call in simulator.calls] == [429, 529, 200]
    assert "retry-after" not in second.headers
    assert overloaded["error"]["type"] == "overloaded_error"
    assert (status, steps) == (200, [(steps[0][0], 0)] * 3)


def test_retry_after_is_sent():
    async def main():
        async with serving() as (simulator, session):
            simulator.fail_next(Failure.status(429, retry_after=1))
            response, _ = await post(simulator, session, ask())
            return response.headers["retry-after"]

    assert run(main) == "1"


@pytest.mark.parametrize("stream", [True, False])
def test_a_cut_breaks_the_connection(stream):
    async def main():
        async with serving() as (simulator, session):
            simulator.fail_next(Failure.cut_after(events=4))
            with pytest.raises(aiohttp.ClientPayloadError):
                await post(simulator, session, ask(stream=stream))
            status, _ = await post_json(simulator, session, ask())
            return status, simulator.calls[0]

    status, call = run(main)
    assert status == 200
    assert (call.status, call.aborted, call.finished) == (200, False, True)


def test_an_error_may_come_inside_of_a_stream():
    async def main():
        async with serving() as (simulator, session):
            simulator.fail_next(Failure.overloaded_in_stream())
            response, data = await post(simulator, session, ask(stream=True))
            return response.status, events(data)

    status, stream = run(main)
    assert status == 200
    assert [event["type"] for event in stream] == ["message_start", "ping", "error"]
    assert stream[-1]["error"]["type"] == "overloaded_error"


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_before_the_first_byte_is_noticed(stream):
    async def main():
        async with serving() as (simulator, session):
            simulator.fail_next(Failure.slow_start(60))
            asking = asyncio.create_task(post(simulator, session, ask(stream=stream)))
            await until(lambda: simulator.calls and simulator.calls[0].usage)
            asking.cancel()
            await until(lambda: simulator.calls[0].aborted)
            return simulator.calls[0].finished

    assert run(main) is True


def test_it_runs_in_a_thread_for_plain_code():
    simulator = Simulator(SCRIPT)
    with simulator.in_thread():
        assert simulator.url.startswith("http://127.0.0.1:")
        request = urllib.request.Request(
            simulator.url + "/v1/messages", json.dumps(ask()).encode(), KEY
        )
        with urllib.request.urlopen(request, timeout=10) as response:
            assert json.load(response)["stop_reason"] == "tool_use"
    assert simulator.url == ""
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(request, timeout=10)
