"""What saved sessions are replayed under, as commands are told it: strategies and thresholds."""

from __future__ import annotations

import argparse

_LEAST = 1_000
"""Smaller thresholds leave no room for a conversation."""


def add_strategy_flags(group: argparse._ArgumentGroup, strategies: str, at_thresholds: str) -> None:
    """Give a group of a parser the flags `--strategy` and `--threshold`; unused, they are empty.

    Args:
        group: The group.
        strategies: The command's own choice, for its help.
        at_thresholds: Likewise.
    """
    group.add_argument(
        "--strategy",
        type=names,
        action="extend",
        default=[],
        metavar="NAMES",
        help=f"strategies, with commas between (default: {strategies})",
    )
    group.add_argument(
        "--threshold",
        type=thresholds,
        action="extend",
        default=[],
        metavar="SIZES",
        help=f"thresholds in tokens, with commas between (default: {at_thresholds})",
    )


def names(text: str) -> list[str]:
    """Read names with commas between."""
    return [part.strip() for part in text.split(",") if part.strip()]


def thresholds(text: str) -> list[int]:
    """Read numbers of tokens with commas between; `auto` is 0."""
    return [0 if part == "auto" else size(part) for part in names(text)]


def size(text: str) -> int:
    """Read a number of tokens: `32000`, `32K` or `1M`.

    Raises:
        argparse.ArgumentTypeError: If it is none, or too small for a conversation.
    """
    unit = {"k": 1_000, "m": 1_000_000}.get(text[-1:].lower(), 1)
    try:
        tokens = round(float(text[:-1] if unit > 1 else text) * unit)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"expected tokens such as 32K, not {text!r}") from None
    if tokens < _LEAST:
        raise argparse.ArgumentTypeError(f"expected at least {_LEAST} tokens, not {text!r}")
    return tokens
