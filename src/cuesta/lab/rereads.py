"""What agents read again around the compactions that their own harness made.

These are observations of saved sessions, not predictions: a replay keeps the recorded steps and can
cause no reading.

What counts here is a file: any path with a slash, as probes see it, that a reading call or command
names once more, be it one of many things that the call does. `lab.activity` counts calls: one that
does nothing but read, and opens a file that was open before, with or without a slash in its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cuesta.core.transcript import Block, BlockKind, Role
from cuesta.lab.prepared import Prepared
from cuesta.lab.words import Kind, texts_of, words

STEPS = 10
"""How many steps before and behind a compaction are looked at."""
_READS = re.compile(r"(?i)(?:^|_|\b)(?:read|view|open|cat|show)", re.ASCII)
_COMMAND = re.compile(r"(?:^|[;&|])\s*(?:cat|head|tail|less|nl|sed\s+-n)\s", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Reread:
    """Around one compaction.

    Attributes:
        call: The number of the call before which it was.
        before: Files read again in the steps before it.
        behind: Files read again in as many steps behind it.
    """

    call: int
    before: int
    behind: int


def rereads(prepared: Prepared) -> Iterator[Reread]:
    """Yield what was read again around each compaction with enough steps on both sides."""
    session = prepared.session
    if not session.compactions:
        return
    again = _again(prepared)
    for call in session.compactions:
        if STEPS <= call <= len(again) - STEPS:
            before, behind = again[call - STEPS : call], again[call : call + STEPS]
            yield Reread(call, sum(before), sum(behind))


def _again(prepared: Prepared) -> list[int]:
    """Return how many files each call's answer reads that an earlier one read."""
    seen: set[str] = set()
    counts = []
    for call in prepared.calls:
        read = {
            path
            for message in prepared.read[call.at : prepared.answered(call)]
            if message.role is Role.ASSISTANT
            for block in message.blocks
            for path in _read(block)
        }
        counts.append(len(read & seen))
        seen |= read
    return counts


def _read(block: Block) -> Iterator[str]:
    """Yield the paths that a call reads, as far as its name or its command tells."""
    if block.kind is not BlockKind.CALL:
        return
    text = "\n".join(texts_of(block))
    if _READS.search(block.name) or _COMMAND.search(text):
        yield from (word for word, kind in words(text).items() if kind is Kind.PATH)
