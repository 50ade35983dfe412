"""The tables of the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from itertools import zip_longest

from cuesta.lab.activity import AGAIN, EDIT, READ, TEST
from cuesta.lab.records import AS_RUN, BASE
from cuesta.lab.report.collected import Activity, Collected
from cuesta.lab.report.numbers import DASH, counted, dollars, percent, short, signed_percent
from cuesta.lab.report.rows import at_text
from cuesta.lab.table import Comparison, Row

_MOST_FILES = 200
_MOST_OTHERS = 100
_VARIANTS = (
    "strategy", "at", "cliffs", "mean peak", "mean", "input", "cached", "written", "output",
    "hits, engine", "hits, perfect", "hits, billed", "cost, engine", "change", "cost, perfect",
    "change", "billed", "spare steps",
)  # fmt: skip
_FILES = ("file", "sessions", "calls", "turns", "human", "tool calls", "prompt", "output")


def variants(rows: Sequence[Row]) -> str:
    """Return the table of strategies and thresholds."""
    return _table(_VARIANTS, map(_variant, rows), text=2)


def _variant(row: Row) -> list[str]:
    base, usage = row.variant == BASE, row.engine.usage
    changes = [DASH if base else signed_percent(c.change) for c in (row.by_engine, row.by_perfect)]
    billed = row.billed
    return [
        row.variant.strategy, at_text(row.variant), f"{row.cliffs:,}",
        short(row.mean_peak), short(row.mean),
        short(usage.input), short(usage.cache_read),
        short(usage.cache_write_5m + usage.cache_write_1h), short(usage.output),
        percent(row.engine.hit_rate), percent(row.perfect.hit_rate),
        DASH if billed is None else percent(billed.hit_rate),
        dollars(row.engine.cost), changes[0], dollars(row.perfect.cost), changes[1],
        DASH if billed is None else dollars(billed.cost),
        DASH if base or row.variant == AS_RUN else _spare(row.by_engine),
    ]  # fmt: skip


def _spare(compared: Comparison) -> str:
    steps = compared.break_even
    if steps is None:
        return DASH
    return f"{steps:,.1f}" if steps > 0 else "none"


def activity(done: Mapping[str, Activity]) -> str:
    """Return the table of what was done, by harness."""
    names = (
        "harness", "sessions", "steps", "reads", "of them again", "edits", "tests",
        "compactions by the harness",
    )  # fmt: skip
    return _table(
        names,
        (
            [
                harness, f"{one.sessions:,}", f"{one.steps.total():,}",
                f"{one.steps[READ] + one.steps[AGAIN]:,}", f"{one.steps[AGAIN]:,}",
                f"{one.steps[EDIT]:,}", f"{one.steps[TEST]:,}", f"{one.compactions:,}",
            ]
            for harness, one in sorted(done.items())
        ),
        text=1,
    )  # fmt: skip


def files(collected: Collected, shown: Callable[[str], str]) -> str:
    """Return the table of files, and what could not be read.

    Args:
        collected: What was read.
        shown: Returns a path as it is shown.
    """
    largest = sorted(collected.files.items(), key=lambda item: (-item[1].prompt, item[0]))
    listed = sorted(largest[:_MOST_FILES])
    rows = [
        [shown(path), *(f"{n:,}" for n in (s.sessions, s.calls, s.turns, s.human, s.tool_calls)),
         short(s.prompt) if s.prompt else DASH, short(s.output) if s.prompt else DASH]
        for path, s in listed
    ]  # fmt: skip
    sums = [s for _, s in largest]
    rows.append(
        [
            f"all {counted(len(sums), 'file')}",
            *(f"{sum(getattr(s, name) for s in sums):,}" for name in
              ("sessions", "calls", "turns", "human", "tool_calls")),
            short(sum(s.prompt for s in sums)), short(sum(s.output for s in sums)),
        ]
    )  # fmt: skip
    more = ""
    if len(largest) > _MOST_FILES:
        more = f"<p class=note>The {_MOST_FILES} largest files of {len(largest):,} are listed.</p>"
    troubles = [
        f"{escape(shown(path))}: {count:,} \N{MULTIPLICATION SIGN} {escape(reason)}"
        for path, s in listed
        for reason, count in sorted(s.problems.items())
    ]
    others = sorted(collected.others)
    troubles += [f"{escape(shown(path))}: {escape(why)}" for path, why in others[:_MOST_OTHERS]]
    if len(others) > _MOST_OTHERS:
        troubles.append(f"and {len(others) - _MOST_OTHERS:,} more without a session")
    problems = ""
    if troubles:
        items = "".join(f"<li>{trouble}</li>" for trouble in troubles)
        problems = f"<h3>What could not be read</h3><ul class=problems>{items}</ul>"
    return _table(_FILES, rows, text=1, summed=True) + more + problems


def _table(
    names: Iterable[str], rows: Iterable[Sequence[str]], *, text: int, summed: bool = False
) -> str:
    """Return a table.

    Args:
        names: Of its columns.
        rows: Its cells; they are escaped here.
        text: How many of the first columns are no numbers.
        summed: Whether the last row is the sum of the others.
    """
    kinds = [" class=text"] * text
    if summed:
        kinds[0] = ' class="text path"'

    def cells(row: Iterable[str], tag: str) -> str:
        told = zip_longest(row, kinds, fillvalue="")
        return "".join(f"<{tag}{kind}>{escape(content)}</{tag}>" for content, kind in told)

    head = cells(names, "th")
    body = [f"<tr>{cells(row, 'td')}</tr>" for row in rows]
    if summed and body:
        body[-1] = body[-1].replace("<tr>", "<tr class=sum>", 1)
    return (
        "<div class=scroll tabindex=0><table><thead><tr>"
        f"{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )
