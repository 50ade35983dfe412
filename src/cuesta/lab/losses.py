"""Sessions probed under many variants, and the table over all of them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cuesta.core.errors import RequestError
from cuesta.core.policy import PROFILES
from cuesta.core.prices import Price, PriceBook
from cuesta.harnesses.saved.base import Problems
from cuesta.harnesses.saved.files import read_file
from cuesta.lab.cost import engine, total
from cuesta.lab.files import Task
from cuesta.lab.prepared import Prepared, prepare
from cuesta.lab.probe import Probe, Use
from cuesta.lab.records import BASE, KEEP_ALL, Variant
from cuesta.lab.rereads import Reread, rereads
from cuesta.lab.resample import Interval, at_cost, interval, ratio
from cuesta.lab.sweep import replayed
from cuesta.lab.tariff import Prices, Tariff, billed_as

DISTANCES = ((3, "1-3"), (10, "4-10"), (30, "11-30"))
FARTHEST = "31+"
HEAD_ONLY = Variant("head only")
"""The bound: each prompt holds the head and the last turns, nothing else."""
BLIND, SHUFFLED, ELSEWHERE = "cut blindly", "shuffled", "elsewhere"
"""The controls, as they stand in `Variant.profile`'s place."""
_RELATIVE = Price(1, 5, 0.1, 1.25, 2)
"""Where no price is known: how the classes of most providers' prices relate. Only shares count."""
_KEPT = min(policy.keep_turns for policy in PROFILES.values())


@dataclass(frozen=True, slots=True)
class Loss:
    """What one session loses under one variant.

    Attributes:
        lost: Lost uses by (origin, kind, distance).
        cost: By the engine model, in US dollars or by relative prices; 0: has none.
    """

    lost: Mapping[tuple[str, str, str], int]
    cost: float = 0.0

    @property
    def count(self) -> int:
        """How many uses are lost."""
        return sum(self.lost.values())


@dataclass(frozen=True, slots=True)
class Probed:
    """One session, probed.

    Attributes:
        path: The file, with the member's name behind `::` in an archive.
        harness: The agent program.
        calls: Its calls.
        uses: Its uses.
        losses: What it loses, by variant; a control's variant has the control's name for profile.
        rereads: What was read again around its harness's own compactions.
    """

    path: str
    harness: str
    calls: int
    uses: int
    losses: Mapping[Variant, Loss]
    rereads: tuple[Reread, ...] = ()


@dataclass(frozen=True, slots=True)
class Probing:
    """What sessions are probed under.

    Attributes:
        variants: The variants.
        controls: Those of them that are also cut blindly and shuffled.
        prices: What tokens cost.
        model: The model that all calls are billed as; empty: each call's own.
    """

    variants: tuple[Variant, ...]
    controls: frozenset[Variant] = frozenset()
    prices: Prices = field(default_factory=PriceBook)
    model: str = ""

    def probe(self, path: str, prepared: Prepared, before: Prepared | None = None) -> Probed:
        """Probe a session.

        Args:
            path: Where it was read from.
            prepared: The session.
            before: Another session for the control, or None.
        """
        probe = Probe(prepared)
        losses = {HEAD_ONLY: Loss(_sorted(probe.lost_at_most(_KEPT)))}
        for variant in self.variants:
            done = replayed(prepared, variant)
            steps = billed_as(done.steps, self.model)
            tariff = Tariff(self.prices, (step.model for step in steps))
            bills = engine(steps)
            cost = tariff.account([step.model for step in steps], bills).cost
            paid = _RELATIVE.cost(total(bills)) if cost is None else cost
            losses[variant] = Loss(_sorted(probe.lost(done)), paid)
            if variant in self.controls:
                blindly = Loss(_sorted(probe.lost_blindly(done)), paid)
                losses[replace(variant, profile=BLIND)] = blindly
                draw = random.Random(f"{path} {prepared.session.name}")  # noqa: S311 - no secret
                shuffled = Loss(_sorted(probe.lost_shuffled(done, draw.randrange)))
                losses[replace(variant, profile=SHUFFLED)] = shuffled
        if before is not None:
            losses[Variant(KEEP_ALL, profile=ELSEWHERE)] = Loss(_sorted(probe.lost_in(before)))
        return Probed(
            path, prepared.session.harness, len(prepared.calls), len(probe.uses), losses,
            tuple(rereads(prepared)),
        )  # fmt: skip


def _sorted(lost: Iterable[Use]) -> Mapping[tuple[str, str, str], int]:
    return Counter((use.origin.value, use.kind.value, bucket(use.distance)) for use in lost)


def bucket(distance: int) -> str:
    """Name how far back a use reaches."""
    return next((name for most, name in DISTANCES if distance <= most), FARTHEST)


@dataclass(frozen=True, slots=True)
class Found:
    """What came of a task.

    Attributes:
        probed: The sessions.
        problems: What could not be read, counted by reason.
    """

    probed: tuple[Probed, ...]
    problems: Mapping[str, int]


