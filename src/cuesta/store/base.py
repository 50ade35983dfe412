"""What every store does, whatever it keeps things in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cuesta.core.ledger import Entry
    from cuesta.store.totals import Totals
    from cuesta.trace.event import TraceEvent

LEDGER_LIMIT = 100_000
"""Ledger entries kept; the oldest go first, and a conversation without one is derived again."""


class Store(Protocol):
    """The ledger and the trace.

    Safe to call from several threads. `look_up` and `record` return at once and may be called on an
    event loop; the others may wait for a disk.
    """

    @property
    def degraded(self) -> str:
        """Why less is kept than promised, for a person to read; empty: all is well."""

    def look_up(self, keys: Sequence[bytes]) -> tuple[bytes, Entry] | tuple[None, None]:
        """Return the first of the keys, in the given order, that the ledger holds."""

    def commit(self, key: bytes, entry: Entry) -> None:
        """Write an entry, over an older one under the same key; it is durable on return."""

    def record(self, event: TraceEvent) -> None:
        """Keep a trace event; it may become durable a little later."""

    def events(self, n: int, run: str | None = None) -> list[TraceEvent]:
        """Return the last events, the newest first.

        Args:
            n: How many at most.
            run: Only those of this run; None: of all.
        """

    def totals(self, run: str | None = None) -> Totals:
        """Return the sums over all kept events, or over those of one run."""

    def close(self) -> None:
        """Write what is still waiting and let go of everything."""
