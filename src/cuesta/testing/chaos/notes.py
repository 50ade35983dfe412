"""What a proxy said of a request, and what had been lost when it was planned."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NOTE = re.compile(r"(?P<action>\w+); (?P<reason>.*?)(?:; \d+ -> \d+ tokens)?(?:; cliffs .*)?$")
_CLIFFS = re.compile(r"; cliffs (?P<count>\d+)(?P<new>, new)?(?P<external> and external)?$")


@dataclass(frozen=True, slots=True)
class Note:
    """What `x-cuesta` says.

    Attributes:
        action: `keep`, `replace`, `pass`, `failed`.
        reason: Why.
        cliffs: How many so far.
        new: Whether the last one fell now.
        external: Whether something else than the estimate caused it.
    """

    action: str = ""
    reason: str = ""
    cliffs: int = 0
    new: bool = False
    external: bool = False

    @staticmethod
    def read(text: str) -> Note:
        """Read the header's value; empty where there was none."""
        said, cliffs = _NOTE.match(text), _CLIFFS.search(text)
        if said is None:
            return Note()
        if cliffs is None:
            return Note(said["action"], said["reason"])
        return Note(
            said["action"],
            said["reason"],
            int(cliffs["count"]),
            new=bool(cliffs["new"]),
            external=bool(cliffs["external"]),
        )


@dataclass(frozen=True, slots=True)
class Lost:
    """What had been lost of a proxy's databases when a request was planned.

    Attributes:
        count: How many databases.
        kind: How the last one was.
    """

    count: int = 0
    kind: str = ""
