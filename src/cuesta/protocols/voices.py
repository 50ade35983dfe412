"""Who speaks in a user message: a person, or the harness in the person's place.

Harnesses put reminders and notices into user messages, between tags of their own. Source: Claude
Code's requests as observed; other harnesses' text counts as a person's until a row names it,
because losing an instruction is worse than keeping a notice.
"""

from __future__ import annotations

import re

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
_NOTICE = re.compile(
    r"<(?P<tag>" + "|".join(_TAGS) + r")>(?P<text>.*?)</(?P=tag)>", re.DOTALL | re.IGNORECASE
)
_GIST = 60


def voices(text: str) -> tuple[Voice, ...]:
    """Divide a user text into stretches by who speaks; stretches of blanks are left out."""
    if "<" not in text:
        return (Voice(text),) if text.strip() else ()
    found = []
    position = 0
    for match in _NOTICE.finditer(text):
        found.append(Voice(text[position : match.start()]))
        found.append(Voice(match["text"], notice=_kind(match["tag"], match["text"])))
        position = match.end()
    found.append(Voice(text[position:]))
    return tuple(voice for voice in found if voice.text.strip())


def _kind(tag: str, text: str) -> str:
    """Name a kind of notice by its tag and how it begins: its figures and lists come later."""
    return f"{tag.lower()} {' '.join(text.split())[:_GIST]}"


def is_human(text: str) -> bool:
    """Tell whether a person speaks anywhere in a user text."""
    return any(not voice.notice for voice in voices(text))
