"""Chat templates of strict families: what they refuse, in their words, and what they make."""

import subprocess
import sys

import pytest

from cuesta.testing.simulator import ChatJudge, Conditions
from cuesta.testing.simulator.chat.templates import render

SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "hi"}
PARTS = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
SAID = {"role": "assistant", "content": "So."}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    ],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "out"}
DEVELOPER = {"role": "developer", "content": "Be brief."}

FIRST = "System message must be at the beginning."
ROLE = "Unexpected message role."
QUERY = "No user query found in messages."
ALTERNATE = (
    "After the optional system message, conversation roles must alternate user and assistant roles "
    "except for tool calls and results."
)
ONLY = "Only user, assistant and tool roles are supported, got "

ROWS = [
    ("qwen", [USER], None),
    ("qwen", [SYSTEM, USER], None),
    ("qwen", [USER, USER], None),
    ("qwen", [SYSTEM, PARTS, CALL, RESULT, SAID, USER], None),
    ("qwen", [USER, SAID], None),
    ("qwen", [USER, SYSTEM], FIRST),
    ("qwen", [SYSTEM, SYSTEM, USER], FIRST),
    ("qwen", [SYSTEM, USER, CALL, RESULT, SYSTEM, USER], FIRST),
    ("qwen", [DEVELOPER, USER], ROLE),
    ("qwen", [SYSTEM], QUERY),
    ("qwen", [SYSTEM, CALL, RESULT], QUERY),
    ("mistral", [USER], None),
    ("mistral", [SYSTEM, USER], None),
    ("mistral", [SYSTEM, PARTS, SAID, USER], None),
    ("mistral", [USER, CALL, RESULT, CALL, RESULT], None),
    ("mistral", [USER, CALL, RESULT, SAID, USER], None),
    ("mistral", [USER, USER], ALTERNATE),
    ("mistral", [SYSTEM, USER, PARTS], ALTERNATE),
    ("mistral", [USER, CALL, RESULT, USER], ALTERNATE),
    ("mistral", [USER, SAID, SAID, USER], ALTERNATE),
    ("mistral", [USER, SAID, CALL, RESULT, SAID, USER], ALTERNATE),
    ("mistral", [SAID, USER], ALTERNATE),
    ("mistral", [SYSTEM, CALL, RESULT, SAID], ALTERNATE),
    ("mistral", [USER, SYSTEM], ONLY + "system."),
    ("mistral", [SYSTEM, SYSTEM, USER], ONLY + "system."),
    ("mistral", [DEVELOPER, USER], ONLY + "developer."),
]


@pytest.mark.parametrize(("family", "messages", "words"), ROWS)
def test_a_template_refuses_what_its_family_refuses(family, messages, words):
    sent = {"model": "local", "messages": messages}
    refusal = ChatJudge(Conditions(template=family)).check(sent)
    assert ChatJudge().check(sent) is None
    if words is None:
        assert refusal is None
    else:
        assert (refusal.rule, refusal.status, refusal.message) == ("template", 400, words)
        assert refusal.body("")["error"]["type"] == "BadRequestError"


def test_a_template_makes_the_prompt():
    sent = {"messages": [SYSTEM, PARTS, CALL, RESULT, SAID, USER]}
    assert render("qwen", sent) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\nhi<|im_end|>\n"
        '<|im_start|>assistant\n\n<tool_call>{"id": "c1", "type": "function", "function": '
        '{"name": "bash", "arguments": "{}"}}</tool_call><|im_end|>\n'
        "<|im_start|>user\nout<|im_end|>\n"
        "<|im_start|>assistant\nSo.<|im_end|>\n"
        "<|im_start|>user\nhi<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    assert render("mistral", sent) == (
        "[SYSTEM_PROMPT]Be brief.[/SYSTEM_PROMPT][INST]hi[/INST]"
        '[TOOL_CALLS]{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '
        '"{}"}}</s>[TOOL_RESULTS]out[/TOOL_RESULTS]So.</s>[INST]hi[/INST]'
    )


def test_a_broken_message_is_refused_before_the_template():
    sent = {"model": "local", "messages": [USER, CALL, USER]}
    assert ChatJudge(Conditions(template="mistral")).check(sent).rule == "pairing"


def test_jinja_is_needed_for_templates_only():
    program = """
import sys
sys.modules["jinja2"] = None
from cuesta.testing.simulator import ChatJudge, Conditions, Simulator, ListScript
assert ChatJudge().check({"model": "m", "messages": [{"role": "user", "content": "x"}]}) is None
Simulator(ListScript([]))
try:
    ChatJudge(Conditions(template="qwen"))
except ModuleNotFoundError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "pip install 'cuesta[testing]'" in done.stdout
