"""The parts that figures rest on: conversations, prices, verdicts, and reading of answers."""

import json
import os
import time

import pytest

from benchmarks.client import AnswerError, calling, sizes_out, stream
from benchmarks.conversations import Conversation, steady_bodies, tiny_body
from benchmarks.cost import _common, _prompt_text, _sent, _uncompacted
from benchmarks.plan import Budget
from benchmarks.report import Goal, percentile, ratios
from benchmarks.servers import Server, upstream
from cuesta.testing.simulator.judge import Judge


def test_conversations_are_valid_at_every_size():
    judge = Judge()
    talk = Conversation(5)
    for _ in range(60):
        refusal = judge.verdict(talk.body(), {}, counting=False).refusal
        assert refusal is None, refusal
        talk.grow()


def test_a_conversation_only_grows_and_only_its_marker_moves():
    talk = Conversation(5, thinking=True)
    before = json.loads(talk.body())
    for _ in range(60):
        talk.grow()
        body = talk.body()
        now = json.loads(body)
        marks = [m for m in now["messages"] if "cache_control" in json.dumps(m)]
        assert marks == now["messages"][-1:]
        assert _prompt_text(now).startswith(_prompt_text(before))
        before = now
    assert abs(len(body) - talk.size) < 100


def test_another_seed_is_another_conversation():
    texts = [json.loads(tiny_body(seed))["messages"][0] for seed in range(20)]
    assert len({json.dumps(text) for text in texts}) == 20
    assert Conversation(3).body() == Conversation(3).body()


def test_steady_bodies_keep_their_size_and_are_never_the_same():
    following = steady_bodies(1, 50_000)
    bodies = [b"".join(following()) for _ in range(40)]
    assert all(json.loads(body)["messages"] for body in bodies)
    assert len(set(bodies)) == 40
    assert all(50_000 < len(body) < 150_000 for body in bodies)


@pytest.mark.parametrize(
    ("a", "b", "length"), [("", "x", 0), ("abc", "abd", 2), ("ab", "abcd", 2), ("x" * 99, "", 0)]
)
def test_the_common_prefix(a, b, length):
    assert _common(a, b) == length


def test_an_untouched_conversation_is_priced_the_same_both_ways():
    budget = Budget(1_000_000, 4_000, 1.0)
    sent = _sent(budget, 60, 1, lambda body: body)
    assert not any(prompt.shrank for prompt in sent)
    for ours, theirs in zip(sent, _uncompacted(budget, 60, 1), strict=True):
        assert ours.tokens == pytest.approx(theirs.tokens, rel=0.001)
        assert ours.cached == pytest.approx(theirs.cached, rel=0.001)


def test_a_prompt_that_shrinks_keeps_only_its_common_prefix():
    whole = Conversation(1).body()
    talk = json.loads(whole)
    talk["messages"] = [{"role": "user", "content": "short"}]
    bodies = iter([whole, json.dumps(talk).encode()])
    first, second = _sent(Budget(1, 4_000, 1.0), 2, 1, lambda _: next(bodies))
    assert (first.shrank, second.shrank) == (False, True)
    assert first.cached == 0
    assert 0 < second.cached < second.tokens < first.tokens


def test_verdicts():
    assert Goal("x", 4.0, 4.0, at_least=True).verdict == "reached"
    assert Goal("x", 3.9, 4.0, at_least=True).verdict == "NOT reached"
    assert Goal("x", 4.1, 4.0).verdict == "NOT reached"
    assert Goal("x", None, 4.0).verdict == "not measured"
    assert percentile(range(100), 0.99) == 99
    assert ratios([4.0, 9.0], [2.0, 3.0]) == [2.0, 3.0]
    assert ratios([4.0], []) == []


def test_the_upstream_counts_keeps_and_streams():
    with upstream("--keep") as port:
        body = tiny_body(1)
        with calling(port) as caller:
            assert caller.post(body) > 0
            caller.post(b"{}")
            assert caller.get("/-/last") == b"{}"
            assert sizes_out(port) == [len(body), 2]
            with pytest.raises(AnswerError, match="404"):
                caller.get("/nothing")
        seen = stream(port, [body] * 3, 5)
        assert len(seen.first_s) == 3
        assert len(seen.lag_s) == 18
        assert min(seen.lag_s) >= 0
        assert max(seen.first_s) < 5


def test_cpu_and_memory_are_those_of_the_process():
    own = Server("this", 0, os.getpid())
    before, began = own.cpu_s(), time.process_time()
    sum(n * n for n in range(2_000_000))
    assert own.cpu_s() - before == pytest.approx(time.process_time() - began, abs=0.05)
    assert 10 < own.rss_mb() < 100_000
