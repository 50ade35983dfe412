"""One file a verb; the only room that prints."""

from __future__ import annotations

import sys
import textwrap


def tell(message: str) -> None:
    """Print to a person beside the output proper: printable, wrapped at 80 columns."""
    from cuesta.cli.text import printable  # noqa: PLC0415 - `import cuesta.cli` stays cheap

    for line in f"cuesta: {message}".split("\n"):
        lines = textwrap.wrap(printable(line), 80, break_long_words=False, break_on_hyphens=False)
        print("\n".join(lines), file=sys.stderr)
