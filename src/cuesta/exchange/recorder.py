"""An engine whose exchanges tell line by line what they do, so that it can be recorded.

What is sent is the same with and without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count

from cuesta.dialects.registry import claim
from cuesta.exchange.events import (
    Arrived,
    Command,
    Event,
    Exchange,
    Headers,
    Record,
    Refused,
    Send,
)
from cuesta.trace.recording import Came, Declined, Ended, Line, Sent

_SECRETS = frozenset(
    {"authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie"}
)
_SECRET_LENGTH = 8
_REMOVED = b"[removed]"


class Recorder:
    """Makes exchanges that are recorded.

    Args:
        exchange: Makes the exchanges themselves, as `Engine.exchange` does.
        keep: Called with each line in order, from any thread. It must neither wait nor raise.
    """

    def __init__(
        self, exchange: Callable[[Arrived], Exchange], keep: Callable[[Line], None]
    ) -> None:
        self._exchange = exchange
        self._keep = keep
        self._numbers = count(1)

    def exchange(self, arrived: Arrived) -> Exchange:
        """Handle one request; see `events` for how to drive it."""
        number = next(self._numbers)
        body = arrived.body if claim(arrived.method, arrived.path) else None
        self._keep(
            Came(
                number,
                arrived.at,
                arrived.method,
                arrived.path,
                arrived.upstream,
                arrived.run,
                body,
            )
        )
        secrets = tuple(_secrets(arrived.headers))
        exchange = self._exchange(arrived)
        del arrived, body  # answers stream for minutes
        ended = False
        try:
            command = next(exchange)
            while True:
                ended |= self._tell(number, command)
                try:
                    event = yield command
                except Exception as error:  # noqa: BLE001 - it is the exchange's
                    command = exchange.throw(error)
                else:
                    self._tell_refusal(number, event, secrets)
                    command = exchange.send(event)
        except StopIteration:
            return
        finally:
            exchange.close()
            if not ended:
                self._keep(Ended(number, None))

    def _tell(self, number: int, command: Command) -> bool:
        """Tell of a command; return whether it ends the request."""
        if isinstance(command, Send):
            self._keep(Sent(number, command.dialect, command.body))
        elif isinstance(command, Record):
            self._keep(Ended(number, command.event))
            return True
        return False

    def _tell_refusal(self, number: int, event: Event, secrets: Iterable[bytes]) -> None:
        if not isinstance(event, Refused):
            return
        body = event.body
        for secret in secrets:
            body = body.replace(secret, _REMOVED)
        self._keep(Declined(number, event.status, body))


def _secrets(headers: Headers) -> Iterator[bytes]:
    """Yield what must not stand in a recording, should a refusal repeat it."""
    for name, value in headers:
        if name in _SECRETS:
            yield from (w.encode() for w in value.split() if len(w) >= _SECRET_LENGTH)
