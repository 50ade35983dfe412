"""Recordings of Cuesta's own: `cuesta serve --record DIR`, `cuesta run --record DIR`.

A request holds its whole conversation, so a session is the longest request of a conversation. What
does not go on from the longest one (a rewind, another branch) is a session of its own. A call that
was sent in another form than it came, or whose last message has grown since, is a hole: its bill is
for other messages. The last answer of a session is not there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cuesta.core.errors import RequestError
from cuesta.core.transcript import block_hashes
from cuesta.dialects.base import Dialect, Request
from cuesta.dialects.registry import DIALECTS
from cuesta.harnesses.saved.base import Problems
from cuesta.store.recordings import decode
from cuesta.trace.event import TraceEvent
from cuesta.trace.recording import Line, Opened, Recorded, joined
from cuesta.trace.session import Call, Session

_MEMBERS = ("system", "instructions", "tools")
_OK = 200
_STRANGE = (RequestError, RecursionError, KeyError, TypeError, ValueError, AttributeError)


class Recordings:
    """The format; see `SavedFormat`."""

    harness = "cuesta"

    def recognises(self, beginning: bytes) -> bool:
        """See `SavedFormat.recognises`."""
        first = beginning.partition(b"\n")[0]
        try:
            return isinstance(decode(first), Opened)
        except ValueError:
            return False

    def read(self, content: bytes, problems: Problems) -> Iterator[Session]:
        """See `SavedFormat.read`."""
        threads: dict[tuple[str, str], list[_Thread]] = {}
        reader = _Reader()
        for record in joined(_lines(content, problems)):
            if record.event is None:
                problems.note("a request without its end")
            elif record.event.conversation and record.event.status == _OK:
                try:
                    found = threads.setdefault((record.dialect, record.event.conversation), [])
                    reader.take(record, record.event, found)
                except _STRANGE:
                    problems.note("a request that cannot be read")
        for (wire, conversation), found in threads.items():
            for number, thread in enumerate(found):
                name = f"{conversation}-{number + 1}" if number else conversation
                yield thread.session(self.harness, name, wire)


def _lines(content: bytes, problems: Problems) -> Iterator[Line]:
    for text in filter(bytes.strip, content.splitlines()):
        try:
            yield decode(text)
        except ValueError as error:
            problems.note(str(error))


@dataclass(slots=True)
class _Thread:
    """A history that only grows, as far as it has come."""

    request: Request
    digests: Sequence[bytes]
    calls: list[Call]

    def add(self, request: Request, digests: Sequence[bytes], shared: int, call: Call) -> None:
        """Add a call, and what it goes on with; a call whose last message has grown is a hole."""
        if len(digests) >= len(self.digests):
            if shared < len(self.digests):
                grown = len(self.digests)
                self.calls = [replace(c, hole=c.hole or c.at == grown) for c in self.calls]
            self.request, self.digests = request, digests
        self.calls.append(call)

    def session(self, harness: str, name: str, wire: str) -> Session:
        members = {
            key: self.request.members[key] for key in _MEMBERS if key in self.request.members
        }
        return Session(
            harness,
            name,
            wire,
            tuple(self.request.messages),
            tuple(self.calls),
            members,
            whole=True,
        )


class _Reader:
    """Puts requests where they belong, and reads each message once."""

    def __init__(self) -> None:
        self._digests: dict[tuple[str, bytes], bytes] = {}

    def take(self, record: Recorded, event: TraceEvent, threads: list[_Thread]) -> None:
        """Add a request to the thread that it goes on from, or to a new one.

        Raises:
            RequestError: If it cannot be read.
        """
        dialect = DIALECTS[record.dialect]
        request = dialect.read(record.body)
        digests = [self._digest(dialect, message) for message in request.messages]
        call = Call(
            len(digests), event.model, event.usage, time=event.at + event.seconds,
            hole=record.sent != record.body,
        )  # fmt: skip
        shared = [_shared(thread.digests, digests) for thread in threads]
        best = max(range(len(threads)), key=shared.__getitem__, default=None)
        if best is None or not _goes_on(dialect, threads[best], request, shared[best]):
            threads.append(_Thread(request, digests, [call]))
        else:
            threads[best].add(request, digests, shared[best], call)

    def _digest(self, dialect: Dialect, message: bytes) -> bytes:
        key = dialect.name, message
        if key not in self._digests:
            self._digests[key] = dialect.parse(message)[1]
        return self._digests[key]


def _shared(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """Return how many messages two histories begin with in common."""
    differ = (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differ, min(len(one), len(other)))


def _goes_on(dialect: Dialect, thread: _Thread, request: Request, shared: int) -> bool:
    """Tell whether one of two histories goes on from the other; its last message may have grown."""
    if shared in {len(thread.digests), len(request.messages)}:
        return True
    if shared != len(thread.digests) - 1:
        return False
    before = block_hashes(dialect.parse(thread.request.messages[shared])[0])
    return block_hashes(dialect.parse(request.messages[shared])[0])[: len(before)] == before
