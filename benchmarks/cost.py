"""What a long conversation costs against no compaction, with the true common prefix as the cache.

The workload is that of the reference figures: 400 turns of about 1,030 tokens, a fixed part (system
prompt and tools) of 14,200 or 3,600 tokens, thresholds of 100K, 32K and 16K tokens. Each turn is
one request. A prompt is what the upstream receives: tools, system, messages, in this order, without
cache markers; tokens are characters / 4. The cached part of a prompt is its longest common prefix
with the prompt before it, whatever became of it.

Two price lists:
- `reference`: input 0.95, cached 0.16, output 4.00 dollars a million, output included. The figures
  to reach were made with these.
- `write`: cached 0.1 times and the rest 1.25 times the input price, output left out.

Cuesta's engine runs in this process, as a replay does; cliffcompaction runs as a proxy, and what
the upstream received is priced. Each counts tokens by its own estimate.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import mean
from typing import Any

from benchmarks.client import calling
from benchmarks.conversations import Conversation
from benchmarks.plan import Budget, Plan
from benchmarks.report import Goal, Result
from benchmarks.servers import CLIFF, CUESTA, House, upstream
from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.testing.driver import Bench

_INPUT, _CACHED, _OUTPUT = 0.95, 0.16, 4.0
_READ, _WRITE = 0.1, 1.25
_CHARACTERS_A_TOKEN = 4
_SEEDS = (11, 12)
_TIGHT = 1.5
"""A threshold below this many times the fixed part leaves so little room that cliffcompaction
compacts on four requests in ten."""
_THRASHES = 0.2
"""A share of requests that compact which would be thrashing."""


@dataclass(frozen=True, slots=True)
class _Prompt:
    """One request as it is priced, in tokens."""

    cached: float
    rest: float
    output: float
    shrank: bool

    @property
    def tokens(self) -> float:
        return self.cached + self.rest


def measure(house: House, plan: Plan) -> Result:
    """Price all thresholds with all strategies."""
    result = Result(
        f"Cost against no compaction, {plan.cost_turns} turns",
        (
            "threshold", "fixed part", "proxy", "reference prices", "write prices, input only",
            "cached", "mean context", "largest", "requests that compact",
        ),
    )  # fmt: skip
    names = [name for name in (CLIFF, CUESTA) if name in house.names()]
    for budget in plan.budgets:
        plain = [p for seed in _SEEDS for p in _uncompacted(budget, plan.cost_turns, seed)]
        bills = {"none": _bill(plain, plain)}
        for name in names:
            with _sender(house, name, budget) as send:
                prompts = [p for seed in _SEEDS for p in _sent(budget, plan.cost_turns, seed, send)]
            bills[name] = _bill(prompts, plain)
        for name, bill in bills.items():
            result.rows.append(
                (f"{budget.threshold // 1000}K", _fixed(budget), name, *bill.cells())
            )
        if CUESTA in bills:
            result.goals += _goals(budget, bills[CUESTA], bills.get(CLIFF))
    return result


@dataclass(frozen=True, slots=True)
class _Bill:
    """What a strategy costs, as parts of what no compaction costs, and how it got there."""

    reference: float
    written: float
    cached: float
    mean: float
    largest: float
    compacting: float

    def cells(self) -> tuple[str, ...]:
        """Return it as a row of the table."""
        shares = (f"{self.reference:.3f}", f"{self.written:.3f}", f"{self.cached:.1%}")
        contexts = (f"{tokens / 1000:.1f}K" for tokens in (self.mean, self.largest))
        return (*shares, *contexts, f"{self.compacting:.1%}")


def _bill(prompts: list[_Prompt], plain: list[_Prompt]) -> _Bill:
    tokens = [p.tokens for p in prompts]
    return _Bill(
        sum(map(_reference, prompts)) / sum(map(_reference, plain)),
        sum(map(_written, prompts)) / sum(map(_written, plain)),
        sum(p.cached for p in prompts) / sum(tokens),
        mean(tokens),
        max(tokens),
        mean(p.shrank for p in prompts),
    )


def _goals(budget: Budget, ours: _Bill, theirs: _Bill | None) -> list[Goal]:
    """Compare with the reference figure, and with what cliffcompaction costs on the same bodies."""
    where = f"{budget.threshold // 1000}K, fixed part {_fixed(budget)}"
    relative = ours.reference / theirs.reference if theirs else None
    goals = [
        Goal(f"cost against no compaction, {where}", ours.reference, budget.reach),
        Goal(f"cost against cliff on the same turns, {where} (x)", relative, 1.0),
    ]
    if budget.threshold < _TIGHT * budget.fixed / _CHARACTERS_A_TOKEN:
        what = f"share of requests that compact, {where}"
        goals.append(Goal(what, ours.compacting, _THRASHES))
    return goals


def _fixed(budget: Budget) -> str:
    return f"{budget.fixed / _CHARACTERS_A_TOKEN / 1000:.1f}K"


def _reference(prompt: _Prompt) -> float:
    return prompt.rest * _INPUT + prompt.cached * _CACHED + prompt.output * _OUTPUT


def _written(prompt: _Prompt) -> float:
    return prompt.rest * _WRITE + prompt.cached * _READ


def _bodies(budget: Budget, turns: int, seed: int) -> Iterator[tuple[bytes, float]]:
    """Yield a conversation's bodies, and the tokens of the answer that came before each."""
    talk = Conversation(seed, fixed=budget.fixed)
    for _ in range(turns):
        talk.grow()
        yield talk.body(), talk.last_step_bytes / _CHARACTERS_A_TOKEN


