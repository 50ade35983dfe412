"""Literal pieces of texts: whole, or cut at a code point with an explicit mark.

A cut never splits what a reader sees as one character: it backs off before combining marks,
variation selectors and joiners.
"""

from __future__ import annotations

import re
import unicodedata

CUT = "[…]"
"""Stands where text was cut out; the digest's header explains it."""

_JOINER = "\u200d"
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def literal(text: str) -> str:
    """Return the text without surrounding blanks, lone surrogates replaced by U+FFFD.

    A lone surrogate cannot travel in UTF-8; it is the only character ever replaced.
    """
    text = text.strip()
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)


def first(text: str, limit: int) -> str:
    """Keep the first `limit` characters, marked where something is missing."""
    text = literal(text)
    if len(text) <= limit:
        return text
    return text[: _back_off(text, limit)].rstrip() + CUT


def ends(text: str, limit: int) -> str:
    """Keep head and tail, `limit` characters in all, marked where the middle is missing.

    Two thirds go to the head: it tells what the text is, the tail how it ended.
    """
    text = literal(text)
    if len(text) <= limit:
        return text
    head = _back_off(text, limit * 2 // 3)
    tail = _go_on(text, len(text) - (limit - limit * 2 // 3))
    return f"{text[:head].rstrip()}{CUT}{text[tail:].lstrip()}"


def _extends(text: str, at: int) -> bool:
    """Tell whether the character at `at` belongs to the one before it."""
    if at <= 0 or at >= len(text):
        return False
    char = text[at]
    return (
        unicodedata.combining(char) != 0
        or unicodedata.category(char) in {"Mn", "Me", "Mc"}
        or char == _JOINER
        or ord(char) in _SKIN_TONES
        or text[at - 1] == _JOINER
    )


def _back_off(text: str, at: int) -> int:
    while _extends(text, at):
        at -= 1
    return at


def _go_on(text: str, at: int) -> int:
    while _extends(text, at):
        at += 1
    return at
