"""Could a run's conversations go on without Cuesta? The client still holds their whole history.

Two things may stand in the way behind a cliff: thinking that was produced behind the compacted
beginning, which models that check prefixes refuse behind the whole one; and the size of the whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cuesta.core.models import checks_prefixes, read_model, window_of
from cuesta.trace.account import without_cliffs
from cuesta.trace.event import TraceEvent

_BINDS = "anthropic"
"""The wire on which thinking comes back as it was bound."""
_SUMMARY = "a summary"
"""How the reason begins where a harness had its history summarised."""


@dataclass(frozen=True, slots=True)
class Obstacles:
    """What stands in the way of going on without Cuesta.

    Attributes:
        thinking: Whether thinking would come back behind another beginning than its own, on a model
            that checks it.
        tokens: The size of the largest history that does not fit its window; 0: all do, as far as
            their windows are known.
        window: That window, in tokens.
    """

    thinking: bool = False
    tokens: int = 0
    window: int = 0


def obstacles(events: Iterable[TraceEvent], *, window: int = 0, assumed: int = 0) -> Obstacles:
    """Say what stands in the way of the conversations as their last requests left them.

    Before its first cliff a conversation can always go on. So can one whose history the client has
    had summarised since: it goes on as another.

    Args:
        events: The requests, in any order.
        window: The context window in tokens; 0: what the model's name tells.
        assumed: The window where the name tells none; 0: none is assumed.
    """
    thinking, tokens, limit = False, 0, 0
    for event in _last_of_each(events):
        model = read_model(event.model)
        room = window or window_of(model) or assumed
        size = _whole(event)
        thinking = thinking or (event.dialect == _BINDS and checks_prefixes(model))
        if room and size > max(room, tokens):
            tokens, limit = size, room
    return Obstacles(thinking, tokens, limit)


def _last_of_each(events: Iterable[TraceEvent]) -> list[TraceEvent]:
    """Return the last request of each conversation that stands behind a cliff now."""
    last: dict[str, TraceEvent] = {}
    for event in sorted(events, key=lambda event: event.at):
        if not event.conversation or event.shadow:
            continue
        if not event.reason.startswith(_SUMMARY):
            last[event.conversation] = event
        elif event.status == 200 and not event.aborted:
            last.pop(event.conversation, None)
    return [event for event in last.values() if event.cliffs]


def _whole(event: TraceEvent) -> int:
    """Return the tokens of a conversation's whole history, as near as the bill tells."""
    billed = without_cliffs(event)
    return event.raw_tokens if billed is None else billed.prompt + billed.output
