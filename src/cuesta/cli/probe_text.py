"""What `cuesta probe` prints for a person, within 80 columns."""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING

from cuesta.cli.bill import short_tokens
from cuesta.cli.text import printable, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cuesta.lab.losses import Probed, Row
    from cuesta.lab.resample import Interval

WIDTH = 80
_NAME = "{:<20}{:>5}"
_RATES = "{:>8}{:>15}{:>7}{:>8}{:>17}"
_ORIGINS = ("head", "result", "call", "thought", "human", "notice")
_KINDS = ("path", "identifier", "plain word", "number", "phrase")
_DISTANCES = ("1-3", "4-10", "11-30", "31+")
_SHORT = {"identifier": "ident.", "plain word": "words"}


def heading(harness: str, sessions: int, uses: float) -> Iterator[str]:
    """Say whose sessions follow and how much they use."""
    from cuesta.lab.resample import ENOUGH  # noqa: PLC0415 - slow to load

    noun = "session" if sessions == 1 else "sessions"
    line = f"{printable(harness)}: {sessions:,} {noun}, {uses:,.0f} uses in 100 calls"
    if sessions < ENOUGH:
        line += f" (fewer than {ENOUGH} sessions: too few to tell strategies apart)"
    yield from wrapped(line, WIDTH)


def rates(rows: Sequence[Row]) -> Iterator[str]:
    """Write what each variant loses, what it costs, and how it stands to Algorithm 1."""
    yield _NAME.format("", "") + f"{'lost uses':>8}{'95 %':>14}{'':>7}{'against':>8}{'95 %':>17}"
    yield _NAME.format("strategy", "at") + _RATES.format(
        "/100", "interval", "cost", "paper", "interval"
    )
    for row in rows:
        yield (_name(row) + _RATES.format(
            f"{row.rate:.1f}",
            _interval(row.spread, "{:.1f}"),
            "" if row.cost is None else f"{100 * row.cost:.1f}%",
            _percent(row.change),
            _interval(row.change_spread, "{:+.1%}"),
        )).rstrip()  # fmt: skip
    yield from _instead(rows)


def _instead(rows: Sequence[Row]) -> Iterator[str]:
    """Say what raising Algorithm 1's threshold to the same cost would have done."""
    for row in rows:
        name = " ".join(_name(row).split())
        if row.instead is not None:
            yield f"  Algorithm 1, threshold raised to the cost of {name}: {row.instead:.1f}"
        elif row.change is not None and row.cost is not None:
            yield f"  Algorithm 1 costs more than {name} at every threshold tried"


def slices(rows: Sequence[Row]) -> Iterator[str]:
    """Write the rates by origin, by class and by distance."""
    for title, attribute, names in (
        ("by where it first stood", "by_origin", _ORIGINS),
        ("by class", "by_kind", _KINDS),
        ("by calls since it last came in", "by_distance", _DISTANCES),
    ):
        yield title
        columns = "".join(f"{_SHORT.get(name, name):>9}" for name in names)
        yield _NAME.format("", "") + columns
        for row in rows:
            part: Mapping[str, float] = getattr(row, attribute)
            yield _name(row) + "".join(f"{part.get(name, 0.0):>9.1f}" for name in names)


def controls(rows: Sequence[Row]) -> Iterator[str]:
    """Write what the controls lose."""
    yield "controls" + " " * 17 + f"{'/100':>8}{'against the strategy':>22}"
    for row in rows:
        if row.sessions:
            yield (_name(row) + f"{row.rate:>8.1f}{_percent(row.change):>22}").rstrip()


def rereads(sessions: Sequence[Probed]) -> Iterator[str]:
    """Write what was read again around the compactions that harnesses made."""
    from cuesta.lab.rereads import STEPS  # noqa: PLC0415 - slow to load
    from cuesta.lab.resample import interval  # noqa: PLC0415 - likewise

    seen = [[one.behind - one.before for one in s.rereads] for s in sessions if s.rereads]
    flat = [r for session in sessions for r in session.rereads]
    if not flat:
        yield f"No session shows a compaction with {STEPS} steps on both sides: no re-reads seen."
        return
    spread = interval(len(seen), lambda drawn: mean(d for i in drawn for d in seen[i]))
    line = (
        f"Around {len(flat)} compactions of the harnesses' own in {len(seen)} sessions, files were "
        f"read again {mean(r.before for r in flat):.1f} times in the {STEPS} steps before and "
        f"{mean(r.behind for r in flat):.1f} times in the {STEPS} behind: "
        f"{mean(r.behind - r.before for r in flat):+.1f}"
    )
    yield from wrapped(line + (f", 95 % {_interval(spread, '{:+.1f}')}" if spread else ""), WIDTH)


def notes(problems: Mapping[str, int]) -> Iterator[str]:
    """Say what the figures mean."""
    yield from wrapped(
        "Lost: a string that a step's calls use, that stood before, and that its prompt no longer "
        "shows anywhere. Cost: part of keeping all's, engine model. Intervals: sessions drawn "
        "anew. Head only: the head and the last turns. Cut blindly: as many tokens of each digest, "
        "spent on the first part of every block. Shuffled: each string used at another step. "
        "Elsewhere: looked for in another session's prompts. docs/fidelity.md tells more.",
        WIDTH,
    )
    if problems:
        told = "; ".join(f"{count} x {printable(reason)}" for reason, count in problems.items())
        yield from wrapped(f"Not read: {told}.", WIDTH)


def _name(row: Row) -> str:
    variant = row.variant
    name = f"{variant.strategy} {variant.profile}".strip()
    return _NAME.format(name[:20], short_tokens(variant.at) if variant.at else "")


def _percent(part: float | None) -> str:
    return "" if part is None else f"{part:+.1%}"


def _interval(interval: Interval | None, form: str) -> str:
    return "" if interval is None else f"{form.format(interval[0])}..{form.format(interval[1])}"
