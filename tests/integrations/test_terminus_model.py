"""What Terminus-2's model is asked; skipped where `harbor` is not installed."""

from __future__ import annotations

import asyncio
import json

import pytest

from cuesta import CompactionOptions
from cuesta.core.digest import OPENING
from cuesta.integrations.base import Adapter

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def model(monkeypatch):
    """Make a model that takes so many characters, and the same one behind an adapter."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    pytest.importorskip("harbor", reason="harbor is not installed")
    from harbor.llms.base import (  # noqa: PLC0415
        BaseLLM,
        ContextLengthExceededError,
        LLMResponse,
    )

    from cuesta.integrations.harbor import _Folding  # noqa: PLC0415

    class Provider(BaseLLM):
        def __init__(self, most):
            super().__init__()
            self.most, self.asked = most, []

        async def call(self, prompt, message_history=(), **named):
            self.asked.append(([*message_history, {"role": "user", "content": prompt}], named))
            if len(json.dumps(self.asked[-1][0])) > self.most:
                raise ContextLengthExceededError
            return LLMResponse(content="{}")

        def get_model_context_limit(self):
            return 200_000

        def get_model_output_limit(self):
            return None

    def make(most, threshold):
        provider = Provider(most)
        options = CompactionOptions(threshold=threshold, harness="terminus-2")
        return provider, _Folding(provider, Adapter(options), "my-model")

    make.error = ContextLengthExceededError
    return make


def _chat(turns):
    messages = [{"role": "user", "content": "You answer with JSON. Fix the bug."}]
    for n in range(turns):
        keys = [{"keystrokes": f"cat {n}\n", "duration": 0.1}]
        said = {"analysis": f"File {n} is next.", "plan": "Read it.", "commands": keys}
        messages.append({"role": "assistant", "content": json.dumps(said)})
        messages.append({"role": "user", "content": "New Terminal Output:\n" + f"line {n}\n" * 300})
    return messages


def _ask(model, messages, **named):
    *history, last = messages
    return asyncio.run(model.call(prompt=last["content"], message_history=history, **named))


def test_a_chat_grows_untouched_and_drops(model):
    provider, folding = model(10**9, 8000)
    for turns in range(1, 30):
        messages = _chat(turns)
        _ask(folding, messages, previous_response_id="r1")
        sent, named = provider.asked[-1]
        assert sent[-1] == messages[-1]
        folded = OPENING in json.dumps(sent)
        assert folded or sent == messages
        assert named == {"previous_response_id": None if folded else "r1"}
    assert folded
    assert folding.get_model_context_limit() == 200_000
    assert folding.most == 10**9


def test_a_chat_that_is_refused_as_too_long_is_sent_in_shorter_forms(model):
    provider, folding = model(30_000, 200_000)
    _ask(folding, _chat(30))
    sizes = [len(json.dumps(sent)) for sent, _ in provider.asked]
    assert sizes[0] > 30_000 >= sizes[-1]


def test_what_has_no_shorter_form_is_refused_as_without_cuesta(model):
    provider, folding = model(10, 8000)
    with pytest.raises(model.error):
        _ask(folding, _chat(0))
    assert len(provider.asked) == 1
