"""Figures that are known of 500 real trajectories, where they are at hand."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cuesta.core.policy import profile
from cuesta.core.prices import Price
from cuesta.core.usage import Usage
from cuesta.harnesses.saved.files import read_file
from cuesta.lab.cost import RULES, engine, perfect, total
from cuesta.lab.prepared import Prepared, billed, prepare
from cuesta.lab.replay import Replay, replay
from cuesta.store.prices import PAPER, price_book
from cuesta.strategies.cliff import CliffStrategy
from cuesta.strategies.keep_all import KeepAll
from cuesta.trace.session import Session

_ARCHIVE = (
    Path(__file__).resolve().parents[3]
    / "shared/data/sessions/mini-swe-agent/gemini-3-pro-500.tar.zst"
)
_GEMINI = Price(2, 12, 0.2, 2, 2)

pytestmark = pytest.mark.skipif(
    not _ARCHIVE.is_file(), reason="needs the 500 trajectories in ../shared/data"
)


def _read() -> Iterator[Session]:
    for saved in read_file(_ARCHIVE):
        assert not saved.problems
        yield from saved.sessions


@pytest.fixture(scope="module")
def trajectories() -> list[Prepared]:
    return [prepare(session) for session in _read()]


@pytest.fixture(scope="module")
def full(trajectories) -> list[Replay]:
    return [replay(one, KeepAll(), profile("paper")) for one in trajectories]


def _bill(replays: list[Replay]) -> Usage:
    return total([usage for one in replays for usage in perfect(one.steps)])


def test_all_trajectories_are_read_and_every_token_is_counted(trajectories):
    usage = total([billed(one.session) for one in trajectories])
    assert len(trajectories) == 500
    assert sum(len(one.calls) for one in trajectories) == 20_163
    assert (usage.prompt, usage.cache_read) == (333_047_929, 279_065_308)
    assert usage.output == 5_556_752
    assert round(_GEMINI.cost(usage), 2) == 230.46


def test_the_known_prices_of_its_model_are_those():
    pytest.importorskip("genai_prices", reason="genai-prices is not installed (cuesta[lab])")
    assert price_book().price("google/gemini-3-pro-preview") == _GEMINI


def test_replayed_whole_the_prompts_are_as_large_as_billed(trajectories, full):
    calls = [call for one in trajectories for call in one.calls]
    steps = [step for one in full for step in one.steps]
    replayed = sum(step.prompt for step in steps)
    assert abs(replayed / sum(call.usage.prompt for call in calls) - 1) < 0.005
    off = sum(abs(s.prompt - c.usage.prompt) for s, c in zip(steps, calls, strict=True))
    assert off / replayed < 0.005, "nor do errors cancel out"


def test_a_full_run_costs_what_the_paper_says_where_prices_are_its_own(full):
    assert PAPER["glm-5.1"].cost(_bill(full)) / 500 == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize(
    ("threshold", "glm", "kimi"),
    [(32_000, 0.90, 0.91), (16_000, 0.74, 0.77), (8_000, 0.64, 0.69)],
)
def test_algorithm_1_costs_the_share_that_a_prototype_found(
    trajectories, full, threshold, glm, kimi
):
    policy = profile("paper", threshold=threshold)
    compacted = [replay(one, CliffStrategy(), policy) for one in trajectories]
    before, after = _bill(full), _bill(compacted)
    for model, share in (("glm-5.1", glm), ("kimi-k2.6", kimi)):
        price = PAPER[model]
        assert price.cost(after) / price.cost(before) == pytest.approx(share, abs=0.02), model
    kept = total([u for one in compacted for u in engine(one.steps, RULES["vllm"])])
    assert kept.prompt == after.prompt
    assert kept.cache_read > after.cache_read, "the head stays in an engine's cache"
