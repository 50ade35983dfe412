"""Driving exchanges by hand: no sockets, no files.

`Bench` keeps a ledger in a dict and carries out an exchange's commands; a test or a replay sees
exactly the bytes that a proxy would send.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cuesta.core.ledger import Entry
from cuesta.core.usage import Usage
from cuesta.exchange.engine import Engine
from cuesta.exchange.events import (
    Accepted,
    Answered,
    Arrived,
    Ask,
    Command,
    Commit,
    Done,
    Event,
    Found,
    LookUp,
    Record,
    Refuse,
    Refused,
    Relay,
    Send,
    Told,
)
from cuesta.trace.event import TraceEvent

_TOLD = Told("The tests were run, and two of them still fail.", Usage(input=900, output=12))


@dataclass(frozen=True, slots=True)
class Driven:
    """What became of one request.

    Attributes:
        body: The bytes that were sent upstream last; empty where nothing was.
        note: What was done and why.
        event: The trace event.
        refusal: What the client was told in the place of an answer; empty where it got one.
    """

    body: bytes
    note: str
    event: TraceEvent
    refusal: bytes = b""


@dataclass(slots=True)
class Bench:
    """An engine with a ledger in memory.

    Attributes:
        engine: Makes the exchanges.
        ledger: Entries as they would be stored, by key.
        refuse: Called with every body that is sent; what it returns is the upstream's refusal.
        fault: Called with every command before it is carried out; what it raises is thrown into the
            exchange, as a driver does with a store that fails.
        tell: Called with every question of Cuesta's own; what it returns is the model's answer.
    """

    engine: Engine
    ledger: dict[bytes, bytes] = field(default_factory=dict)
    refuse: Callable[[bytes], Refused | None] = lambda _: None
    fault: Callable[[Command], None] = lambda _: None
    tell: Callable[[Ask], Told] = lambda _: _TOLD

    def send(
        self,
        body: bytes,
        *,
        path: str = "/v1/messages",
        at: float = 0.0,
        usage: Usage | None = None,
        place: tuple[str, str] = ("", ""),
    ) -> Driven:
        """Run one request through the engine.

        Args:
            body: The client's body.
            path: The path that it is posted to.
            at: When it arrives, in seconds.
            usage: What the answer bills.
            place: The host that it is for, and the tenant who asks.
        """
        exchange = self.engine.exchange(Arrived(at, "POST", path, (), body, "", *place))
        answer: Event | Exception | None = None
        head: Accepted | Refused = Accepted()
        note, refusal, event = "", b"", None
        while True:
            try:
                if isinstance(answer, Exception):
                    command = exchange.throw(answer)
                else:
                    command = exchange.send(answer)  # type: ignore[arg-type]  # None starts it
            except StopIteration:
                break
            if isinstance(command, Send):
                sent = body if command.body is None else command.body
                answer = head = self.refuse(sent) or Accepted()
            elif isinstance(command, Refuse):
                sent, note, refusal = b"", command.note, command.body
                answer = Answered(at, command.status, None)
            elif isinstance(command, Relay):
                note = command.note
                status = head.status if isinstance(head, Refused) else 200
                answer = Answered(at, status, usage)
            else:
                event = command.event if isinstance(command, Record) else event
                answer = self._carry_out(command)
        if event is None:
            raise AssertionError("the exchange ended without a record")
        return Driven(sent, note, event, refusal)

    def _carry_out(self, command: Command) -> Event | Exception:
        try:
            self.fault(command)
        except Exception as error:  # noqa: BLE001 - it goes into the exchange
            return error
        if isinstance(command, Ask):
            return self.tell(command)
        if isinstance(command, LookUp):
            key = next((key for key in command.keys if key in self.ledger), None)
            return Found(key, Entry.from_json(self.ledger[key]) if key else None)
        if isinstance(command, Commit):
            self.ledger[command.key] = command.entry.to_json()
        return Done()
