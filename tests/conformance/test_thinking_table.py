"""The decision table of docs/thinking.md, row by row, against the strict simulator."""

import json

import pytest

from cuesta.core.models import checks_prefixes, read_model
from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.testing.driver import Bench
from cuesta.testing.simulator import Conditions, Judge

CHECKING = ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-1",
            "us.anthropic.claude-opus-5-5-v1:0", "claude-newfamily-6")  # fmt: skip
OTHERS = ("claude-opus-5", "claude-opus-4-8", "claude-sonnet-4-5", "claude-haiku-4-5-20251001")
THINKING = {
    "adaptive": {"type": "adaptive"},
    "enabled": {"type": "enabled", "budget_tokens": 4000},
    "off": None,
}


class Conversation:
    """An agent's tool loop, judged as the client sends it and as Cuesta does."""

    def __init__(self, model, thinking, conditions=None):
        self.model, self.thinking = model, thinking
        self.bench = Bench(Engine(CompactionOptions(threshold=4000)))
        self.client, self.provider = Judge(conditions), Judge(conditions)
        self.messages = [{"role": "user", "content": "Fix the bug."}]

    def request(self):
        """Send the history; return what was sent in its place and both verdicts."""
        body = {"model": self.model, "max_tokens": 9000, "messages": self.messages}
        body |= {"tools": [{"name": "bash", "input_schema": {"type": "object"}}]}
        if THINKING[self.thinking]:
            body["thinking"] = THINKING[self.thinking]
        driven = self.bench.send(json.dumps(body).encode())
        sent = json.loads(driven.body)
        return body, sent, self.client.verdict(body), self.provider.verdict(sent), driven

    def answer(self, body, sent, verdict, blocks):
        prefix = verdict.request.prefix
        if self.thinking != "off":
            signature = self.client.signatures.mint(prefix, "hm")
            blocks = [{"type": "thinking", "thinking": "hm", "signature": signature}, *blocks]
        self.client.answered(body, blocks)
        self.provider.answered(sent, blocks)
        self.messages.append({"role": "assistant", "content": blocks})

    def turn(self, number, last=False):
        body, sent, raw, out, driven = self.request()
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "bash", "input": {"n": number}}
        result = {
            "type": "tool_result",
            "tool_use_id": f"toolu_{number}",
            "content": "x = 1\n" * 300,
        }
        if raw.request is not None:
            done = {"type": "text", "text": "Done."}
            self.answer(body, sent, raw, [done if last else call])
            said = [{"type": "text", "text": "Now the next one."}] if last else [result]
            self.messages.append({"role": "user", "content": said})
        return raw.refusal, out.refusal, out.transformations, driven


def thoughts(messages):
    """Count the thinking blocks of each assistant message."""
    return [
        sum(block["type"] == "thinking" for block in message["content"])
        for message in messages
        if message["role"] == "assistant"
    ]


@pytest.mark.parametrize("open_loop", [True, False], ids=["open loop", "new prompt"])
@pytest.mark.parametrize("thinking", list(THINKING))
@pytest.mark.parametrize("model", CHECKING + OTHERS)
def test_thinking_of_kept_turns(model, thinking, open_loop):
    talk = Conversation(model, thinking)
    checks = checks_prefixes(read_model(model))
    assert checks == (model in CHECKING)
    cliffs = number = 0
    while cliffs < 3:
        number += 1
        refusal, sent_refusal, _, driven = talk.turn(number, last=not open_loop and number % 3 == 0)
        assert sent_refusal is None or refusal is not None, sent_refusal
        if driven.event.new_cliff:
            cliffs += 1
            kept = thoughts(json.loads(driven.body)["messages"])
            wanted = 0 if checks or thinking == "off" else 1
            assert kept == [wanted] * 3
        assert number < 200
    after = talk.turn(number + 1)[3]
    if thinking != "off":
        newest = thoughts(json.loads(after.body)["messages"])[-1]
        assert newest == 1, "thinking produced behind the cliff stays"


@pytest.mark.parametrize("model", CHECKING[:4])
def test_where_the_provider_drops_in_silence_it_finds_nothing_to_drop(model):
    talk = Conversation(model, "adaptive", Conditions(mismatch="drop"))
    cliffs = number = 0
    while cliffs < 3:
        number += 1
        refusal, sent_refusal, dropped, driven = talk.turn(number)
        assert refusal is None
        assert sent_refusal is None
        assert dropped == []
        cliffs += driven.event.new_cliff
