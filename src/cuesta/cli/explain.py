"""`cuesta explain`: why each of the last requests was kept, compacted or passed on."""

from __future__ import annotations

import json
import shutil
import time
from typing import TYPE_CHECKING

from cuesta.cli.bill import short_tokens
from cuesta.cli.status import ask, open_kept, question
from cuesta.cli.text import fitted, wrapped
from cuesta.core.errors import ConfigError
from cuesta.trace.event import TraceEvent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

_TEXT = """\
Show why each of the last requests was kept as it was, compacted or passed on,
the newest last. Tokens are estimates: what the agent sent -> what was sent on.

  cuesta explain
  cuesta explain -n 5 --port 4141
"""

_LIMIT = 1_000
_COLUMNS = "{:<8}  {}  {}  {:>14}  {:>6}  "
_CONVERSATION, _ACTION = 8, 7
_HEADING = _COLUMNS.format("time", "conv.   ", "action ", "tokens", "cliffs") + "why"
_WHY_AT = _HEADING.index("why")
_WIDTHS = (80, 160)
_EXTERNAL = (
    "external: something other than the tokens of the history made the cliff or moved it, such as "
    "a refusal, another model or changed options."
)


def main(argv: list[str]) -> int:
    """Print the table and return 0."""
    parser = question("explain", _TEXT)
    parser.add_argument("-n", type=int, default=20, metavar="N", help="how many (default: 20)")
    arguments = parser.parse_args(argv)
    if not 1 <= arguments.n <= _LIMIT:
        raise ConfigError(f"argument -n: expected a number from 1 to {_LIMIT}, not {arguments.n}")
    if arguments.port is not None:
        path = f"/-/cuesta/explain?n={arguments.n}"
        events, lines = ask(arguments.port, path, _read)
    else:
        store = open_kept(arguments, "explain")
        try:
            events = store.events(arguments.n)
        finally:
            store.close()
        lines = _lines(events)
    if arguments.json:
        print(json.dumps([event.to_dict() for event in events], indent=2))
    else:
        print("\n".join(lines))
    return 0


def _read(records: list[dict[str, Any]]) -> tuple[list[TraceEvent], list[str]]:
    if not isinstance(records, list):
        raise TypeError("not a list of records")
    events = [TraceEvent.from_dict(record) for record in records]
    return events, _lines(events)


def _lines(events: Sequence[TraceEvent]) -> list[str]:
    """Write a table as wide as the screen, within 80 to 160 columns.

    Args:
        events: The newest first.
    """
    least, most = _WIDTHS
    width = min(max(shutil.get_terminal_size().columns, least), most)
    table = list(_table(events, width))
    if any(event.external for event in events):
        table += ["", *wrapped(_EXTERNAL, width)]
    return table


def _table(events: Sequence[TraceEvent], width: int) -> Iterator[str]:
    if not events:
        yield "No request has come through yet. Start an agent with `cuesta run -- claude`."
        return
    day = ""
    yield _HEADING
    for event in reversed(events):
        when = time.localtime(event.at)
        if day != (day := time.strftime("%Y-%m-%d", when)):
            yield f"-- {day} --"
        yield from _row(event, time.strftime("%H:%M:%S", when), width)


def _row(event: TraceEvent, clock: str, width: int) -> Iterator[str]:
    tokens = f"{short_tokens(event.raw_tokens)} -> {short_tokens(event.sent_tokens)}"
    cliffs = f"{event.cliffs}{' new' if event.new_cliff else ''}" if event.cliffs else ""
    begin = _COLUMNS.format(
        clock,
        fitted(event.conversation[:_CONVERSATION], _CONVERSATION),
        fitted(event.action, _ACTION),
        tokens if event.raw_tokens else "",
        cliffs,
    )
    for line in wrapped(_why(event), width - _WHY_AT) or [""]:
        yield (begin + line).rstrip()
        begin = " " * _WHY_AT


def _why(event: TraceEvent) -> str:
    """Return the reason, and how the answer ended if not well."""
    words = [event.reason] if event.conversation else [f"{event.reason} ({event.path})"]
    if event.strategy not in ("", "cliff"):
        words.append(f"strategy {event.strategy}")
    if event.external:
        words.append("external cliff")
    if event.aborted:
        words.append("the agent left")
    elif event.status != 200:
        words.append(f"status {event.status}" if event.status else "no answer")
    return "; ".join(word for word in words if word)