def work(probing: Probing, task: Task) -> Found:
    """Read and probe what a task names; a session is held against the one before it there."""
    problems = Problems()
    probed = []
    before: Prepared | None = None
    for saved in read_file(Path(task.path), task.part, task.parts):
        problems.counts.update(saved.problems)
        name = f"{saved.path}::{saved.member}" if saved.member else str(saved.path)
        for session in saved.sessions:
            try:
                prepared = prepare(session)
            except RequestError:
                problems.note("a message that is none in its wire")
                continue
            if prepared.calls:
                probed.append(probing.probe(name, prepared, before))
                before = prepared
    return Found(tuple(probed), problems.counts)


@dataclass(frozen=True, slots=True)
class Row:
    """One variant over sessions.

    Attributes:
        variant: The variant.
        sessions: How many sessions.
        rate: Lost uses a 100 calls.
        spread: Its interval.
        cost: The part of keeping all's cost, or None where it has none.
        change: Lost uses against the base's, as a part of them; None: it is the base or has none.
        change_spread: Its interval, session by session.
        instead: The rate that the base would have at this cost and another threshold, if any.
        by_origin: The rate by origin.
        by_kind: The rate by kind.
        by_distance: The rate by distance.
    """

    variant: Variant
    sessions: int
    rate: float
    spread: Interval | None
    cost: float | None
    change: float | None = None
    change_spread: Interval | None = None
    instead: float | None = None
    by_origin: Mapping[str, float] = field(default_factory=dict)
    by_kind: Mapping[str, float] = field(default_factory=dict)
    by_distance: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain values."""
        return {
            "strategy": self.variant.strategy,
            "profile": self.variant.profile,
            "threshold": self.variant.at,
            "sessions": self.sessions,
            "lost_per_100_calls": self.rate,
            "interval": self.spread,
            "cost_share": self.cost,
            "change": self.change,
            "change_interval": self.change_spread,
            "threshold_instead": self.instead,
            "by_origin": self.by_origin,
            "by_class": self.by_kind,
            "by_distance": self.by_distance,
        }


class Table:
    """The rows over probed sessions.

    Args:
        probed: The sessions.
    """

    def __init__(self, probed: Sequence[Probed]) -> None:
        self._probed = probed

    @property
    def uses(self) -> float:
        """Uses a 100 calls."""
        calls = sum(one.calls for one in self._probed)
        return 100 * sum(one.uses for one in self._probed) / calls if calls else 0.0

    def row(self, variant: Variant, base: Variant | None = None) -> Row:
        """Return a variant's row.

        Args:
            variant: The variant.
            base: What its losses are compared with.
        """
        having = [one for one in self._probed if variant in one.losses]
        lost = [one.losses[variant].count for one in having]
        calls = [one.calls / 100 for one in having]
        rate = ratio(lost, calls)
        every = range(len(having))
        cells = Counter[tuple[str, str, str]]()
        for one in having:
            cells.update(one.losses[variant].lost)
        row = Row(
            variant, len(having), rate(every) or 0.0, interval(len(having), rate),
            self._cost(variant), by_origin=_slice(cells, 0, sum(calls)),
            by_kind=_slice(cells, 1, sum(calls)), by_distance=_slice(cells, 2, sum(calls)),
        )  # fmt: skip
        if base is None or base == variant:
            return row
        both = [one for one in having if base in one.losses]
        against = ratio(
            [one.losses[variant].count for one in both], [one.losses[base].count for one in both]
        )
        change = against(range(len(both)))
        spread = interval(len(both), against)
        return replace(
            row,
            change=None if change is None else change - 1,
            change_spread=spread and (spread[0] - 1, spread[1] - 1),
            instead=self._instead(variant, base, row.cost),
        )

    def _cost(self, variant: Variant) -> float | None:
        pairs = [
            (one.losses[variant].cost, one.losses[BASE].cost)
            for one in self._probed
            if variant in one.losses and BASE in one.losses
        ]
        whole = sum(full for _, full in pairs)
        paid = sum(cost for cost, _ in pairs)
        return paid / whole if whole and paid else None

    def _instead(self, variant: Variant, base: Variant, cost: float | None) -> float | None:
        """Return what the base loses at any threshold at which it costs no more."""
        if cost is None or variant.strategy != base.strategy:
            return None
        curve = [(at, rate) for other in self._others(base) for at, rate in self._point(other)]
        return at_cost(curve, cost)

    def _others(self, base: Variant) -> Iterator[Variant]:
        variants = {v for one in self._probed for v in one.losses}
        return (v for v in variants if v == base.moved(v.at) and v.at)

    def _point(self, variant: Variant) -> Iterator[tuple[float, float]]:
        having = [one for one in self._probed if variant in one.losses]
        cost = self._cost(variant)
        calls = sum(one.calls for one in having)
        if cost is not None and calls:
            yield cost, 100 * sum(one.losses[variant].count for one in having) / calls


def _slice(
    cells: Mapping[tuple[str, str, str], int], part: int, calls: float
) -> Mapping[str, float]:
    """Return the rates by origin (part 0), kind (1) or distance (2)."""
    sums = Counter[str]()
    for key, count in sorted(cells.items()):
        sums[key[part]] += count
    return {name: count / calls for name, count in sums.items()}
