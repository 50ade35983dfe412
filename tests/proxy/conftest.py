"""Every wire test runs on uvloop and on plain asyncio."""

from __future__ import annotations

import asyncio

import pytest
import uvloop


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request):
    """Return a function that runs a coroutine on a new event loop."""
    factory = uvloop.new_event_loop if request.param == "uvloop" else asyncio.new_event_loop

    def run_on_loop(coroutine):
        with asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(coroutine)

    return run_on_loop
