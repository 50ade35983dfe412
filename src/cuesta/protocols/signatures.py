"""What stands for a call once its turn is folded away.

A signature is chosen by the call alone: its tool's name and the names of its arguments, by one
table for all harnesses. A header or an option never chooses it, so the same history folds to the
same bytes wherever it is read. Source of the file editor's rows: the paper's Table 12; its generic
signature is the tool's name and the first characters of its arguments.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from cuesta.core.digest import Quote
from cuesta.core.excerpts import first
from cuesta.core.transcript import Block


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table: the calls that it fits, and what is kept of them.

    Attributes:
        needs: Argument names that the call must have.
        shows: Short arguments that are quoted, in this order, each up to the limit.
        texts: Arguments that are quoted behind them and share the limit.
        most: Characters that `texts` share at most, however high the limit is.
        counts: Arguments of which only the length is kept: the text stands in a file by now.
        values: Arguments that must have a given value.
        tools: Tool names that it fits, lower case; empty: any.
        dropped: Whether such a call leaves no trace.
    """

    needs: frozenset[str] = frozenset()
    shows: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    most: int = sys.maxsize
    counts: tuple[str, ...] = ()
    values: tuple[tuple[str, str], ...] = ()
    tools: frozenset[str] = frozenset()
    dropped: bool = False


def _editor(
    command: str, *shows: str, texts: tuple[str, ...] = (), counts: tuple[str, ...] = ()
) -> Row:
    return Row(
        needs=frozenset({"command", "path"}),
        shows=("command", "path", *shows),
        texts=texts,
        counts=counts,
        values=(("command", command),),
        most=_EDIT,
    )


_EDIT = 500
"""Characters of what an edit changed: the file holds it by now, and many edits would crowd out what
stands nowhere else (docs/fidelity.md)."""


def _edit(path: str, *texts: str) -> Row:
    return Row(needs=frozenset({path, texts[0]}), shows=(path,), texts=texts, most=_EDIT)


_TABLE = (
    _editor("view", "view_range"),
    _editor("create", counts=("file_text",)),
    _editor("str_replace", texts=("old_str",)),
    _editor("insert", "insert_line"),
    _editor("undo_edit"),
    Row(tools=frozenset({"task_tracker"}), dropped=True),
    Row(tools=frozenset({"finish"})),
    Row(tools=frozenset({"think"}), needs=frozenset({"thought"}), texts=("thought",)),
    Row(needs=frozenset({"command"}), texts=("command",)),
    Row(needs=frozenset({"cmd"}), texts=("cmd",)),
    Row(needs=frozenset({"keystrokes"}), texts=("keystrokes",)),
    _edit("file_path", "old_string", "new_string"),
    _edit("file_path", "edits"),
    _edit("path", "old", "new"),
    _edit("path", "oldText", "newText"),
    _edit("path", "edits"),
    Row(needs=frozenset({"file_path", "content"}), shows=("file_path",), counts=("content",)),
    Row(needs=frozenset({"path", "content"}), shows=("path",), counts=("content",)),
)


def signature(call: Block, limit: int) -> tuple[Quote, ...] | None:
    """Return what stands for a call.

    Args:
        call: A block of kind `CALL`.
        limit: Characters that its text may take.

    Returns:
        Literal pieces under their arguments' names, or None for a call that leaves no trace.
    """
    arguments = call.arguments or {}
    row = next((row for row in _TABLE if _fits(row, call.name, arguments)), None)
    if row is None:
        return _quotes(tuple(arguments), arguments, limit)
    if row.dropped:
        return None
    counted = (
        Quote("", key, counted=len(str(arguments[key]))) for key in row.counts if key in arguments
    )
    short = (quote for key in row.shows for quote in _quotes((key,), arguments, limit))
    texts = _quotes(row.texts, arguments, min(limit, row.most))
    return (*short, *texts, *(quote for quote in counted if quote.counted))


def _fits(row: Row, tool: str, arguments: Mapping[str, object]) -> bool:
    return (
        row.needs <= arguments.keys()
        and (not row.tools or tool.lower() in row.tools)
        and all(arguments[key] == value for key, value in row.values)
    )


def _quotes(
    keys: tuple[str, ...], arguments: Mapping[str, object], limit: int
) -> tuple[Quote, ...]:
    """Quote arguments one after another until the limit is used up."""
    quotes = []
    for key in keys:
        text = first(_text(arguments.get(key, "")), limit)
        if text:
            quotes.append(Quote(text, first(key, 60)))
        limit -= len(text)
        if limit <= 0:
            break
    return tuple(quotes)


def _text(value: object) -> str:
    """Return a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
