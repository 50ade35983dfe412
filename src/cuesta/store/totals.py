"""Sums over trace events: what the requests were, what they used, what that cost."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from cuesta.core.errors import UnknownModelError
from cuesta.core.prices import PriceBook
from cuesta.core.usage import Usage
from cuesta.trace.account import Account

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cuesta.trace.event import TraceEvent


MODELS_LIMIT = 200
"""Models that are summed one by one."""
OTHER = "other"
"""The name under which all further ones are summed."""
_FIRST_ERROR = 400


@dataclass(slots=True)
class ModelTotals:
    """The sums of one model, by the name under which it was requested."""

    requests: int = 0
    billed: Usage = field(default_factory=Usage)
    """Usage of requests that carried a key."""
    subscribed: Usage = field(default_factory=Usage)
    """Usage of requests that carried a login, for which no dollars are billed."""
    raw_tokens: int = 0
    """Estimated prompt tokens of the clients' own bodies."""
    sent_tokens: int = 0
    """Estimated prompt tokens of what was sent."""

    def add(self, event: TraceEvent) -> None:
        """Count one event of this model."""
        self.requests += 1
        self.raw_tokens += event.raw_tokens
        self.sent_tokens += event.sent_tokens
        for usage in (event.usage, event.asked):
            if usage is not None and event.subscription:
                self.subscribed += usage
            elif usage is not None:
                self.billed += usage

    def to_dict(self, model: str, prices: PriceBook) -> dict[str, Any]:
        """Return the sums as plain values, with dollars where the model's price is known.

        Args:
            model: The model's name.
            prices: What tokens cost.
        """
        try:
            price = prices.price(model)
        except UnknownModelError:
            dollars = list_dollars = None
        else:
            dollars = price.cost(self.billed)
            list_dollars = dollars + price.cost(self.subscribed)
        return {
            "requests": self.requests,
            "usage": asdict(self.billed + self.subscribed),
            "dollars": dollars,
            "list_dollars": list_dollars,
            "raw_tokens": self.raw_tokens,
            "sent_tokens": self.sent_tokens,
        }


@dataclass(slots=True)
class Totals:
    """The sums over a set of events."""

    actions: Counter[str] = field(default_factory=Counter)
    """Requests by what was done with them."""
    cliffs: int = 0
    external_cliffs: int = 0
    aborted: int = 0
    unanswered: int = 0
    """Requests whose client waited in vain: no answer came."""
    refused: int = 0
    """Requests that were answered with an error's status."""
    models: dict[str, ModelTotals] = field(default_factory=dict)
    account: Account = field(default_factory=Account)

    @classmethod
    def over(cls, events: Iterable[TraceEvent]) -> Totals:
        """Return the sums over these events."""
        totals = cls()
        for event in events:
            totals.add(event)
        return totals

    def add(self, event: TraceEvent) -> None:
        """Count one event."""
        self.actions[event.action] += 1
        self.cliffs += event.new_cliff
        self.external_cliffs += event.new_cliff and event.external
        self.aborted += event.aborted
        self.unanswered += not event.status and not event.aborted
        self.refused += event.status >= _FIRST_ERROR
        self.account.add(event)
        if not event.model:
            return
        known = event.model in self.models or len(self.models) < MODELS_LIMIT
        name = event.model if known else OTHER
        self.models.setdefault(name, ModelTotals()).add(event)
        if name == OTHER and event.model in self.account.unpriced:
            self.account.unpriced.remove(event.model)
            self.account.unpriced.add(OTHER)

    def to_dict(self, prices: PriceBook | None = None) -> dict[str, Any]:
        """Return the sums as plain values.

        Args:
            prices: What tokens cost; None: the dated table.

        Returns:
            Per model, `dollars` is what the provider bills and `list_dollars` counts requests of a
            subscription at list prices too; both are None where the model's price is not known.
        """
        book = prices or PriceBook()
        return {
            "requests": dict(self.actions),
            "cliffs": self.cliffs,
            "external_cliffs": self.external_cliffs,
            "aborted": self.aborted,
            "unanswered": self.unanswered,
            "refused": self.refused,
            "models": {name: sums.to_dict(name, book) for name, sums in self.models.items()},
            "account": self.account.to_dict(),
        }
