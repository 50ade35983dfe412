"""What was paid, and what the same work would have cost without a cliff.

The second figure is an estimate: the client's own bodies, scaled by what the bill says of the
estimate, priced under the same cache rules. A conversation whose bill shows cache use is taken to
have kept its whole previous prompt in the cache, as long as the lifetime allows. Where the previous
request is not known (a resumed session), all that was not written now is taken to have been there:
the estimate rather tells too little.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from cuesta.core.errors import UnknownModelError
from cuesta.core.prices import PriceBook
from cuesta.core.usage import Usage
from cuesta.trace.event import TraceEvent

_LIFETIME_5M = 300.0
_LIFETIME_1H = 3600.0


def without_cliffs(event: TraceEvent) -> Usage | None:
    """Return what a request would have been billed for as the client sent it.

    Returns:
        An estimate, or None where the answer told no usage. An untouched request gives its bill.
    """
    usage = event.usage
    if usage is None or event.action != "replace" or event.sent_tokens <= 0:
        return usage
    scale = usage.prompt / event.sent_tokens
    raw = max(usage.prompt, round(event.raw_tokens * scale))
    before = min(raw, round(event.previous_raw_tokens * scale))
    if usage.cache_read + usage.cache_write == 0:
        return Usage(input=raw, output=usage.output)
    lifetime = _LIFETIME_1H if usage.cache_write_1h else _LIFETIME_5M
    if not event.previous_raw_tokens:
        read = raw - (usage.prompt - usage.cache_read)
    else:
        read = before if event.at - event.previous_at <= lifetime else 0
    written = max(0, raw - read - usage.input)
    hour = written if usage.cache_write_1h else 0
    return Usage(raw - read - written, read, written - hour, hour, usage.output)


def with_cliffs(event: TraceEvent) -> Usage | None:
    """Return what a request that was only planned in shadow would have been billed for.

    Between two cliffs the previous prompt is taken to be in the cache, as the bill shows it; at a
    cliff nothing is, which tells too little: the head would still be there.

    Returns:
        An estimate, or None where the answer told no usage. An untouched request gives its bill.
    """
    usage = event.usage
    if usage is None or event.action != "replace" or event.raw_tokens <= 0:
        return usage
    scale = usage.prompt / event.raw_tokens
    sent = min(usage.prompt, round(event.sent_tokens * scale))
    if usage.cache_read + usage.cache_write == 0:
        return Usage(input=sent, output=usage.output)
    news = usage.prompt - usage.cache_read
    read = 0 if event.new_cliff else max(0, sent - news)
    written = max(0, sent - read - usage.input)
    hour = written if usage.cache_write_1h else 0
    return Usage(sent - read - written, read, written - hour, hour, usage.output)


@dataclass(slots=True)
class Account:
    """A sum over requests.

    Attributes:
        book: Prices.
        calls: Answered requests whose usage is known.
        unread: Answered requests of conversations that told no usage.
        cliffs: Cliffs that fell.
        paid: Tokens billed.
        avoided: Tokens that would have been billed without a cliff, minus those that were (in
            shadow: with cliffs, the other way round).
        cost: US dollars billed.
        saved: The same in US dollars.
        shadow: Whether any request was only planned, so that what it saved was not.
        unpriced: Models without a known price.
        subscription: Whether any request carried a login instead of a key.
    """

    book: PriceBook = field(default_factory=PriceBook)
    calls: int = 0
    unread: int = 0
    cliffs: int = 0
    paid: Usage = field(default_factory=Usage)
    avoided: int = 0
    cost: float = 0.0
    saved: float = 0.0
    shadow: bool = False
    unpriced: set[str] = field(default_factory=set)
    subscription: bool = False

    def add(self, event: TraceEvent) -> None:
        """Add one request."""
        self.cliffs += event.new_cliff
        self.subscription = self.subscription or event.subscription
        self.shadow = self.shadow or event.shadow
        self._add_asked(event)
        other = with_cliffs(event) if event.shadow else without_cliffs(event)
        if event.usage is None or other is None:
            self.unread += event.action in {"keep", "replace", "failed"} and event.status == 200
            return
        self.calls += 1
        self.paid += event.usage
        sign = -1 if event.shadow else 1
        self.avoided += sign * (other.prompt - event.usage.prompt)
        try:
            price = self.book.price(event.model)
        except UnknownModelError:
            self.unpriced.add(event.model)
            return
        self.cost += price.cost(event.usage)
        self.saved += sign * (price.cost(other) - price.cost(event.usage))

    def _add_asked(self, event: TraceEvent) -> None:
        """Add what a question of Cuesta's own cost; without a cliff nobody would have asked."""
        if event.asked is None:
            return
        self.paid += event.asked
        self.avoided -= event.asked.prompt
        try:
            cost = self.book.price(event.model).cost(event.asked)
        except UnknownModelError:
            self.unpriced.add(event.model)
            return
        self.cost += cost
        self.saved -= cost

    def add_all(self, events: Iterable[TraceEvent]) -> Account:
        """Add requests and return the account."""
        for event in events:
            self.add(event)
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the sums as plain values."""
        return {
            "calls": self.calls,
            "unread": self.unread,
            "cliffs": self.cliffs,
            "tokens": {
                "input": self.paid.input,
                "cache_read": self.paid.cache_read,
                "cache_write": self.paid.cache_write,
                "output": self.paid.output,
            },
            "tokens_avoided": self.avoided,
            "cost_usd": round(self.cost, 6),
            "saved_usd": round(self.saved, 6),
            "shadow": self.shadow,
            "unpriced_models": sorted(self.unpriced),
            "subscription": self.subscription,
        }
