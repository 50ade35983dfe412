"""What `cuesta replay` prints for a person, within 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cuesta.cli.bill import short_tokens
from cuesta.cli.sources import HOW_TO_PRICE
from cuesta.cli.text import counted, fitted, wrapped
from cuesta.lab.records import AS_RUN, BASE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cuesta.cli.sources import Summary
    from cuesta.core.usage import Usage
    from cuesta.lab.files import Outcome
    from cuesta.lab.records import Variant
    from cuesta.lab.table import Comparison, Row

WIDTH = 80
_NAME, _THRESHOLD = 15, 6
_COSTS = "{:>7}{:>6}{:>6}{:>9}{:>8}{:>9}{:>8}{:>6}"
_TOKENS = "{:>8}{:>8}{:>8}{:>8}{:>9}{:>9}{:>9}"
_PATH = 34
_FILE = "{}{:>9}{:>7}{:>7}{:>7}{:>7}{:>9}"
_NAMED = 3
_STEPS = 3
"""Extra steps that a cliff is taken to cause: around real compactions 3.4 were seen."""


def dollars(cost: float | None) -> str:
    """Return US dollars in at most eight characters; `unknown` for None."""
    if cost is None:
        return "unknown"
    if abs(cost) >= 10_000:
        return f"${cost:,.0f}"
    return f"${cost:.2f}" if abs(cost) >= 0.1 or not cost else f"${cost:.4f}"


def tables(rows: Sequence[Row]) -> Iterator[str]:
    """Write what each variant costs, and the tokens that this comes from."""
    yield _head("", "") + f"{'context':>19}{'engine model':>17}{'perfect cache':>17}{'steps':>6}"
    yield _head("strategy", "at") + _COSTS.format(
        "cliffs", "peak", "mean", "cost", "change", "cost", "change", "spare"
    )
    for row in rows:
        yield _variant(row.variant) + _costs(row)
        if row.billed is not None:
            yield (
                f"{'  as billed':<{_NAME + _THRESHOLD}}"
                + _COSTS.format("", "", "", dollars(row.billed.cost), "", "", "", "").rstrip()
            )
    yield ""
    yield _head("", "") + f"{'tokens, engine model':>32}{'part read from the cache':>27}"
    yield _head("strategy", "at") + _TOKENS.format(
        "input", "cached", "written", "output", "engine", "perfect", "billed"
    )
    for row in rows:
        yield _variant(row.variant) + _tokens(row.engine.usage, _hits(row))
        if row.billed is not None:
            hits = "", "", _percent(row.billed.hit_rate)
            yield f"{'  as billed':<{_NAME + _THRESHOLD}}" + _tokens(row.billed.usage, hits)


def _head(strategy: str, threshold: str) -> str:
    return f"{strategy:<{_NAME}}{threshold:>{_THRESHOLD}}"


def threshold_text(variant: Variant) -> str:
    """Return a variant's threshold in a few characters."""
    if not variant.profile:
        return ""
    return short_tokens(variant.at) if variant.at else "auto"


def _variant(variant: Variant) -> str:
    return _head(variant.strategy, threshold_text(variant))


def _costs(row: Row) -> str:
    base = row.variant == BASE
    changes = ["" if base else _change(c) for c in (row.by_engine, row.by_perfect)]
    return _COSTS.format(
        short_tokens(row.cliffs),
        short_tokens(row.mean_peak),
        short_tokens(row.mean),
        dollars(row.engine.cost),
        changes[0],
        dollars(row.perfect.cost),
        changes[1],
        "" if base or row.variant == AS_RUN else _spare(row.by_engine),
    ).rstrip()


def _change(comparison: Comparison) -> str:
    if comparison.change is None:
        return ""
    percent = 100 * comparison.change
    return f"{percent:+.1f} %" if abs(percent) < 99.95 else f"{percent:+.0f} %"


def _spare(comparison: Comparison) -> str:
    steps = comparison.break_even
    if steps is None:
        return ""
    if steps <= 0:
        return "none"
    return f"{steps:.1f}" if steps < 100 else f"{min(steps, 9999):.0f}"


def _hits(row: Row) -> tuple[str, str, str]:
    return _percent(row.engine.hit_rate), _percent(row.perfect.hit_rate), ""


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _tokens(usage: Usage, hits: tuple[str, str, str]) -> str:
    classes = usage.input, usage.cache_read, usage.cache_write, usage.output
    return _TOKENS.format(*map(short_tokens, classes), *hits).rstrip()


