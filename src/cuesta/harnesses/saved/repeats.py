"""Calls that stand in more than one file: a resumed or forked session's file may begin with a copy.

One file cannot tell; whoever reads many can.
"""

from __future__ import annotations

import hashlib
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

    def first(self, session: Session) -> Session:
        """Return a session without the first of its calls that were seen before."""
        keys = [_key(session, call) for call in session.calls]
        known = sum(1 for _ in takewhile(self._seen.__contains__, keys))
        self._seen.update(key for key in keys if key is not None)
        if not known:
            return session
        return replace(
            session,
            calls=session.calls[known:],
            compactions=_behind(session, known),
            shared=max(session.shared, _end(session, session.calls[known - 1])),
        )


def _key(session: Session, call: Call) -> bytes | None:
    if call.usage is None or call.at >= len(session.messages):
        return None
    told = repr((session.harness, call.model, call.usage)).encode()
    return hashlib.blake2b(told + session.messages[call.at], digest_size=_SIZE).digest()


def _behind(session: Session, known: int) -> tuple[int, ...]:
    """Return the numbers of the calls behind the known ones before which there was a compaction."""
    left = len(session.calls) - known
    return tuple(sorted({max(0, n - known) for n in session.compactions if left}))


def _end(session: Session, call: Call) -> int:
    """Return where a call's answer ends."""
    parse = DIALECTS[session.wire].parse
    roles = (parse(message)[0].role for message in session.messages[call.at :])
    return call.at + sum(1 for _ in takewhile(Role.ASSISTANT.__eq__, roles))
