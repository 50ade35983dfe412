"""Who speaks in a user message: a person, or the harness in the person's place.

Harnesses put reminders and notices into user messages, between tags of their own. Source: Claude
Code's requests as observed; other harnesses' text counts as a person's until a row names it,
because losing an instruction is worse than keeping a notice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cuesta.core.compact import Voice

_TAGS = (
    "system-reminder",
    "task-notification",
    "local-command-caveat",
    "local-command-stdout",
    "local-command-stderr",
    "command-name",
    "command-message",
    "command-args",
    "environment_context",
)
_OPENING = re.compile(r"<(" + "|".join(_TAGS) + r")>", re.IGNORECASE)
_CLOSING = {tag: re.compile(f"</{tag}>", re.IGNORECASE) for tag in _TAGS}
_GIST = 60


def voices(text: str) -> tuple[Voice, ...]:
    """Divide a user text into stretches by who speaks; stretches of blanks are left out."""
    if "<" not in text:
        return (Voice(text),) if text.strip() else ()
    found = []
    position = 0
    for tag, start, stop, end in _notices(text):
        found.append(Voice(text[position:start]))
        inner = text[start + len(tag) + 2 : stop]
        found.append(Voice(inner, notice=_kind(tag, inner)))
        position = end
    found.append(Voice(text[position:]))
    return tuple(voice for voice in found if voice.text.strip())


def _notices(text: str) -> Iterator[tuple[str, int, int, int]]:
    """Yield each notice's tag, and where it begins, its text ends, and it ends, in linear time."""
    position = 0
    unclosed: set[str] = set()
    while (opening := _OPENING.search(text, position)) is not None:
        tag = opening[1].lower()
        closing = None if tag in unclosed else _CLOSING[tag].search(text, opening.end())
        if closing is None:
            unclosed.add(tag)
            position = opening.end()
            continue
        position = closing.end()
        yield tag, opening.start(), closing.start(), position


def _kind(tag: str, text: str) -> str:
    """Name a kind of notice by its tag and how it begins: its figures and lists come later."""
    return f"{tag.lower()} {' '.join(text.split())[:_GIST]}"


def is_human(text: str) -> bool:
    """Tell whether a person speaks anywhere in a user text."""
    return any(not voice.notice for voice in voices(text))
