"""What replays came to, in plain values: one record a session and variant.

Tables, reports and files are drawn from records alone, whatever made them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from cuesta.core.usage import Usage

RECORD_VERSION = 1
KEEP_ALL = "keep_all"
MICRO, MICRO_SUMMARY = "microcompaction", "micro_summary"
RECORDED = "recorded"
"""The name under which what the harness itself did stands beside the strategies."""


@dataclass(frozen=True, slots=True, order=True)
class Variant:
    """A strategy with its knobs.

    Attributes:
        strategy: Its name.
        threshold: In tokens; 0: chosen by the conversation, or the strategy has none.
        profile: The profile, or empty where the strategy has none.
        reclaim: Tokens that must have piled up before old observations are cleared; 0: not asked.
    """

    strategy: str
    threshold: int = 0
    profile: str = ""
    reclaim: int = 0

    @property
    def at(self) -> int:
        """The knob that says how large contexts grow, in tokens."""
        return self.reclaim if self.strategy == MICRO else self.threshold

    def moved(self, at: int) -> Variant:
        """Return the variant with that knob at another size."""
        if self.strategy == MICRO:
            return replace(self, reclaim=at)
        return replace(self, threshold=at)


BASE = Variant(KEEP_ALL)
"""What every other variant is compared with."""
AS_RUN = Variant(RECORDED)


@dataclass(frozen=True, slots=True)
class Account:
    """What calls were billed.

    Attributes:
        usage: Tokens by class.
        cost: US dollars, or None where a model has no price.
    """

    usage: Usage
    cost: float | None = None

    @property
    def hit_rate(self) -> float:
        """The part of the prompts that came from the cache."""
        return self.usage.cache_read / self.usage.prompt if self.usage.prompt else 0.0


@dataclass(frozen=True, slots=True)
class Trace:
    """A replay's calls, in columns of one length.

    Attributes:
        call: The number of the session's call.
        prompt: Tokens of the prompt.
        cached: Those of them that the engine model finds in the cache.
        output: Tokens of the answer.
        cost: US dollars by the engine model, or None.
        cached_cost: The part of `cost` that is paid for `cached`, or None.
        cliff: Whether what stands before the newest turn changed.
        ours: Whether the call is the strategy's own.
    """

    call: tuple[int, ...]
    prompt: tuple[int, ...]
    cached: tuple[int, ...]
    output: tuple[int, ...]
    cost: tuple[float | None, ...]
    cached_cost: tuple[float | None, ...]
    cliff: tuple[bool, ...]
    ours: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Spent:
    """What a replay's calls cost by what is paid for, in US dollars by the engine model.

    Each in the order of `components.NAMES`.

    Attributes:
        cached: Paid for what the cache held.
        other: Paid for all else: the rest of the prompts, and the answers.
    """

    cached: tuple[float, ...]
    other: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """One session under one variant. Sizes are in tokens, costs in US dollars.

    Attributes:
        path: The file, with the member's name behind `::` in an archive.
        harness: The agent program.
        session: The session's name in its file.
        variant: What it was replayed under.
        model: The model that most of its calls asked.
        time: When it began, in seconds since the Unix epoch; 0: not known.
        calls: The session's calls that the replay has.
        own_calls: Calls that the strategy made itself.
        cliffs: How often what stands before the newest turn changed.
        peak: The largest prompt of the session's calls.
        prompt: The sum over these prompts.
        answered: The part of `prompt` that is the answer before it, right behind what was sent
            before: cached where answers are.
        perfect: By the paper's perfect cache.
        engine: By the rules of each model's cache.
        billed: By the provider; only where the variant is what was run.
        unpriced: Why there is no cost, or empty.
        trace: The calls one by one, if they were asked for.
        spent: What the cost was paid for, if it was asked for and there is one.
    """

    path: str
    harness: str
    session: str
    variant: Variant
    model: str
    time: float
    calls: int
    own_calls: int
    cliffs: int
    peak: int
    prompt: int
    answered: int
    perfect: Account
    engine: Account
    billed: Account | None = None
    unpriced: str = ""
    trace: Trace | None = None
    spent: Spent | None = None

    @property
    def mean(self) -> float:
        """The mean prompt of the session's calls."""
        return self.prompt / self.calls if self.calls else 0.0

    @property
    def answered_share(self) -> float:
        """The part of the prompts that is the answer before them."""
        return self.answered / self.prompt if self.prompt else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain values with its version under `v`."""
        return {"v": RECORD_VERSION, **asdict(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Record:
        """Read what `to_dict` wrote, also through JSON.

        Raises:
            ValueError: If it is broken or of another version.
        """
        if values.get("v") != RECORD_VERSION:
            raise ValueError(f"replay record of version {values.get('v')}")
        try:
            known = {field.name: values[field.name] for field in fields(cls)}
            known["variant"] = Variant(**known["variant"])
            for name in ("perfect", "engine", "billed"):
                known[name] = _account(known[name])
            if known["trace"] is not None:
                known["trace"] = Trace(**{n: tuple(column) for n, column in known["trace"].items()})
            if known["spent"] is not None:
                known["spent"] = Spent(**{n: tuple(parts) for n, parts in known["spent"].items()})
            return cls(**known)
        except (KeyError, TypeError) as error:
            raise ValueError(f"broken replay record: {error}") from error


def _account(values: Mapping[str, Any] | None) -> Account | None:
    return None if values is None else Account(Usage(**values["usage"]), values["cost"])


_PLAIN = (
    "path", "harness", "session", "model", "time", "calls", "own_calls", "cliffs", "peak",
    "prompt", "answered", "unpriced",
)  # fmt: skip


def flat(record: Record) -> dict[str, str | int | float | None]:
    """Return a record as one row of a file: no value holds others, the trace is left out."""
    row = {name: getattr(record, name) for name in _PLAIN}
    row |= asdict(record.variant)
    for name in ("perfect", "engine", "billed"):
        account: Account | None = getattr(record, name)
        for field in fields(Usage):
            row[f"{name}_{field.name}"] = account and getattr(account.usage, field.name)
        row[f"{name}_cost"] = account and account.cost
    return row


def variants(
    strategies: Iterable[str],
    thresholds: Iterable[int],
    profile: str = "default",
    reclaims: Iterable[int] = (5_000,),
) -> Iterator[Variant]:
    """Yield each strategy at each threshold; keeping all and what was run have none.

    Args:
        strategies: Their names.
        thresholds: In tokens; 0: chosen by the conversation.
        profile: The profile of those that have one.
        reclaims: What piles up before old observations are cleared, in tokens.
    """
    thresholds, reclaims = tuple(dict.fromkeys(thresholds)), tuple(dict.fromkeys(reclaims))
    for strategy in dict.fromkeys(strategies):
        if strategy in {KEEP_ALL, RECORDED}:
            yield Variant(strategy)
        elif strategy == MICRO:
            yield from (Variant(strategy, 0, profile, reclaim) for reclaim in reclaims)
        else:
            clears = reclaims[0] if strategy == MICRO_SUMMARY else 0
            yield from (Variant(strategy, at, profile, clears) for at in thresholds)
