"""One session under many variants: prepared once, replayed under each, billed, put on record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from cuesta.core.policy import Policy, profile
from cuesta.core.prices import PriceBook
from cuesta.core.usage import Usage
from cuesta.lab.components import Components, Parts
from cuesta.lab.cost import engine, perfect
from cuesta.lab.prepared import Prepared
from cuesta.lab.records import RECORDED, Record, Spent, Trace, Variant
from cuesta.lab.replay import Replay, Step, recorded, replay
from cuesta.lab.tariff import Prices, Tariff, billed_as
from cuesta.strategies.registry import strategy


@dataclass(frozen=True, slots=True)
class Sweep:
    """What sessions are replayed under, and how they are billed.

    Attributes:
        variants: The variants.
        prices: What tokens cost.
        model: The model that all calls are billed as; empty: each call's own.
        traces: Whether records hold their calls one by one, and what was paid for.
    """

    variants: tuple[Variant, ...]
    prices: Prices = field(default_factory=PriceBook)
    model: str = ""
    traces: bool = False

    def check(self) -> None:
        """Refuse what cannot be replayed.

        Raises:
            ConfigError: If there is no such strategy or profile.
            UnknownModelError: If the model has no price.
        """
        for variant in self.variants:
            if variant.strategy != RECORDED:
                strategy(variant.strategy)
            policy_of(variant)
        if self.model:
            self.prices.price(self.model)

    def to_dict(self) -> dict[str, Any]:
        """Return what is replayed as plain values; prices are left out."""
        return {
            "variants": [asdict(variant) for variant in self.variants],
            "model": self.model,
            "traces": self.traces,
        }

    def records(self, path: str, prepared: Prepared) -> list[Record]:
        """Replay a session under every variant; where it has no calls, there is no record.

        Args:
            path: Where it was read from.
            prepared: The session.
        """
        replays = ((variant, replayed(prepared, variant)) for variant in self.variants)
        parts = Components(prepared)
        return [self._record(path, parts, v, done) for v, done in replays if done.steps]

    def _record(self, path: str, parts: Components, variant: Variant, done: Replay) -> Record:
        session = parts.prepared.session
        steps = billed_as(done.steps, self.model)
        asked = [step for step in steps if not step.ours]
        counted = perfect(steps), engine(steps)
        models = [step.model for step in steps]
        tariff = Tariff(self.prices, models)
        billed = None
        if variant.strategy == RECORDED:
            bills = [session.calls[step.call].usage or Usage() for step in steps]
            billed = tariff.account(models, bills)
        return Record(
            path=path,
            harness=session.harness,
            session=session.name,
            variant=variant,
            model=Counter(models).most_common(1)[0][0],
            time=next((call.time for call in session.calls if call.time), 0.0),
            calls=len(asked),
            own_calls=len(steps) - len(asked),
            cliffs=sum(step.cliff for step in steps),
            peak=max((step.prompt for step in asked), default=0),
            prompt=sum(step.prompt for step in asked),
            answered=sum(step.answered for step in asked),
            perfect=tariff.account(models, counted[0]),
            engine=tariff.account(models, counted[1]),
            billed=billed,
            unpriced=tariff.unpriced,
            trace=_trace(steps, counted[1], tariff) if self.traces else None,
            spent=self._spent(parts, done, steps, tariff),
        )

    def _spent(
        self, parts: Components, done: Replay, steps: Sequence[Step], tariff: Tariff
    ) -> Spent | None:
        """Return what was paid for; None of what the harness itself did: its prompts are gone."""
        if not self.traces or tariff.unpriced or not done.layouts:
            return None
        bills = engine(steps)
        cached = other = Parts()
        found = parts.steps(done, [bill.cache_read for bill in bills])
        for step, bill, made in zip(steps, bills, found, strict=True):
            whole = tariff.cost(step.model, bill) or 0.0
            read = tariff.cost(step.model, Usage(cache_read=bill.cache_read)) or 0.0
            output = tariff.cost(step.model, Usage(output=bill.output)) or 0.0
            cached += made.cached.scaled(read)
            other += (made.prompt - made.cached).scaled(whole - read - output)
            other += made.output.scaled(output)
        return Spent(cached.values, other.values)


def replayed(prepared: Prepared, variant: Variant) -> Replay:
    """Replay a prepared session under one variant."""
    if variant.strategy == RECORDED:
        return recorded(prepared)
    return replay(prepared, strategy(variant.strategy), policy_of(variant))


def policy_of(variant: Variant) -> Policy:
    """Return the knobs that a variant means.

    Raises:
        ConfigError: If there is no such profile, or a knob makes no sense.
    """
    policy = profile(variant.profile or "default", threshold=variant.threshold)
    return replace(policy, reclaim_tokens=variant.reclaim) if variant.reclaim else policy


def _trace(steps: Sequence[Step], bills: Sequence[Usage], tariff: Tariff) -> Trace:
    return Trace(
        tuple(step.call for step in steps),
        tuple(step.prompt for step in steps),
        tuple(bill.cache_read for bill in bills),
        tuple(step.output for step in steps),
        tuple(tariff.cost(s.model, bill) for s, bill in zip(steps, bills, strict=True)),
        tuple(
            tariff.cost(s.model, Usage(cache_read=bill.cache_read))
            for s, bill in zip(steps, bills, strict=True)
        ),
        tuple(step.cliff for step in steps),
        tuple(step.ours for step in steps),
    )
