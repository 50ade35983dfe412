"""One file a verb; the only room that prints."""

from __future__ import annotations

import sys
import textwrap


def tell(message: str) -> None:
    """Print to a person beside the output proper: wrapped at 80 columns, line by line."""
    for line in f"cuesta: {message}".splitlines():
        lines = textwrap.wrap(line, 80, break_long_words=False, break_on_hyphens=False)
        print("\n".join(lines), file=sys.stderr)
