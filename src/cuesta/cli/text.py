"""Text that somebody else chose, made fit for a terminal: no controls, measured in cells."""

from __future__ import annotations

import unicodedata

_CUT = "..."
_MARKS = frozenset({"Mn", "Me"})


def printable(text: str) -> str:
    """Return text on one line that moves no cursor and changes nobody's direction of writing.

    Controls, line and paragraph separators, bidirectional and other format characters, surrogates
    and what Unicode has not assigned become `?`; so does a mark that stands on another mark.
    """
    shown = []
    after_mark = True
    for char in unicodedata.normalize("NFC", text):
        mark = unicodedata.category(char) in _MARKS
        shown.append(char if char.isprintable() and not (mark and after_mark) else "?")
        after_mark = mark
    return "".join(shown)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 call`, `2,000 calls`."""
    return f"{number:,} {noun}{'s' if number != 1 else ''}"


def cells(text: str) -> int:
    """Return how many columns of a terminal printable text takes."""
    return sum(map(_width, text))


def fitted(text: str, width: int) -> str:
    """Return text made printable, cut or filled to exactly `width` cells."""
    shown = printable(text)
    if cells(shown) > width:
        shown = _start(shown, width - len(_CUT)) + _CUT
    return shown + " " * (width - cells(shown))


def wrapped(text: str, width: int) -> list[str]:
    """Return text made printable, in lines of at most `width` cells; longer words are broken."""
    lines: list[str] = []
    line = ""
    for word in _words(printable(text), width):
        if line and cells(line) + 1 + cells(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line] if line else lines


def _words(text: str, width: int) -> list[str]:
    """Return the words of a text, those that fit no line in pieces."""
    words = []
    for word in text.split():
        left = word
        while cells(left) > width and (piece := _start(left, width)):
            words.append(piece)
            left = left[len(piece) :]
        words.append(left)
    return words


def _start(text: str, width: int) -> str:
    """Return the longest beginning that takes at most `width` cells."""
    room = width
    for index, char in enumerate(text):
        room -= _width(char)
        if room < 0:
            return text[:index]
    return text


def _width(char: str) -> int:
    if unicodedata.category(char) in _MARKS:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
