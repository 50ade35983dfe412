"""The vocabulary between the exchange and whoever drives it.

An exchange is a generator: it yields commands, and the driver sends back the event that answers
each (`Event` below says which). A driver that cannot carry out a command throws the error into the
generator, which then fails open. The proxy drives exchanges over sockets, a replay over files, a
test by hand: all get the same bytes.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cuesta.core.ledger import Entry
from cuesta.core.usage import Usage
from cuesta.trace.event import TraceEvent

Headers: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Arrived:
    """A request came in.

    Attributes:
        at: Seconds since the Unix epoch.
        method: The HTTP method, upper case.
        path: The path without its query.
        headers: Names (lower case) and values, in their order.
        body: The decompressed body.
        run: The run that a launcher named, or empty.
        upstream: The host that it is for.
        tenant: Who asks, on a gateway that several share; empty: there is one person.
    """

    at: float
    method: str
    path: str
    headers: Headers
    body: bytes
    run: str = ""
    upstream: str = ""
    tenant: str = ""


@dataclass(frozen=True, slots=True)
class LookUp:
    """Find the first of these keys that the ledger holds. Answered by `Found`."""

    keys: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class Found:
    """The ledger's answer: which key it held, with its entry, or None and None."""

    key: bytes | None
    entry: Entry | None


@dataclass(frozen=True, slots=True)
class Commit:
    """Write an entry before anything leaves; durable when it returns. Answered by `Done`."""

    key: bytes
    entry: Entry


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the model something of our own, with the client's credentials; it is billed.

    It goes to where the request itself would go. Answered by `Told`; an error that is thrown in its
    place costs the conversation nothing but the answer.

    Attributes:
        body: The bytes to send.
        dialect: Whose answer it is.
    """

    body: bytes
    dialect: str


@dataclass(frozen=True, slots=True)
class Told:
    """What the model answered to `Ask`.

    Attributes:
        text: All of its text; empty where it refused, did not come to an end, or said nothing.
        usage: What was billed, or None.
    """

    text: str
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Send:
    """Send the request upstream and wait for the head of its answer.

    Answered by `Accepted` or `Refused`, or by `Answered` where no answer came.

    Attributes:
        body: The bytes to send, or None: the original body as it came, compressed or not.
        dialect: Whose refusals and usage are to be read from the answer, or empty: none.
    """

    body: bytes | None
    dialect: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer the client ourselves; nothing is sent upstream. Answered by `Answered`.

    Attributes:
        status: The HTTP status.
        body: The error, in the words of the provider's API, as JSON.
        note: What was done and why, as in `Relay`.
    """

    status: int
    body: bytes
    note: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """The upstream answers; nothing has reached the client yet."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The upstream refuses; nothing has reached the client yet.

    Attributes:
        status: The HTTP status; 0 for an error inside a stream that has begun.
        body: The decoded body, or the stream's event.
    """

    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Relay:
    """Relay the answer as it comes, whatever it is. Answered by `Answered`.

    Attributes:
        note: What was done and why, for the added response header; ASCII, at most 200 bytes.
    """

    note: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer has ended.

    Attributes:
        at: Seconds since the Unix epoch.
        status: The HTTP status, 0 where none came.
        usage: What the provider billed, or None.
        aborted: Whether the client left first.
    """

    at: float
    status: int
    usage: Usage | None
    aborted: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """Keep a trace event. Answered by `Done`."""

    event: TraceEvent


@dataclass(frozen=True, slots=True)
class Done:
    """A command was carried out."""


Command: TypeAlias = LookUp | Commit | Ask | Send | Refuse | Relay | Record
Event: TypeAlias = Found | Told | Accepted | Refused | Answered | Done
Exchange: TypeAlias = Generator[Command, Event, None]
"""One request from arrival to record: started with `send(None)`, ends with `StopIteration`."""
