"""The strings that a step must know: paths, identifiers, numbers, quoted phrases.

They are read off a text by form alone, so that nobody chooses what a probe asks for. A string
counts as visible where it stands verbatim and whole: `run` does not stand in `running`, but
`src/run.py` stands in `/repo/src/run.py`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import accumulate

from cuesta.core.transcript import Block, BlockKind, Message


class Kind(Enum):
    """What form a string has."""

    PATH = "path"
    IDENTIFIER = "identifier"
    WORD = "plain word"
    NUMBER = "number"
    PHRASE = "phrase"


_NAME = r"[\w.@+~-]"
_LONGEST = 200
_WORD = re.compile(
    rf"(?P<path>{_NAME}{{0,80}}(?:/{_NAME}{{1,80}})+)"
    r"|(?P<number>(?<![\w.])\d{3,20}(?![\w]))"
    r"|(?P<identifier>(?<!\w)[^\W\d]\w{7,100}(?!\w))"
)
_PLAIN = re.compile(r"[^\W\d_][^\W\dA-Z_]*")
_PHRASE = re.compile(r"""(?P<quote>["'`])(?=\S)([^"'`\n]{8,80})(?<=\S)(?P=quote)""")


def words(text: str) -> dict[str, Kind]:
    """Return the strings of a text that a probe asks for, each once.

    Paths have a slash, identifiers 8 characters or more, numbers 3 digits or more; phrases stand
    between quotes and hold a blank. An identifier that may be a word of prose (small letters only,
    but for the first) is counted apart. What stands in a path does not count again; what stands in
    a phrase does, since only the phrase's parts may have been seen before.
    """
    found: dict[str, Kind] = {}
    for match in _PHRASE.finditer(text):
        if " " in match[2]:
            found.setdefault(match[2], Kind.PHRASE)
    for match in _WORD.finditer(text):
        kind = Kind(match.lastgroup)
        if kind is Kind.IDENTIFIER and _PLAIN.fullmatch(match[0]):
            kind = Kind.WORD
        word = match[0].rstrip(".,-") if kind is Kind.PATH else match[0]
        if 3 <= len(word) <= _LONGEST:
            found.setdefault(word, kind)
    return found


def stands(word: str, text: str, start: int = 0) -> int:
    """Return where a string next stands whole in a text, or -1.

    Args:
        word: The string; not empty.
        text: The text.
        start: Where to begin to look.
    """
    at = text.find(word, start)
    while at >= 0:
        stop = at + len(word)
        begins = not (_inner(word[0]) and at and _inner(text[at - 1])) or _escaped(text, at)
        if begins and not (_inner(word[-1]) and _inner(text[stop : stop + 1])):
            return at
        at = text.find(word, at + 1)
    return -1


def _escaped(text: str, at: int) -> bool:
    """Tell whether a blank as JSON writes it stands before: some harnesses hand on JSON."""
    return text[max(at - 2, 0) : at] in {r"\n", r"\r", r"\t"}


def _inner(char: str) -> bool:
    """Tell whether a character is part of a word; no character is none."""
    return char.isalnum() or char == "_"


def texts_of(block: Block) -> Iterator[str]:
    """Yield what a block says: its texts, a call's name and the leaves of its arguments."""
    if block.name and block.kind is BlockKind.CALL:
        yield block.name
    yield from block.texts
    left: list[object] = [block.arguments] if block.arguments else []
    while left:
        value = left.pop()
        if isinstance(value, Mapping):
            left += reversed(list(value.values()))
        elif isinstance(value, list | tuple):
            left += reversed(value)
        elif value is not None and not isinstance(value, bool):
            yield str(value)


class Concordance:
    """Where strings stand in a sequence of messages, block by block.

    Args:
        messages: The messages, read.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        blocks = [(i, block) for i, message in enumerate(messages) for block in message.blocks]
        texts = ["\n".join(texts_of(block)) for _, block in blocks]
        self._blocks = [(i, block.kind) for i, block in blocks]
        self._starts = list(accumulate((len(text) + 1 for text in texts), initial=0))
        self._text = "\0".join(texts)

    def places(self, word: str) -> tuple[tuple[int, BlockKind], ...]:
        """Return every block that a string stands in: (message number, kind), in order."""
        found = []
        at = stands(word, self._text)
        while at >= 0:
            block = bisect_right(self._starts, at) - 1
            found.append(self._blocks[block])
            at = stands(word, self._text, self._starts[block + 1])
        return tuple(found)