def _sent(budget: Budget, turns: int, seed: int, send: Callable[[bytes], bytes]) -> list[_Prompt]:
    """Send a conversation and return its prompts."""
    before, prompts = "", []
    for body, output in _bodies(budget, turns, seed):
        text = _prompt_text(json.loads(send(body)))
        common = _common(before, text)
        prompts.append(
            _Prompt(
                common / _CHARACTERS_A_TOKEN,
                (len(text) - common) / _CHARACTERS_A_TOKEN,
                output,
                len(text) < len(before),
            )
        )
        before = text
    return prompts


def _uncompacted(budget: Budget, turns: int, seed: int) -> list[_Prompt]:
    """Return the prompts of a conversation that nobody touches: each continues the one before."""
    talk = Conversation(seed, fixed=budget.fixed)
    talk.grow()
    lengths = [len(_prompt_text(json.loads(talk.body())))]
    outputs = [talk.last_step_bytes / _CHARACTERS_A_TOKEN]
    for _ in range(turns - 1):
        before = talk.size
        talk.grow()
        lengths.append(lengths[-1] + talk.size - before)
        outputs.append(talk.last_step_bytes / _CHARACTERS_A_TOKEN)
    steps = pairwise([0, *lengths])
    return [
        _Prompt(a / _CHARACTERS_A_TOKEN, (b - a) / _CHARACTERS_A_TOKEN, output, shrank=False)
        for (a, b), output in zip(steps, outputs, strict=True)
    ]


def _prompt_text(body: dict[str, Any]) -> str:
    """Return a body in the order in which a model reads it, without cache markers."""
    parts = [body.get("tools", []), body.get("system", ""), *body["messages"]]
    return ",".join(
        json.dumps(_unmarked(part), ensure_ascii=False, separators=(",", ":")) for part in parts
    )


def _unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unmarked(item) for item in value]
    if isinstance(value, dict):
        return {key: _unmarked(item) for key, item in value.items() if key != "cache_control"}
    return value


def _common(a: str, b: str) -> int:
    """Return the length of the longest common prefix."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


@contextmanager
def _sender(house: House, name: str, budget: Budget) -> Iterator[Callable[[bytes], bytes]]:
    """Yield what turns a client's body into the one that the upstream receives."""
    if name == CUESTA:
        bench = Bench(Engine(CompactionOptions(threshold=budget.threshold), seed=1))
        yield lambda body: bench.send(body).body
        return
    with upstream("--keep") as port:
        keeper = replace(house, upstream=port)
        with (
            keeper.run(name, budget.threshold) as server,
            calling(server.port) as caller,
            calling(port) as book,
        ):

            def send(body: bytes) -> bytes:
                caller.post(body)
                return book.get("/-/last")

            yield send
