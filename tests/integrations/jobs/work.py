"""What every job's tool gives back: the same for the same page, of different sizes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

TASK = "Read the pages that you need and say what they have in common. Change nothing."
SYSTEM = "You are a careful reader. You read pages with the tool `look`."
MODELS = {"anthropic": "claude-opus-5-5", "openai": "gpt-5.5"}


class Job(NamedTuple):
    """What a job is called with; see `Row` in scripts/adapter_rows.py.

    Attributes:
        name: The row's name.
        url: Where the provider listens, without `/v1`.
        out: Where the result goes.
        options: What the adapter is made with; None: no adapter.
    """

    name: str
    url: str
    out: Path
    options: dict[str, Any] | None

    def done(self, adapter: Any = None) -> None:
        """Write what an adapter counted; None: there was none, or it is elsewhere."""
        counted = {k: getattr(adapter, k) for k in ("cliffs", "failures") if adapter}
        self.out.write_text(json.dumps(counted))


def job() -> Job:
    """Read the command line."""
    name, url, out, options = sys.argv[1:]
    return Job(name, url, Path(out), json.loads(options))


def look(page: int) -> str:
    """Return a page's text: most of them long, every fifth short."""
    if page % 5 == 4:
        return f"Page {page} is empty."
    return "\n".join(
        f"{page}.{line} The heron of lot {(page * 37 + line * 11) % 97} — see entry {page + line}."
        for line in range(1, 60 + page % 7)
    )
