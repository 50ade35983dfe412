"""What a recording holds: each request as it came and as it was sent, and what became of it.

A recording is a series of lines, one object each, in the order in which things happened: `opened`,
then for each request `came`, `sent`, after a refusal `refused` and another `sent`, and `ended`.
Lines of requests that ran at the same time stand between each other; a number tells them apart. It
holds bodies, so whole conversations, but no header. Of a request that no dialect reads it holds no
body either: that may be a login. Versions: as in `event`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

from cuesta.trace.event import TraceEvent

VERSION = 1

_RUNNING_LIMIT = 1_000
"""Requests at once after which the oldest is taken for one whose end was lost."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A process began to record.

    Attributes:
        at: Seconds since the Unix epoch.
        process: What tells it from the other processes that record in the same folder.
        options: How it compacts: the fields of `CompactionOptions`.
    """

    at: float
    process: str
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Came:
    """A request came in.

    Attributes:
        exchange: Its number in this recording.
        at: Seconds since the Unix epoch.
        method: The HTTP method.
        path: The path without its query.
        upstream: The host that it is for.
        run: The run that a launcher named, or empty.
        body: The decompressed body, or None: not recorded.
    """

    exchange: int
    at: float
    method: str
    path: str
    upstream: str
    run: str
    body: bytes | None


@dataclass(frozen=True, slots=True)
class Sent:
    """It was sent upstream.

    Attributes:
        exchange: Its number.
        dialect: Who read it, or empty: nobody.
        body: What was sent, or None: what came, as it came.
    """

    exchange: int
    dialect: str
    body: bytes | None


@dataclass(frozen=True, slots=True)
class Declined:
    """The upstream refused what was sent.

    Attributes:
        exchange: The request's number.
        status: The HTTP status; 0 for an error inside a stream.
        body: What it said.
    """

    exchange: int
    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Ended:
    """A request is over.

    Attributes:
        exchange: Its number.
        event: Its trace, with what was billed; None where it failed without one.
    """

    exchange: int
    event: TraceEvent | None


Line: TypeAlias = Opened | Came | Sent | Declined | Ended
_KINDS: dict[str, type[Line]] = {
    "opened": Opened, "came": Came, "sent": Sent, "refused": Declined, "ended": Ended,
}  # fmt: skip
_NAMES = {kind: name for name, kind in _KINDS.items()}
_TYPES = {
    "exchange": int, "at": int | float, "process": str, "options": dict, "method": str, "path": str,
    "upstream": str, "run": str, "dialect": str, "status": int, "body": bytes | None,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Form:
    """One form in which a request was sent.

    Attributes:
        body: The bytes, or None: those that came.
        declined: The upstream's refusal, or None: it answered.
    """

    body: bytes | None
    declined: Declined | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request, put together.

    Attributes:
        opened: The recording that it stands in.
        came: What came in.
        forms: What was sent, in order; empty: nothing.
        event: Its trace, or None: the recording does not tell how it ended.
        dialect: Who read it, or empty: nobody.
        began: Where among the recording's lines it came.
        ended: Where it ended; 0: it did not.
    """

    opened: Opened
    came: Came
    forms: tuple[Form, ...] = ()
    event: TraceEvent | None = None
    dialect: str = ""
    began: int = 0
    ended: int = 0

    @property
    def body(self) -> bytes:
        """The body as it came; empty where it was not recorded."""
        return self.came.body or b""

    @property
    def sent(self) -> bytes:
        """The body as it was sent last; empty where nothing was, or it was not recorded."""
        last = self.forms[-1].body if self.forms else b""
        return self.body if last is None else last


def to_dict(line: Line) -> dict[str, Any]:
    """Return a line as plain values, with its version under `v`; a body stays bytes."""
    record: dict[str, Any] = {"v": VERSION, "kind": _NAMES[type(line)]}
    for member in fields(line):
        name, value = member.name, getattr(line, member.name)
        if isinstance(value, TraceEvent):
            value = value.to_dict()
        record[name] = dict(value) if name == "options" else value
    return record


def from_dict(record: Mapping[str, Any]) -> Line:
    """Read a line written by `to_dict`, ignoring fields added since.

    Raises:
        ValueError: If it is no line of a recording, or of a newer version.
    """
    version, kind = record.get("v", 0), _KINDS.get(str(record.get("kind")))
    if isinstance(version, int) and version > VERSION:
        raise ValueError(f"a recording of version {version}, this is version {VERSION}")
    if kind is None or version != VERSION or not all(map(_fits, record.items())):
        raise ValueError("no line of a recording")
    try:
        values = {member.name: record[member.name] for member in fields(kind)}
        if values.get("event") is not None:
            values["event"] = TraceEvent.from_dict(values["event"])
        return kind(**values)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("a line of a recording lacks something") from error


def joined(lines: Iterable[Line]) -> Iterator[Recorded]:
    """Put the lines of a recording together to requests, in the order in which they came.

    A request is yielded once it and all that came before it have ended.

    Args:
        lines: In order; some may be lost.
    """
    opened = Opened(0.0, "", {})
    running: dict[int, _Running] = {}
    for place, line in enumerate(lines):
        if isinstance(line, Opened):
            yield from (request.recorded(opened) for request in running.values())
            running.clear()
            opened = line
        elif isinstance(line, Came):
            running[line.exchange] = _Running(line, place)
        elif (request := running.get(line.exchange)) is not None:
            request.add(line, place)
        while running and (_first(running).over or len(running) > _RUNNING_LIMIT):
            yield running.pop(next(iter(running))).recorded(opened)
    yield from (request.recorded(opened) for request in running.values())


def _fits(member: tuple[str, Any]) -> bool:
    name, value = member
    return isinstance(value, _TYPES.get(name, object))


@dataclass(slots=True)
class _Running:
    """A request whose end was not read yet."""

    came: Came
    began: int
    forms: list[Form] = field(default_factory=list)
    event: TraceEvent | None = None
    dialect: str = ""
    ended: int = 0

    @property
    def over(self) -> bool:
        return self.ended > 0

    def add(self, line: Sent | Declined | Ended, place: int) -> None:
        if isinstance(line, Sent):
            self.dialect = line.dialect
            self.forms.append(Form(line.body))
        elif isinstance(line, Ended):
            self.event, self.ended = line.event, place
        elif self.forms:
            self.forms[-1] = Form(self.forms[-1].body, line)

    def recorded(self, opened: Opened) -> Recorded:
        return Recorded(
            opened, self.came, tuple(self.forms), self.event, self.dialect, self.began, self.ended
        )


def _first(running: dict[int, _Running]) -> _Running:
    return next(iter(running.values()))
