"""How much of a client's own words is kept: what it may choose must not fill memory or disk."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cuesta.trace.event import TraceEvent

PATH_LIMIT = 120
MODEL_LIMIT = 100
REASON_LIMIT = 200
"""Characters kept of each."""

_MARK = "..."


def bounded(event: TraceEvent) -> TraceEvent:
    """Return an event whose path, model and reason are cut where they are too long, with a mark."""
    path, model = _cut(event.path, PATH_LIMIT), _cut(event.model, MODEL_LIMIT)
    reason = _cut(event.reason, REASON_LIMIT)
    if (path, model, reason) == (event.path, event.model, event.reason):
        return event
    return replace(event, path=path, model=model, reason=reason)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - len(_MARK)] + _MARK
