"""Calls that stand in more than one file: a resumed or forked session's file may begin with a copy.

One file cannot tell; whoever reads many can.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from cuesta.core.transcript import Role
from cuesta.dialects.registry import DIALECTS
from cuesta.trace.session import Call, Session

_SIZE = 16


class Repeats:
    """Takes out of sessions the calls that a session of an earlier file has.

    A call is known by its model, its bill and its answer's bytes; one without a bill is not.
    """

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def known(self, keys: Sequence[bytes]) -> int:
        """Return how many of a session's first calls were seen before, by their keys."""
        return sum(1 for _ in takewhile(self._seen.__contains__, keys))

    def add(self, keys: Sequence[bytes]) -> None:
        """Remember a session's calls, by their keys."""
        self._seen.update(filter(None, keys))

    def first(self, session: Session) -> Session:
        """Return a session without the first of its calls that were seen before."""
        keys = keys_of(session)
        known = self.known(keys)
        self.add(keys)
        if not known:
            return session
        return replace(
            session,
            calls=session.calls[known:],
            compactions=_behind(session, known),
            shared=max(session.shared, _end(session, session.calls[known - 1])),
        )


def keys_of(session: Session) -> list[bytes]:
    """Return what each call is known by; one that cannot be known has an empty key."""
    return [_key(session, call) for call in session.calls]


def _key(session: Session, call: Call) -> bytes:
    if call.usage is None or call.at >= len(session.messages):
        return b""
    told = repr((session.harness, call.model, call.usage)).encode()
    return hashlib.blake2b(told + session.messages[call.at], digest_size=_SIZE).digest()


def _behind(session: Session, known: int) -> tuple[int, ...]:
    """Return the numbers of the calls behind the known ones before which there was a compaction."""
    left = len(session.calls) - known
    return tuple(sorted({max(0, n - known) for n in session.compactions if left}))


def _end(session: Session, call: Call) -> int:
    """Return where a call's answer ends."""
    parse = DIALECTS[session.wire].parse
    answers = (parse(message)[0].role is Role.ASSISTANT for message in session.messages[call.at :])
    return call.at + sum(takewhile(bool, answers))
