"""What was seen: the counts, which of them must be zero, and the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

_WIDTH = 80
_COLUMN = 14
_SHOWN = 20


@dataclass(slots=True)
class Report:
    """The counts of one run.

    Attributes:
        conversations: How many conversations, sub-agents not counted.
        subagents: How many sub-agents they started.
        requests: Requests of the clients, each counted once however often it was sent.
        turns: Those of them that belong to a main loop or a sub-agent's.
        retries: How often a request was sent again after its answer broke off or never came.
        lost: Requests whose answer the model itself lost.
        cut: Answers that broke off behind their first bytes.
        cliffs: Changes that the estimate alone caused.
        many: Histories that crossed at least two cliffs.
        external: Changes that something else caused, by reason.
        losses: What was done to the proxies and their databases.
        extra: Changes at a branch's first answer after a database was lost that would not have come
            otherwise, by kind of the loss.
        excuses: What made those changes possible.
        silent: How many of those were not even announced, as nothing was left to know of them.
        misses: Requests with a known cliff behind them for which the ledger had nothing, or less.
        kept: How many of those kept their bytes all the same.
        refusals: Forms that were refused, by rule.
        healed: Forms that were refused as they were a branch's first after a loss; another form was
            then answered.
        mistakes: How many of those the client itself had broken.
        failed: Answers behind forms that fail-open chose.
        passed: Requests that passed untouched.
        differing: Bytes that changed within an epoch, each with how to make it again.
        unexplained: External cliffs without a cause, such as a second one after one loss.
        inexcusable: Extra changes without an excuse.
        invalid: Refusals of what only the proxy can have broken.
        garbled: Answers that did not reach the client as they were sent.
        seconds: How long it took.
    """

    conversations: int = 0
    subagents: int = 0
    requests: int = 0
    turns: int = 0
    retries: int = 0
    lost: int = 0
    cut: int = 0
    cliffs: int = 0
    many: int = 0
    external: Counter[str] = field(default_factory=Counter)
    losses: Counter[str] = field(default_factory=Counter)
    extra: Counter[str] = field(default_factory=Counter)
    excuses: Counter[str] = field(default_factory=Counter)
    silent: int = 0
    misses: int = 0
    kept: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    healed: int = 0
    mistakes: int = 0
    failed: int = 0
    passed: int = 0
    differing: list[str] = field(default_factory=list)
    unexplained: list[str] = field(default_factory=list)
    inexcusable: list[str] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)
    garbled: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def violations(self) -> list[str]:
        """Everything that must not happen, each with how to make it again."""
        return [*self.differing, *self.unexplained, *self.inexcusable, *self.invalid, *self.garbled]

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        return {**asdict(self), "seconds": round(self.seconds, 1)}

    def table(self) -> str:
        """Return the counts as a table that fits 80 columns."""
        lines = [f"{name:<{_WIDTH - _COLUMN}}{value:>{_COLUMN},}" for name, value in self._rows()]
        lines += [f"VIOLATION {line}" for line in self.violations[:_SHOWN]]
        return "\n".join(lines)

    def _rows(self) -> Iterator[tuple[str, int]]:
        yield "conversations", self.conversations
        yield "  sub-agents", self.subagents
        yield "  histories that crossed two cliffs", self.many
        yield "requests", self.requests
        yield "  turns", self.turns
        yield "  passed untouched", self.passed
        yield "  sent again", self.retries
        yield "  answers broken off behind their first bytes", self.cut
        yield "  answers that the model lost", self.lost
        yield "losses", self.losses.total()
        yield from _counted(self.losses)
        yield "cliffs", self.cliffs
        yield "external cliffs", self.external.total()
        yield from _counted(self.external)
        yield "extra changes after a lost database", self.extra.total()
        yield from _counted(self.extra)
        yield "  of which not announced", self.silent
        yield "their excuses", self.excuses.total()
        yield from _counted(self.excuses)
        yield "misses of the ledger", self.misses
        yield "  of which kept their bytes", self.kept
        yield "forms refused", self.refusals.total()
        yield from _counted(self.refusals)
        yield "  of which after a lost database, then healed", self.healed
        yield "  of which the client's own mistakes", self.mistakes
        yield "answers behind a form that fail-open chose", self.failed
        yield "must be 0:", len(self.violations)
        yield "  differing bytes within an epoch", len(self.differing)
        yield "  external cliffs without a cause", len(self.unexplained)
        yield "  extra changes without an excuse", len(self.inexcusable)
        yield "  invalid requests", len(self.invalid)
        yield "  answers that did not come through as sent", len(self.garbled)
        yield "seconds", round(self.seconds)


def _counted(counter: Counter[str]) -> Iterator[tuple[str, int]]:
    for name, count in sorted(counter.items()):
        yield f"  {name[: _WIDTH - _COLUMN - 4]}", count
