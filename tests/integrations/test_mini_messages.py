"""The model classes of mini-swe-agent, on a stand-in for the package's own class."""

from __future__ import annotations

import copy
import json
from types import SimpleNamespace
from typing import ClassVar

import pytest

from cuesta import CompactionOptions, ConfigError
from cuesta.core.digest import OPENING
from cuesta.exchange.engine import Engine
from cuesta.integrations.mini_messages import Folding
from cuesta.testing.driver import Bench

_MODEL = "gpt-5.5"


_MOST = 120_000
"""Characters that the stand-in's provider takes."""


class _TooLongError(Exception):
    pass


class _Package:
    """Does with messages what the package's model classes do: keeps its settings, sends a list."""

    def __init__(self, **settings):
        self.config = SimpleNamespace(model_name=_MODEL, **settings)
        self.sent = []

    def _query(self, messages, **named):
        self.sent.append((messages, named))
        if len(json.dumps(messages)) > _MOST:
            raise _TooLongError
        return "answer"


class _Model(Folding, _Package):
    harness = "mini-swe-agent-1"
    too_long = (_TooLongError,)


class _ResponsesModel(Folding, _Package):
    dialect = "openai_responses"
    fixed: ClassVar = {"tools": [{"type": "function", "name": "bash", "parameters": {}}]}


def _history(turns):
    messages = [
        {"role": "system", "content": "You write one ```bash block an answer."},
        {"role": "user", "content": "Find the page that is about otters."},
    ]
    for n in range(turns):
        messages += [
            {"role": "assistant", "content": f"THOUGHT: page {n}\n\n```bash\ncat page-{n}\n```"},
            {
                "role": "user",
                "content": "<returncode>0</returncode>\n<output>\n"
                + f"{n} heron\n" * 300
                + "</output>",
            },
        ]
    return messages


def _texts(messages):
    return [message["content"] for message in messages]


def test_what_is_sent_is_what_a_proxy_sends_at_each_step_of_a_job():
    model = _Model(cuesta={"threshold": 8000})
    options = CompactionOptions(threshold=8000, harness="mini-swe-agent-1")
    bench = Bench(Engine(options))
    for turns in range(1, 30):
        history = _history(turns)
        before = copy.deepcopy(history)
        assert model._query(history, temperature=0) == "answer"
        assert history == before
        body = json.dumps({"model": _MODEL, "messages": history}).encode()
        wanted = json.loads(bench.send(body, path="/v1/chat/completions").body)
        messages, named = model.sent[-1]
        assert messages == wanted["messages"]
        assert named == {"temperature": 0}
    assert len(model.record()["cliffs"]) >= 3
    assert sum(OPENING in text for text in _texts(model.sent[-1][0])) == 1


def test_the_record_is_plain_json_and_says_what_was_chosen_and_where_the_cliffs_fell():
    model = _Model(cuesta={"threshold": 8000, "window": 50_000})
    told = model.record()
    assert told["cliffs"] == []
    assert (told["threshold"], told["window"]) == (8000, 0)
    model._query(_history(25))
    told = json.loads(json.dumps(model.record()))
    assert told["options"]["harness"] == "mini-swe-agent-1"
    assert (told["threshold"], told["window"], told["failures"]) == (8000, 50_000, 0)
    assert 0 < told["sent_tokens"] <= 8000
    cuts = [cliff["cut"] for cliff in told["cliffs"]]
    assert cuts == sorted(set(cuts))
    assert all(len(cliff["digest"]) == 64 for cliff in told["cliffs"])


def test_items_of_the_responses_api_are_compacted_as_such():
    model = _ResponsesModel(cuesta={"threshold": 8000})
    items = [{"role": "user", "content": "Find the page."}]
    for n in range(25):
        call = {"type": "function_call", "call_id": f"c{n}", "name": "bash"}
        items.append({**call, "arguments": json.dumps({"command": f"cat page-{n}"})})
        items.append(
            {"type": "function_call_output", "call_id": f"c{n}", "output": "heron\n" * 600}
        )
    model._query(items)
    sent = model.sent[-1][0]
    assert len(sent) < len(items)
    assert OPENING in json.dumps(sent[:2])
    assert sent[-2:] == items[-2:]


class _ToolModel(Folding, _Package):
    fixed: ClassVar = {"tools": [{"type": "function", "function": {"name": "bash"}}]}


def _thoughtful(turns):
    """Return a history of Claude's, with its thinking as LiteLLM carries it."""
    messages = [{"role": "user", "content": "Find the page that is about otters."}]
    for n in range(turns):
        thought = {"type": "thinking", "thinking": f"Page {n} next.", "signature": f"s{n}"}
        call = {"id": f"c{n}", "type": "function"}
        call |= {"function": {"name": "bash", "arguments": json.dumps({"command": f"cat {n}"})}}
        messages += [
            {
                "role": "assistant",
                "content": f"I read page {n}.",
                "tool_calls": [call],
                "thinking_blocks": [thought],
                "reasoning_content": thought["thinking"],
            },
            {"role": "tool", "tool_call_id": f"c{n}", "content": f"{n} heron\n" * 300},
        ]
    return messages


def test_thinking_of_claude_that_was_produced_behind_another_prefix_does_not_go_out():
    model = _ToolModel(cuesta={"threshold": 8000})
    model.config.model_name = "anthropic/claude-opus-5-5"
    for turns in range(1, 30):
        history = _thoughtful(turns)
        model._query(history)
        assert all("thinking_blocks" in m for m in history if m["role"] == "assistant")
        cliffs = model.record()["cliffs"]
        fell = cliffs[-1]["messages"] if cliffs else 0
        bound = {m["tool_calls"][0]["id"] for m in history[:fell] if "tool_calls" in m}
        said = [m for m in model.sent[-1][0] if "tool_calls" in m]
        assert all(
            ("thinking_blocks" in m) == (m["tool_calls"][0]["id"] not in bound) for m in said
        )
    assert len(cliffs) >= 3


def test_what_is_refused_as_too_long_is_sent_in_a_shorter_form():
    model = _Model(cuesta={"threshold": 200_000})
    assert model._query(_history(60)) == "answer"
    sizes = [len(json.dumps(messages)) for messages, _ in model.sent]
    assert sizes[0] > _MOST > sizes[-1]
    assert model.record()["cliffs"][0]["external"]


def test_what_has_no_shorter_form_is_refused_for_good():
    model = _Model(cuesta={"threshold": 8000})
    huge = [{"role": "user", "content": "Read this: " + "heron " * 30_000}]
    with pytest.raises(_TooLongError):
        model._query(huge)
    assert len(model.sent) == 1


def test_what_cannot_be_read_goes_out_as_it_came():
    model = _Model(cuesta={"threshold": 8000})
    odd = [{"role": "exit", "content": "gone"}]
    assert model._query(odd) == "answer"
    assert model.sent[-1][0] == odd
    assert model.record()["failures"] == 1


@pytest.mark.parametrize(
    ("chosen", "error"),
    [
        ({"profile": "no such"}, ConfigError),
        ({"harness": "no such"}, ConfigError),
        ({"no such": 1}, TypeError),
        ({"strategy": "summary"}, ConfigError),
    ],
)
def test_options_that_make_no_sense_are_refused_when_the_model_is_made(chosen, error):
    with pytest.raises(error):
        _Model(cuesta=chosen)
