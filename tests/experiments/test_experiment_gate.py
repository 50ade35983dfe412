"""The proxy before one run tells of every call, the last one too."""

from __future__ import annotations

import json
import urllib.request

from cuesta.cli.gate import open_gate
from cuesta.experiments.running import GateOptions
from cuesta.testing.simulator import ListScript, Simulator, Step

BODY = {
    "model": "claude-opus-4-8",
    "max_tokens": 100,
    "stream": True,
    "messages": [{"role": "user", "content": "Say something."}],
}
KEYS = {"x-api-key": "k", "anthropic-version": "2023-06-01", "content-type": "application/json"}


def ask(url):
    """Ask, and be gone with the last byte."""
    request = urllib.request.Request(f"{url}/v1/messages", json.dumps(BODY).encode(), KEYS)
    with urllib.request.urlopen(request, timeout=30) as answer:
        while b"message_stop" not in answer.readline():
            pass


def test_a_call_whose_answer_has_just_been_read_is_told():
    simulator = Simulator(ListScript([Step(text="Something.")] * 40))
    with simulator.in_thread():
        for _ in range(10):
            options = GateOptions("cliff", 0, "default", 0, 5_000, upstream=simulator.url)
            with open_gate(options) as gate:
                ask(gate.url)
                (event,) = gate.events()
                assert event.usage is not None
                assert gate.events() == [event]
