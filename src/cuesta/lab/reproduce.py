"""The paper's tables that need no model, on saved trajectories of mini-swe-agent.

Its runs are not public. Here each recorded trajectory is replayed: with everything kept, and under
Algorithm 1 at the paper's thresholds, and billed at the prices of its Table 9.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from cuesta.core.policy import profile
from cuesta.core.prices import Price
from cuesta.core.usage import Usage
from cuesta.harnesses.saved.files import find, read_file
from cuesta.lab.components import Components, Parts
from cuesta.lab.cost import RULES, engine, perfect, total
from cuesta.lab.prepared import Prepared, billed, prepare
from cuesta.lab.replay import Replay, replay
from cuesta.store.prices import PAPER
from cuesta.strategies.cliff import CliffStrategy
from cuesta.strategies.keep_all import KeepAll
from cuesta.trace.session import Session

HARNESS = "mini-swe-agent"
FULL = 0
THRESHOLDS = (FULL, 32_000, 16_000, 8_000)
"""Tokens above which a cliff falls; `FULL`: nothing is ever dropped."""
MODELS: Mapping[str, str] = MappingProxyType({"GLM 5.1": "glm-5.1", "Kimi K2.6": "kimi-k2.6"})
"""The paper's two main models, by their names in print."""
EXTRA_STEPS = 3
"""Steps that a cliff costs beyond those recorded: to read again what was dropped."""
TAKEN_APART = (FULL, 16_000)
"""Thresholds whose cost is taken apart, as in Table 7."""

PAPER_COST: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {"GLM 5.1": (0.25, 0.20, 0.15, 0.13), "Kimi K2.6": (0.19, 0.18, 0.17, 0.18)}
)
"""Dollars a task on SWE-bench Verified with mini-swe-agent, by threshold (Table 3)."""
PAPER_HITS: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {"GLM 5.1": (0.82, 0.81, 0.84, 0.76), "Kimi K2.6": (0.96, 0.95, 0.92, 0.86)}
)
"""Billed cache hits on the same, by threshold (Table 8)."""
PAPER_SHARES = (0.560, 0.280, 0.136, 0.024)
"""Tool results, tool calls, thoughts, system and task: shares of the context (Table 7)."""
PAPER_PARTS: Mapping[int, tuple[tuple[float, float], ...]] = MappingProxyType(
    {
        FULL: ((0.237, 0.029), (0.127, 0.062), (0.054, 0.030), (0.008, 0.001)),
        16_000: ((0.053, 0.050), (0.012, 0.067), (0.013, 0.062), (0.010, 0.001)),
    }
)
"""Dollars a task of the same four, cached and other (Table 7: GLM 5.1 on Terminal-Bench)."""
PAPER_SUMS: Mapping[int, tuple[float, float]] = MappingProxyType(
    {FULL: (0.427, 0.121), 16_000: (0.087, 0.181)}
)
"""Their sums as printed there, cached and other."""


@dataclass(slots=True)
class Tally:
    """All tasks under one threshold, summed up.

    Attributes:
        calls: Model calls.
        cliffs: Cliffs.
        perfect: Tokens by the paper's model of the cache.
        engine: Tokens by vLLM's.
        again: Tokens of the extra steps that the cliffs cause, each like the mean step of its task,
            by the paper's model.
        prompt: What the prompts are made of.
        cached: What of it was cached, by the paper's model.
        output: What the answers are made of.
    """

    calls: int = 0
    cliffs: int = 0
    perfect: Usage = field(default_factory=Usage)
    engine: Usage = field(default_factory=Usage)
    again: Usage = field(default_factory=Usage)
    prompt: Parts = field(default_factory=Parts)
    cached: Parts = field(default_factory=Parts)
    output: Parts = field(default_factory=Parts)

    def add(self, replayed: Replay) -> list[Usage]:
        """Add one task; return its bills by the paper's model."""
        steps = replayed.steps
        bills = perfect(steps)
        cliffs = len({cliff for cliff in replayed.cliffs if cliff is not None})
        usage = total(bills)
        self.calls += len(steps)
        self.cliffs += cliffs
        self.perfect += usage
        self.engine += total(engine(steps, RULES["vllm"]))
        if steps:
            self.again += _times(usage, EXTRA_STEPS * cliffs / len(steps))
        return bills

    def take_apart(self, components: Components, replayed: Replay, bills: Sequence[Usage]) -> None:
        """Add what one task's prompts and answers are made of."""
        for made in components.steps(replayed, [bill.cache_read for bill in bills]):
            self.prompt += made.prompt
            self.cached += made.cached
            self.output += made.output

    def dollars(self, price: Price) -> list[tuple[float, float]]:
        """Return what each part of `Parts` costs in all: cached, and other."""
        return [
            (
                cached * price.cache_read / 1e6,
                ((prompt - cached) * price.input + output * price.output) / 1e6,
            )
            for prompt, cached, output in zip(
                self.prompt.values, self.cached.values, self.output.values, strict=True
            )
        ]


def _times(usage: Usage, factor: float) -> Usage:
    return Usage(
        round(usage.input * factor),
        round(usage.cache_read * factor),
        output=round(usage.output * factor),
    )


@dataclass(slots=True)
class Reproduction:
    """What came out.

    Attributes:
        tasks: How many trajectories.
        billed: What they were billed when they were recorded.
        crossed: How many of them outgrow each threshold.
        tallies: The sums by threshold.
    """

    tasks: int = 0
    billed: Usage = field(default_factory=Usage)
    crossed: dict[int, int] = field(default_factory=lambda: dict.fromkeys(THRESHOLDS, 0))
    tallies: dict[int, Tally] = field(default_factory=lambda: {t: Tally() for t in THRESHOLDS})

    def add(self, session: Session) -> None:
        """Replay one trajectory under every threshold."""
        prepared = prepare(session)
        components = Components(prepared)
        peak = max(map(prepared.prompt, prepared.calls), default=0)
        self.tasks += 1
        self.billed += billed(session)
        for threshold, tally in self.tallies.items():
            replayed = replay_at(prepared, threshold)
            bills = tally.add(replayed)
            if threshold in TAKEN_APART:
                tally.take_apart(components, replayed, bills)
            self.crossed[threshold] += peak > threshold

    def cost(self, model: str, threshold: int, *, by: str = "perfect") -> float:
        """Return dollars a task.

        Args:
            model: A model's name in print, of `MODELS`.
            threshold: One of `THRESHOLDS`.
            by: `perfect`, `engine`, or `again`: perfect with the extra steps.
        """
        tally = self.tallies[threshold]
        usage = tally.engine if by == "engine" else tally.perfect
        if by == "again":
            usage += tally.again
        return PAPER[MODELS[model]].cost(usage) / max(1, self.tasks)


def replay_at(prepared: Prepared, threshold: int) -> Replay:
    """Replay a trajectory under Algorithm 1, or with everything kept where the threshold is 0."""
    if threshold == FULL:
        return replay(prepared, KeepAll(), profile("paper"))
    return replay(prepared, CliffStrategy(), profile("paper", threshold=threshold))


def reproduce(paths: Iterable[Path]) -> Iterator[Reproduction]:
    """Replay every trajectory of mini-swe-agent under some paths; other files are passed over.

    Yields:
        The same object after each trajectory, so that a caller can show how far it is.
    """
    found = Reproduction()
    for path in find(paths):
        for saved in read_file(path):
            if saved.harness == HARNESS:
                for session in saved.sessions:
                    found.add(session)
                    yield found
