"""The wrapper for the SDKs, on a client that has what both of theirs have."""

from __future__ import annotations

import asyncio
import copy
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from cuesta import CompactionOptions, Engine
from cuesta.integrations.base import Adapter
from cuesta.integrations.sdk import wrap
from cuesta.testing.driver import Bench
from cuesta.testing.histories import ClientHistory

_PATHS = {
    "anthropic": "/v1/messages",
    "openai_chat": "/chat/completions",
    "openai_responses": "/responses",
}
_THRESHOLD = 5_000


@dataclass
class _Options:
    method: str
    url: str
    json_data: Any


@dataclass
class _Client:
    timeout: int = 10
    prepared: list[Any] = field(default_factory=list)

    def copy(self, *, timeout: int = 10) -> _Client:
        return type(self)(timeout, self.prepared)

    with_options = copy

    def _prepare_options(self, options: _Options) -> _Options:
        self.prepared.append(options.json_data)
        return options

    def post(self, url: str, body: Any) -> Any:
        return self._prepare_options(_Options("post", url, body)).json_data


class _AsyncClient(_Client):
    async def _prepare_options(self, options: _Options) -> _Options:
        self.prepared.append(options.json_data)
        return options

    async def post(self, url: str, body: Any) -> Any:
        return (await self._prepare_options(_Options("post", url, body))).json_data


def _bodies(wire: str, seed: int) -> list[bytes]:
    history, bodies = ClientHistory(seed, frozenset(), wire=wire, turns=24), []
    while (body := history.request()) is not None:
        bodies.append(body)
        history.answer(lambda text, _: f"sealed {text}")
    return bodies


@pytest.mark.parametrize("wire", _PATHS)
def test_what_goes_out_is_what_the_engine_sends(wire):
    adapter = Adapter(CompactionOptions(threshold=_THRESHOLD))
    client, bench = wrap(_Client(), adapter), Bench(Engine(CompactionOptions(threshold=_THRESHOLD)))
    shorter = 0
    for body in _bodies(wire, 3):
        request = json.loads(body)
        before = copy.deepcopy(request)
        sent = client.post(f"{_PATHS[wire]}?beta=true", request)
        assert request == before
        assert sent == json.loads(bench.send(body, path=_PATHS[wire]).body)
        shorter += sent != request
    assert shorter > 3
    assert adapter.cliffs >= 2
    assert adapter.failures == 0


def test_the_client_keeps_its_type_and_the_given_one_is_left_alone():
    given = _Client()
    wrapped = wrap(given, threshold=_THRESHOLD)
    request = json.loads(_bodies("anthropic", 3)[-1])
    assert type(wrapped) is _Client
    assert wrapped is not given
    assert given.post("/v1/messages", request) is request
    assert wrapped.post("/v1/messages", request) is not request


def test_copies_with_other_options_share_the_adapter():
    adapter = Adapter(CompactionOptions(threshold=_THRESHOLD))
    copied = wrap(_Client(), adapter).with_options(timeout=3).copy(timeout=4)
    request = json.loads(_bodies("anthropic", 3)[-1])
    assert copied.timeout == 4
    assert copied.post("/v1/messages", request) is not request
    assert adapter.cliffs == 1


def test_a_client_that_waits_is_awaited():
    client = wrap(_AsyncClient(), threshold=_THRESHOLD)
    request = json.loads(_bodies("openai_chat", 3)[-1])
    sent = asyncio.run(client.post("/chat/completions", request))
    assert len(sent["messages"]) < len(request["messages"])


def test_counting_is_of_what_would_be_sent_and_remembers_nothing():
    adapter = Adapter(CompactionOptions(threshold=_THRESHOLD))
    client = wrap(_Client(), adapter)
    request = json.loads(_bodies("anthropic", 3)[-1])
    counted = client.post("/v1/messages/count_tokens", request)
    assert adapter.cliffs == 0
    assert client.post("/v1/messages", request) == counted
    assert adapter.cliffs == 1


@pytest.mark.parametrize(
    ("url", "body"),
    [
        ("/embeddings", {"model": "m", "input": "text"}),
        ("/v1/messages", None),
        ("/v1/messages", [1]),
        ("/responses", {"model": "m", "input": "a text and no list"}),
        ("/chat/completions", {"model": "m", "messages": [{"role": "nobody"}]}),
        ("https://elsewhere.example/v1/messages", {"model": "m", "messages": []}),
    ],
)
def test_everything_else_passes_as_it_is(url, body):
    assert wrap(_Client()).post(url, body) is body
