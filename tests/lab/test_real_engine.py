"""The lab's engine model, held token for token to what llama.cpp's server finds in its cache."""

import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from cuesta.core.errors import ConfigError
from cuesta.core.policy import profile
from cuesta.lab.cost import RULES, CacheRules, engine, perfect
from cuesta.lab.prepared import Prepared, prepare
from cuesta.lab.replay import Piece, Replay, Step, pieces, replay
from cuesta.strategies.cliff import CliffStrategy
from cuesta.strategies.keep_all import KeepAll
from cuesta.testing.engine import (
    MARKS,
    Completion,
    EngineError,
    EngineServer,
    write_model,
)  # fmt: skip
from cuesta.trace.session import Call, Session

_TURNS = 40
_POLICY = profile("paper", threshold=1_600)
_LLAMA = RULES["llama.cpp"]
_STRATEGIES = {"keep-all": KeepAll(), "cliff": CliffStrategy()}
_ANSWERS = ["canned", "gen"]
_MISSING = "the engine is not installed: pip install 'cuesta[engine]'"


def _words(dice: random.Random, count: int) -> str:
    return " ".join("".join(dice.choices("abcdefgh", k=6)) for _ in range(count))


def _session() -> Session:
    """A made-up session of `_TURNS` calls that grows to about four thresholds."""
    dice = random.Random(7)
    messages: list[dict[str, object]] = [
        {"role": "system", "content": _words(dice, 60)},
        {"role": "user", "content": _words(dice, 30)},
    ]
    for turn in range(_TURNS):
        name = f"call_{turn}"
        arguments = json.dumps({"path": _words(dice, 1)})
        called = {"name": "read", "arguments": arguments}
        messages += [
            {
                "role": "assistant",
                "content": _words(dice, dice.randint(0, 3)),
                "tool_calls": [{"id": name, "type": "function", "function": called}],
            },
            {"role": "tool", "tool_call_id": name, "content": _words(dice, dice.randint(30, 90))},
        ]
    calls = tuple(Call(at, "made-up") for at in range(2, len(messages), 2))
    raw = tuple(json.dumps(message).encode() for message in messages)
    tools = json.dumps([{"type": "function", "function": {"name": "read"}}]).encode()
    return Session("made up", "one", "openai_chat", raw, calls, {"tools": tools}, whole=True)


@dataclass
class _Tokens:
    """Gives each piece of a prompt its tokens: as many as the lab says, with a mark in front."""

    answers: dict[int, Sequence[int]] = field(default_factory=dict)
    marks: dict[tuple[int, str], int] = field(default_factory=dict)

    def of(self, piece: Piece) -> Sequence[int]:
        what, size = piece
        if what[0] in self.answers:
            return self.answers[what[0]]
        mark = self.marks.setdefault(what, MARKS[len(self.marks)])
        return [mark, *random.Random(mark).choices(range(256), k=size - 1)]


@dataclass(frozen=True)
class _Seen:
    """A replay, and what the engine reported about each of its calls."""

    replay: Replay
    steps: Sequence[Step]
    reports: Sequence[Completion]

    @property
    def cached(self) -> list[int]:
        return [report.cached for report in self.reports]

    def modelled(self, rules: CacheRules = _LLAMA) -> list[int]:
        return [bill.cache_read for bill in engine(self.steps, rules)]


def _play(prepared: Prepared, replayed: Replay, server: EngineServer, answers: str) -> _Seen:
    """Send a replay's prompts to the engine.

    With `gen` the history holds the engine's own answers. With `canned` it holds recorded ones, as
    a real replay does, so that nothing of what the engine answered is found again.
    """
    tokens, reports = _Tokens(), []
    for step, cliff in zip(replayed.steps, replayed.cliffs, strict=True):
        call = prepared.calls[step.call]
        transcript = prepared.until(call.at).to_first_human()
        made_of = pieces(prepared, transcript, cliff)
        prompt = [token for piece in made_of for token in tokens.of(piece)]
        assert len(prompt) == step.prompt
        report = server.complete(prompt, step.output)
        assert len(report.answer) == step.output
        reports.append(report)
        if answers == "gen":
            tokens.answers[call.at] = report.answer
    steps = replayed.steps
    if answers == "canned":
        steps = [replace(step, answered=0) for step in steps]
    return _Seen(replayed, steps, reports)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    pytest.importorskip("xllamacpp", reason=_MISSING)
    pytest.importorskip("gguf", reason=_MISSING)
    return write_model(tmp_path_factory.mktemp("engine") / "tiny.gguf")


