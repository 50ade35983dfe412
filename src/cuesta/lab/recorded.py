"""Recorded traffic driven through the exchange again, to hold a replay to the live bytes.

Each recorded process gets an engine of its own and all share one ledger, as they did live. What a
request's end teaches an engine reaches it where that end stands in the recording.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from cuesta.exchange.engine import Engine
from cuesta.exchange.events import (
    Accepted,
    Answered,
    Arrived,
    Command,
    Commit,
    Done,
    Event,
    Exchange,
    Found,
    LookUp,
    Refuse,
    Refused,
    Relay,
    Send,
)
from cuesta.exchange.options import CompactionOptions
from cuesta.store.memory import MemoryStore
from cuesta.trace.recording import Recorded


def replayed(
    records: Iterable[Recorded], options: CompactionOptions
) -> Iterator[tuple[Recorded, bytes]]:
    """Drive recorded requests through the exchange, and yield what it sends for each.

    With the options of the recording, and from an empty ledger as it began, that is `record.sent`,
    but where the ledger failed. Requests that no dialect reads are left out.

    Args:
        records: In the order in which they came, from `store.recordings`.
        options: How to compact.

    Raises:
        ConfigError: If the options make no sense.
    """
    store = MemoryStore()
    processes: dict[str, _Process] = defaultdict(lambda: _Process(Engine(options), store))
    for record in records:
        if record.came.body is not None:
            yield record, processes[record.opened.process].send(record)


@dataclass(slots=True)
class _Process:
    """One proxy process.

    Attributes:
        engine: Its engine.
        store: The ledger.
        running: Where the requests that are not over end, with their exchanges.
    """

    engine: Engine
    store: MemoryStore
    running: list[tuple[int, _Running]] = field(default_factory=list)

    def send(self, record: Recorded) -> bytes:
        """Take a request to where its answer is relayed; return the body sent, empty for none."""
        while self.running and self.running[0][0] < record.began:
            heapq.heappop(self.running)[1].end()
        running = _Running(record, self.engine.exchange(_arrived(record)), self.store)
        body = running.start()
        if record.ended:
            heapq.heappush(self.running, (record.ended, running))
        return body


@dataclass(slots=True)
class _Running:
    """A request on its way."""

    record: Recorded
    exchange: Exchange
    store: MemoryStore

    def start(self) -> bytes:
        """Drive the exchange until all it waits for is the end of the answer."""
        command, sent, forms = self._until_asked(None), b"", iter(self.record.forms)
        while isinstance(command, Send):
            sent = self.record.body if command.body is None else command.body
            form = next(forms, None)
            if form is not None and form.declined is not None:
                command = self._until_asked(Refused(form.declined.status, form.declined.body))
            elif self.record.event is None or not self.record.event.status:
                break
            else:
                command = self._until_asked(Accepted())
        return sent

    def end(self) -> None:
        """Tell the exchange how it went."""
        event = self.record.event
        if event is not None:
            at = event.at + event.seconds
            self._until_asked(Answered(at, event.status, event.usage, event.aborted))

    def _until_asked(self, event: Event | None) -> Command | None:
        """Drive the exchange to what the upstream or the client has to answer; None: its end."""
        try:
            command = next(self.exchange) if event is None else self.exchange.send(event)
            while not isinstance(command, Send | Relay | Refuse):
                command = self.exchange.send(self._carry_out(command))
        except StopIteration:
            return None
        return command

    def _carry_out(self, command: Command) -> Event:
        if isinstance(command, LookUp):
            return Found(*self.store.look_up(command.keys))
        if isinstance(command, Commit):
            self.store.commit(command.key, command.entry)
        return Done()


def _arrived(record: Recorded) -> Arrived:
    came = record.came
    return Arrived(came.at, came.method, came.path, (), record.body, came.run, came.upstream)
