"""What a replay says of the cache: by model, with times, answers and places for markers."""

import json

from cuesta.core.policy import profile
from cuesta.core.usage import Usage
from cuesta.lab.prepared import prepare
from cuesta.lab.replay import Step, replay
from cuesta.strategies.cliff import CliffStrategy
from cuesta.strategies.keep_all import KeepAll
from cuesta.trace.session import Call, Session

_WORDS = "word " * 300


def _session(calls: list[tuple[str, float, int]], *, parallel: int = 1) -> Session:
    """One turn a call: (model, time, thoughts)."""
    messages = [{"role": "user", "content": "the task"}]
    made = []
    for number, (model, time, thoughts) in enumerate(calls):
        made.append(Call(len(messages), model, None, thoughts, time))
        ids = [f"t{number}-{n}" for n in range(parallel)]
        uses = [
            {"type": "tool_use", "id": i, "name": "Bash", "input": {"c": i + _WORDS}} for i in ids
        ]
        told = [{"type": "tool_result", "tool_use_id": i, "content": _WORDS} for i in ids]
        said = {"type": "text", "text": "and"}
        messages += [
            {"role": "assistant", "content": uses},
            {"role": "user", "content": [*told, said]},
        ]
    raw = tuple(json.dumps(message).encode() for message in messages)
    return Session("made up", "one", "anthropic", raw, tuple(made), {"tools": b'["a tool"]'})


def _steps(session: Session) -> tuple[Step, ...]:
    return replay(prepare(session), KeepAll(), profile("paper")).steps


def test_each_model_has_a_cache_of_its_own_that_outlives_the_others_calls():
    one, other, again, last = _steps(
        _session([("a", 10, 0), ("b", 20, 0), ("a", 50, 0), ("b", 51, 0)])
    )
    assert (one.common, other.common) == (0, 0)
    assert (again.common, again.gap) == (one.prompt, 40)
    assert (last.common, last.gap) == (other.prompt, 31)
    assert not any(step.cliff for step in (one, other, again, last))


def test_an_answer_is_found_again_unless_something_was_thought_that_is_not_sent():
    plain = _steps(_session([("a", 0, 0)] * 2))[1]
    assert 0 < plain.answered == _steps(_session([("a", 0, 0)] * 2))[0].output - 1
    assert _steps(_session([("a", 0, 9)] * 2))[1].answered == 0
    assert plain.gap == 0, "nobody knows when"


def test_a_run_of_calls_is_one_place_for_a_marker_and_one_of_results_too():
    for parallel in (1, 5):
        _, second = _steps(_session([("a", 0, 0)] * 2, parallel=parallel))
        assert second.behind == 3


def test_behind_a_cliff_the_head_is_in_common_and_the_rest_lies_behind_it():
    session = _session([("a", 0, 0)] * 12)
    prepared = prepare(session)
    replayed = replay(prepared, CliffStrategy(), profile("paper", threshold=4_000))
    fell = [n for n, step in enumerate(replayed.steps) if step.cliff]
    assert fell
    for n in fell:
        step = replayed.steps[n]
        assert step.common == prepared.fixed + prepared.sums[1]
        assert step.fixed == prepared.fixed > 0
        assert step.behind == 1 + 3 * 3, "the digest and three turns"
        assert replayed.layouts[n][0] == ((-2, ""), prepared.fixed)
        assert replayed.cliffs[n].digest in replayed.digests


def test_a_bill_tells_the_output_and_an_answer_without_one_is_as_large_as_its_messages():
    session = _session([("a", 0, 0)])
    assert _steps(session)[0].output == prepare(session).answer(session.calls[0])
    billed = Call(1, "a", Usage(50, output=7))
    assert (
        _steps(Session("made up", "one", "anthropic", session.messages, (billed,)))[0].output == 7
    )