def cheapest(rows: Sequence[Row]) -> tuple[Row, float] | None:
    """Return the row that costs least if every cliff causes a few extra steps, and its change."""
    priced = [row for row in rows if row.by_engine.base and row.variant != AS_RUN]
    if not priced:
        return None
    best = min(priced, key=lambda row: row.by_engine.with_steps(_STEPS))
    return best, best.by_engine.with_steps(_STEPS) / best.by_engine.base - 1


def notes(rows: Sequence[Row], unpriced: Mapping[str, int]) -> Iterator[str]:
    """Say which threshold suits, and what the figures mean.

    Args:
        rows: The table.
        unpriced: How many sessions have no cost, by reason.
    """
    for reason, sessions in unpriced.items():
        yield from wrapped(f"Costs leave out {counted(sessions, 'session')}: {reason}.", WIDTH)
    if unpriced:
        yield from wrapped(HOW_TO_PRICE, WIDTH)
        yield ""
    found = cheapest(rows)
    if found is not None:
        row, change = found
        what = f"{row.variant.strategy} {threshold_text(row.variant)}".strip()
        yield from wrapped(
            f"Cheapest here if every cliff causes {_STEPS} extra steps: {what}"
            + (f" ({100 * change:+.1f} % by the engine model)." if row.variant != BASE else ".")
            + " `cuesta tune` looks for the threshold that suits these sessions.",
            WIDTH,
        )
        yield ""
    yield from wrapped(
        "A replay keeps the recorded steps: the model answers as it did, whatever it no longer "
        "sees. `spare`: how many extra steps a cliff may cause before it saves nothing.",
        WIDTH,
    )
    yield from wrapped(
        "Engine model: a prompt finds in the cache what the one before it began with, in the "
        "provider's blocks, minimum and lifetime, so the head stays cached across a cliff. "
        "Perfect cache: the paper's, where a prompt that shrank is charged anew, all of it.",
        WIDTH,
    )


def read(summary: Summary) -> Iterator[str]:
    """Say what was read, and what could not be."""
    harnesses = (f"{count:,} {name}" for name, count in summary.sessions.most_common())
    billed = ""
    if summary.prompt:
        billed = (
            f"; billed: {short_tokens(summary.prompt)} prompt and"
            f" {short_tokens(summary.output)} output tokens"
        )
        if summary.billed_calls < summary.calls:
            billed += f" of {summary.billed_calls:,} calls"
    yield from wrapped(
        f"{counted(sum(summary.sessions.values()), 'session')} ({', '.join(harnesses)}),"
        f" {counted(summary.calls, 'call')}{billed}.",
        WIDTH,
    )
    for reason, paths in sorted(summary.others.items()):
        named = ", ".join(paths[:_NAMED])
        more = f" and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else ""
        yield from wrapped(f"{len(paths):,} without a session ({reason}): {named}{more}", WIDTH)
    if summary.problems:
        yield f"{counted(summary.problems.total(), 'thing')} could not be read:"
        yield from problems(summary.problems)


def sources(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Write a table of what each file holds; foreign, empty and broken ones are named."""
    yield _FILE.format(
        _end("file", _PATH), "sessions", "calls", "turns", "human", "tools", "billed"
    )
    for outcome in outcomes:
        if tallies := outcome.tallies:
            usage = sum(one.usage.prompt + one.usage.output for one in tallies)
            yield _FILE.format(
                _end(outcome.task.path, _PATH),
                f"{len(tallies):,}",
                *(
                    f"{sum(getattr(one, name) for one in tallies):,}"
                    for name in ("calls", "turns", "human", "tool_calls")
                ),
                short_tokens(usage) if usage else "-",
            )
        for path, reason in outcome.others:
            yield f"{_end(path, _PATH)} {fitted(reason, WIDTH - _PATH - 1)}".rstrip()
        yield from problems(outcome.problems)


def problems(counts: Mapping[str, int]) -> Iterator[str]:
    """Write what could not be read, by reason."""
    for reason, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        yield from (f"  {line}" for line in wrapped(f"{count:,} x {reason}", WIDTH - 2))


def _end(text: str, width: int) -> str:
    """Return the end of a path, which tells more than its beginning, in so many cells."""
    shown = text if len(text) < width else "..." + text[len(text) - width + 4 :]
    return fitted(shown, width)
