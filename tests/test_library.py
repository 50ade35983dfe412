"""`from cuesta import Compactor`: the library in three lines, and the lazy package."""

import subprocess
import sys

import pytest

import cuesta
from cuesta import CompactionOptions, Compactor, ConfigError, RequestError


def history(turns):
    messages = [{"role": "user", "content": "Fix the bug."}]
    for n in range(turns):
        call = {"type": "tool_use", "id": f"t{n}", "name": "bash", "input": {"command": f"cat {n}"}}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"line {n}\n" * 200}
        messages += [
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ]
    return messages


def test_a_short_history_comes_back_as_it_is():
    messages = history(3)
    assert Compactor("claude-sonnet-4-5").compact(messages) == messages


def test_a_long_history_comes_back_as_head_digest_and_tail():
    messages = history(40)
    compactor = Compactor("claude-sonnet-4-5", CompactionOptions(threshold=8000))
    sent = compactor.compact(messages)
    assert sent[0] == messages[0]
    assert sent[-6:] == messages[-6:]
    assert len(sent) < len(messages)
    assert "record-of-earlier-work" in sent[1]["content"][0]["text"]
    assert compactor.reason.startswith("replace")


def test_it_is_append_only_between_cliffs():
    compactor = Compactor("claude-opus-5-5", CompactionOptions(threshold=8000))
    before, drops = [], 0
    for turns in range(1, 60):
        sent = compactor.compact(history(turns))
        if sent[: len(before)] != before:
            drops += 1
        before = sent
    assert 2 < drops < 20


def test_the_package_is_lazy():
    code = "import sys, cuesta; print(sorted(m for m in sys.modules if m.startswith('cuesta')))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "['cuesta']"


def test_every_public_name_loads():
    assert cuesta.__all__ == sorted(cuesta.__all__, key=lambda n: (not n.isupper(), n))
    for name in cuesta.__all__:
        assert getattr(cuesta, name) is not None


def test_what_an_earlier_call_returned_is_no_history():
    compactor = Compactor("claude-sonnet-4-5", CompactionOptions(threshold=8000))
    sent = compactor.compact(history(40))
    with pytest.raises(RequestError, match="original history"):
        compactor.compact(sent)


def test_an_unknown_dialect_is_named():
    with pytest.raises(ConfigError, match="choose one of anthropic"):
        Compactor("gpt-5.5", dialect="openai")


def test_the_responses_wire_has_items():
    items = [{"role": "user", "content": "Fix the bug."}]
    for n in range(60):
        items += [
            {
                "type": "function_call",
                "call_id": f"c{n}",
                "name": "sh",
                "arguments": '{"cmd":"ls"}',
            },
            {"type": "function_call_output", "call_id": f"c{n}", "output": "line\n" * 200},
        ]
    options = CompactionOptions(threshold=8000)
    sent = Compactor("gpt-5.5", options, dialect="openai_responses").compact(items)
    assert sent[0] == items[0]
    assert sent[-6:] == items[-6:]
    assert len(sent) < len(items)
