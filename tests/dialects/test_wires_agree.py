"""One conversation, written on every wire: each dialect reads the same of it."""

import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.compact import Source, fold
from cuesta.core.digest import render
from cuesta.core.meter import COMMON
from cuesta.core.policy import profile
from cuesta.core.transcript import outline, read_transcript
from cuesta.dialects.registry import DIALECTS
from cuesta.protocols.lexicon import HarnessLexicon, speaks_human

TASK = "Fix the bug."


@dataclass(frozen=True)
class Step:
    """What the model said and called, what came back, and what a person said behind it."""

    words: str
    tool: str
    arguments: dict[str, str]
    output: str
    said: str


_LINES = st.text("abc é🚀<`\n", min_size=1, max_size=120).filter(str.strip)
_MAYBE = st.just("") | _LINES
STEPS = st.lists(
    st.builds(
        Step,
        words=_MAYBE,
        tool=st.sampled_from(["bash", "read", "frobnicate"]),
        arguments=st.dictionaries(st.sampled_from(["command", "path", "x"]), _LINES, max_size=3),
        output=_MAYBE,
        said=_MAYBE,
    ),
    min_size=1,
    max_size=6,
)


def anthropic(steps):
    yield {"role": "user", "content": TASK}
    for number, step in enumerate(steps):
        name = f"call_{number}"
        call = {"type": "tool_use", "id": name, "name": step.tool, "input": step.arguments}
        result = {"type": "tool_result", "tool_use_id": name, "content": step.output}
        words, said = ([{"type": "text", "text": t}] * bool(t) for t in (step.words, step.said))
        yield {"role": "assistant", "content": [*words, call]}
        yield {"role": "user", "content": [result, *said]}


def openai_chat(steps):
    yield {"role": "user", "content": TASK}
    for number, step in enumerate(steps):
        name = f"call_{number}"
        asked = {"name": step.tool, "arguments": json.dumps(step.arguments)}
        call = {"id": name, "type": "function", "function": asked}
        yield {"role": "assistant", "content": step.words or None, "tool_calls": [call]}
        yield {"role": "tool", "tool_call_id": name, "content": step.output}
        if step.said:
            yield {"role": "user", "content": step.said}


def openai_responses(steps):
    yield {"type": "message", "role": "user", "content": [{"type": "input_text", "text": TASK}]}
    for number, step in enumerate(steps):
        name = f"call_{number}"
        if step.words:
            part = {"type": "output_text", "text": step.words}
            yield {"type": "message", "role": "assistant", "content": [part]}
        asked = json.dumps(step.arguments)
        yield {"type": "function_call", "call_id": name, "name": step.tool, "arguments": asked}
        yield {"type": "function_call_output", "call_id": name, "output": step.output}
        if step.said:
            part = {"type": "input_text", "text": step.said}
            yield {"type": "message", "role": "user", "content": [part]}


WIRES = {f.__name__: f for f in (anthropic, openai_chat, openai_responses)}


def record(wire, steps):
    """Fold a whole conversation as a wire's dialect reads it; return how it divides as well."""
    raw = [json.dumps(message).encode() for message in WIRES[wire](steps)]
    read = [DIALECTS[wire].parse(message) for message in raw]
    messages = [message for message, _ in read]
    outlines = [outline(m, digest, COMMON, human=speaks_human(m)) for m, digest in read]
    transcript = read_transcript(outlines)
    turns = [(turn.closed, turn.human) for turn in transcript.turns]
    source = Source(transcript, messages.__getitem__, HarnessLexicon())
    digest = fold(source, len(steps) // 2, len(turns), profile("default"), 32_000)
    return turns, render(digest, COMMON).text


def test_every_wire_is_written():
    assert WIRES.keys() == DIALECTS.keys()


@pytest.mark.parametrize("wire", [wire for wire in WIRES if wire != "anthropic"])
@given(steps=STEPS)
def test_the_same_conversation_leaves_the_same_record(wire, steps):
    assert record(wire, steps) == record("anthropic", steps)
