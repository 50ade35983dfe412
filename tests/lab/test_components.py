"""What prompts, bills and digests are made of."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.policy import profile
from cuesta.core.usage import Usage
from cuesta.lab.components import NAMES, Components, Parts
from cuesta.lab.cost import engine, perfect
from cuesta.lab.prepared import prepare
from cuesta.lab.replay import replay
from cuesta.strategies.cliff import CliffStrategy
from cuesta.trace.session import Call, Session


def _raw(*messages: dict[str, object]) -> tuple[bytes, ...]:
    return tuple(json.dumps(message).encode() for message in messages)


def _turn(number: int, *, result: int, thought: int = 20, said: str = "") -> list[dict]:
    blocks = [{"type": "text", "text": "hm " * thought}] if thought else []
    call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "make"}}
    answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "out " * result}
    words = [{"type": "text", "text": said}] if said else []
    return [
        {"role": "assistant", "content": [*blocks, call]},
        {"role": "user", "content": [answer, *words]},
    ]


@st.composite
def _sessions(draw):
    turns = draw(st.integers(1, 14))
    messages = [{"role": "user", "content": "the task " * 50}]
    calls = []
    for number in range(turns):
        output = draw(st.integers(1, 300))
        usage = Usage(input=0, output=output) if draw(st.booleans()) else None
        usage = None if usage is None else Usage(100 * len(messages), output=output)
        thoughts = draw(st.sampled_from([0, 7])) if usage else 0
        calls.append(Call(len(messages), "glm-5.1", usage, thoughts))
        messages += _turn(
            number,
            result=draw(st.integers(0, 900)),
            thought=draw(st.sampled_from([0, 5, 60])),
            said=draw(st.sampled_from(["", "", "now this"])),
        )
    return Session("made up", "one", "anthropic", _raw(*messages), tuple(calls))


@given(_sessions(), st.sampled_from([1_500, 3_000]), st.sampled_from([perfect, engine]))
def test_the_parts_of_a_step_add_up_to_it(session, threshold, cache):
    prepared = prepare(session)
    replayed = replay(prepared, CliffStrategy(), profile("paper", threshold=threshold))
    reads = [bill.cache_read for bill in cache(replayed.steps)]
    made = list(Components(prepared).steps(replayed, reads))
    assert len(made) == len(replayed.steps)
    for step, read, parts in zip(replayed.steps, reads, made, strict=True):
        assert parts.prompt.total == pytest.approx(step.prompt, abs=1e-6)
        assert parts.cached.total == pytest.approx(read, abs=1e-6)
        assert parts.output.total == pytest.approx(step.output, abs=1e-6)
        for some in (parts.prompt, parts.cached, parts.output):
            assert min(some.values) >= -1e-6
        for cached, whole in zip(parts.cached.values, parts.prompt.values, strict=True):
            assert cached <= whole + 1e-6


def test_each_block_counts_as_what_it_is():
    messages = [
        {"role": "user", "content": "the task"},
        *_turn(1, result=100, thought=30, said="and then this"),
        {"role": "assistant", "content": "done"},
    ]
    calls = (Call(1, "glm-5.1"), Call(3, "glm-5.1"))
    members = {"system": b'"be good"', "tools": b"[]"}
    prepared = prepare(Session("made up", "one", "anthropic", _raw(*messages), calls, members))
    replayed = replay(prepared, CliffStrategy(), profile("paper"))
    first, second = Components(prepared).steps(replayed, [0, 0])
    assert first.prompt == Parts(task=replayed.steps[0].prompt)
    assert first.output.results == first.output.user == 0
    assert min(first.output.thoughts, first.output.calls) > 10
    grown = second.prompt - first.prompt
    assert grown.task == 0
    assert grown.results > grown.user > 0
    assert (grown.thoughts, grown.calls) == (first.output.thoughts, first.output.calls)


def test_a_digest_is_made_of_what_it_quotes():
    turns = [
        _turn(n, result=2_000 if n < 8 else 1, said="mind the gap" * (n == 2)) for n in range(12)
    ]
    messages = [{"role": "user", "content": "the task"}, *(m for turn in turns for m in turn)]
    calls = tuple(Call(1 + 2 * n, "glm-5.1") for n in range(13))
    prepared = prepare(Session("made up", "one", "anthropic", _raw(*messages), calls))
    replayed = replay(prepared, CliffStrategy(), profile("paper", threshold=12_000))
    made = list(Components(prepared).steps(replayed, [0] * len(replayed.steps)))
    fell = [n for n, step in enumerate(replayed.steps) if step.cliff]
    assert fell
    for n in fell:
        before, after = made[n - 1].prompt, made[n].prompt
        assert after.results < before.results - 4_000, "long results are dropped"
        assert after.calls > 0
        assert after.thoughts > 0
        assert after.task == before.task
    assert made[fell[0]].prompt.user > 0, "what the user said is kept"


def test_parts_are_added_taken_away_and_scaled():
    parts = Parts(1, 2, 3, 4, 0)
    assert NAMES == ("results", "calls", "thoughts", "task", "user")
    assert (parts + parts - parts, parts.total) == (parts, 10)
    assert parts.scaled(5) == Parts(0.5, 1, 1.5, 2, 0)
    assert Parts().scaled(5) == Parts(thoughts=5)
