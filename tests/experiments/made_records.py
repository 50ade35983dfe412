"""Records made by code, for tests of the report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cuesta.core.prices import Price
from cuesta.core.usage import Usage
from cuesta.experiments.record import DONE, Calls, Cell, Kernel, Record

PRICE = Price(1.0, 4.0, 0.1, 1.0, 1.0)
"""Dollars a million tokens."""


def perfect(prompts: Sequence[int], outputs: Sequence[int]) -> Usage:
    """Bill prompts by the paper's perfect cache."""
    usage, before = Usage(), 0
    for prompt, output in zip(prompts, outputs, strict=True):
        cached = before if prompt >= before else 0
        usage += Usage(prompt - cached, cached, output=output)
        before = prompt
    return usage


def run(
    strategy: str,
    threshold: int,
    *,
    task: str = "a",
    seed: int = 0,
    prompts: Sequence[int] = (1_000, 2_000, 3_000),
    output: int = 100,
    resolved: bool | None = True,
    end: str = DONE,
    kinds: str = "",
    kernels: Iterable[tuple[int, bool, float]] = (),
    model: str = "m-1",
    scaffold: str = "own",
    task_set: str = "own",
    window: int = 100_000,
    spec: str = "s",
    basis: str = "b",
    price: Price | None = PRICE,
    seconds: float = 10.0,
    hits: float = 0.5,
    attempt: int = 1,
) -> Record:
    """Return a record whose every sum follows from its prompts."""
    outputs = (output,) * len(prompts)
    ideal = perfect(prompts, outputs)
    cached = round(hits * sum(prompts))
    usage = Usage(sum(prompts) - cached, cached, output=sum(outputs))
    cliffs = tuple(i for i in range(1, len(prompts)) if prompts[i] < prompts[i - 1])
    none = (0,) * len(prompts)
    return Record(
        spec=spec,
        basis=basis,
        cell=Cell(scaffold, model, strategy, threshold, seed, task_set, task),
        window=window,
        resolved=resolved,
        end=end,
        reason="",
        steps=len(prompts),
        usage=usage,
        asked=Usage(),
        perfect=ideal,
        billed_cost=price.cost(usage) if price else None,
        perfect_cost=price.cost(ideal) if price else None,
        seconds=seconds,
        cliffs=cliffs,
        cliffs_told=True,
        calls=Calls(
            tuple(prompts),
            none,
            none,
            outputs,
            (0.0,) * len(prompts),
            (False,) * len(prompts),
            kinds,
        ),
        kernels=tuple(Kernel(*one) for one in kernels),
        attempt=attempt,
        price=price,
    )
