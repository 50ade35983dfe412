"""Numbers as text, rounded to what can be read."""

from __future__ import annotations

DASH = "\N{EN DASH}"


def short(tokens: float) -> str:
    """Return tokens in a few characters: `950`, `16K`, `31.4K`, `333M`."""
    for unit, size in (("B", 1e9), ("M", 1e6), ("K", 1e3)):
        # What would round up to the next unit is written in it.
        if tokens >= 0.9995 * size:
            digits = 1 if tokens < 99.95 * size else 0
            return f"{tokens / size:.{digits}f}".removesuffix(".0") + unit
    return f"{tokens:.0f}"


def dollars(cost: float | None) -> str:
    """Return US dollars, or a dash where they are not known."""
    if cost is None:
        return DASH
    return f"${cost:,.2f}" if abs(cost) >= 0.1 or not cost else f"${cost:.4f}"


def signed_percent(part: float | None) -> str:
    """Return a change, or a dash where it is not known."""
    return DASH if part is None else f"{100 * part:+.1f} %".replace("-", "\N{MINUS SIGN}")


def percent(part: float) -> str:
    """Return a part of a whole."""
    return f"{100 * part:.1f} %"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 call`, `2,000 calls`."""
    return f"{number:,} {noun}{'s' if number != 1 else ''}"
