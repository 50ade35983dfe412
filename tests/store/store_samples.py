"""Entries, keys and events to fill a store with."""

from __future__ import annotations

import dataclasses

from cuesta.core.ledger import Entry
from cuesta.core.policy import Policy
from cuesta.trace.event import TraceEvent


def entry(name="default"):
    return Entry(Policy(name), "cliff", 1, ())


def key(number):
    return number.to_bytes(32, "big")


def event(number=0, **changes):
    plain = TraceEvent(
        at=1000.0 + number,
        conversation="c1",
        dialect="anthropic",
        path="/v1/messages",
        model="claude-opus-5",
        action="keep",
        reason="below the threshold",
    )
    return dataclasses.replace(plain, **changes)
