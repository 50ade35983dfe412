"""`cuesta explain`: why each of the last requests was kept, compacted or passed on."""

from __future__ import annotations

import json
import textwrap
import time
from typing import TYPE_CHECKING

from cuesta.cli.bill import short_tokens
from cuesta.cli.status import ask, open_kept, question
from cuesta.core.errors import ConfigError
from cuesta.trace.event import TraceEvent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TEXT = """\
Show why each of the last requests was kept as it was, compacted or passed on,
the newest last. Tokens are estimates: what the agent sent -> what was sent on.

  cuesta explain
  cuesta explain -n 5 --port 4141
"""

_LIMIT = 1_000
_COLUMNS = "{:<8}  {:<8}  {:<7}  {:>14}  {:>6}  {}"
_HEADING = _COLUMNS.format("time", "conv.", "action", "tokens", "cliffs", "why")
_WHY_AT = _HEADING.index("why")
_WIDTH = 80


def main(argv: list[str]) -> int:
    """Print the table and return 0."""
    parser = question("explain", _TEXT)
    parser.add_argument("-n", type=int, default=20, metavar="N", help="how many (default: 20)")
    arguments = parser.parse_args(argv)
    if not 1 <= arguments.n <= _LIMIT:
        raise ConfigError(f"argument -n: expected a number from 1 to {_LIMIT}, not {arguments.n}")
    if arguments.port is not None:
        records = ask(arguments.port, f"/-/cuesta/explain?n={arguments.n}")
        events = [TraceEvent.from_dict(record) for record in records]
    else:
        store = open_kept(arguments, "explain")
        try:
            events = store.events(arguments.n)
        finally:
            store.close()
    if arguments.json:
        print(json.dumps([event.to_dict() for event in events], indent=2))
    else:
        print("\n".join(_lines(events)))
    return 0


def _lines(events: Sequence[TraceEvent]) -> Iterator[str]:
    """Write a table within 80 columns.

    Args:
        events: The newest first.
    """
    if not events:
        yield "No request has come through yet. Start an agent with `cuesta run -- claude`."
        return
    day = ""
    yield _HEADING
    for event in reversed(events):
        when = time.localtime(event.at)
        if day != (day := time.strftime("%Y-%m-%d", when)):
            yield f"-- {day} --"
        yield from _row(event, time.strftime("%H:%M:%S", when))


def _row(event: TraceEvent, clock: str) -> Iterator[str]:
    tokens = f"{short_tokens(event.raw_tokens)} -> {short_tokens(event.sent_tokens)}"
    cliffs = f"{event.cliffs}{' new' if event.new_cliff else ''}" if event.cliffs else ""
    first = _COLUMNS.format(
        clock, event.conversation[:8], event.action, tokens if event.raw_tokens else "", cliffs, ""
    )
    yield from textwrap.wrap(
        _why(event), _WIDTH, initial_indent=first, subsequent_indent=" " * _WHY_AT
    ) or [first.rstrip()]


def _why(event: TraceEvent) -> str:
    """Return the reason, and how the answer ended if not well."""
    words = [event.reason] if event.conversation else [f"{event.reason} ({event.path})"]
    if event.external:
        words.append("external cliff")
    if event.aborted:
        words.append("the agent left")
    elif event.status != 200:
        words.append(f"status {event.status}" if event.status else "no answer")
    return "; ".join(word for word in words if word)