@pytest.fixture(scope="module")
def seen(model) -> dict[tuple[str, str], _Seen]:
    """Every strategy with every kind of answers, each on an engine that has seen nothing."""
    prepared, found = prepare(_session()), {}
    for name, strategy in _STRATEGIES.items():
        replayed = replay(prepared, strategy, _POLICY)
        for answers in _ANSWERS:
            with EngineServer(model, context=8_192) as server:
                found[name, answers] = _play(prepared, replayed, server, answers)
    return found


@pytest.mark.parametrize("answers", _ANSWERS)
@pytest.mark.parametrize("strategy", _STRATEGIES)
def test_the_engine_finds_cached_what_the_model_says_token_for_token(seen, strategy, answers):
    one = seen[strategy, answers]
    assert len(one.reports) == _TURNS
    assert one.cached == one.modelled()
    processed = [report.processed for report in one.reports]
    assert processed == [bill.input for bill in engine(one.steps, _LLAMA)]


def test_the_replay_has_growth_and_cliffs_to_tell_models_apart(seen):
    whole, cut = seen["keep-all", "canned"], seen["cliff", "canned"]
    assert max(step.prompt for step in whole.steps) > 3 * _POLICY.threshold
    cliffs = [step for step in cut.steps if step.cliff]
    assert len(cliffs) >= 3
    assert all(0 < step.common < step.prompt for step in cliffs)


@pytest.mark.parametrize("strategy", _STRATEGIES)
@pytest.mark.parametrize(
    ("answers", "rules"),
    [
        ("canned", replace(_LLAMA, block=128)),
        ("canned", replace(_LLAMA, block=16)),
        ("canned", replace(_LLAMA, minimum=1_024)),
        ("gen", RULES["vllm-cpu"]),
        ("gen", replace(_LLAMA, answers=False)),
    ],
)
def test_rules_of_other_caches_do_not_fit_this_engine(seen, strategy, answers, rules):
    one = seen[strategy, answers]
    assert one.cached != one.modelled(rules)


def test_the_papers_cache_differs_by_the_head_at_each_cliff_and_nowhere_else(seen):
    one = seen["cliff", "canned"]
    paper = [bill.cache_read for bill in perfect(one.steps)]
    for step, found, said in zip(one.steps, one.cached, paper, strict=True):
        assert found - said == (step.common if step.cliff else 0)


def test_an_engine_ends_with_its_block_and_says_what_it_used(model):
    with EngineServer(model, context=2_048) as server:
        before = server.cpu_s()
        server.complete([7] * 1_000, 1)
        assert server.cpu_s() > before > 0
        process = server._process
    assert process.poll() == 0


def test_a_refusal_and_a_file_that_is_no_model_are_told_in_the_engines_words(model, tmp_path):
    with EngineServer(model, context=1_024) as server:
        with pytest.raises(EngineError, match="context"):
            server.complete([1] * 5_000, 1)
        assert server.complete([1, 2, 3], 1).processed == 3
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF, but for the rest")
    with pytest.raises(EngineError, match=r"broken\.gguf"), EngineServer(broken):
        pass


def test_a_model_is_made_of_the_same_bytes_each_time(model, tmp_path):
    assert write_model(tmp_path / "again.gguf").read_bytes() == model.read_bytes()


@pytest.mark.parametrize("module", ["xllamacpp", "gguf"])
def test_without_the_engine_the_extra_is_named(monkeypatch, tmp_path, module):
    monkeypatch.setitem(sys.modules, module, None)
    start = {"xllamacpp": EngineServer, "gguf": write_model}[module]
    with pytest.raises(ConfigError, match=r"cuesta\[engine\]"):
        start(tmp_path / "tiny.gguf")
