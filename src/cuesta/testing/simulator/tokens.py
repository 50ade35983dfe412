"""The simulator's own token counter: deterministic, and nobody else's estimate."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from cuesta.testing.simulator.canon import Json, blocks_of, dump
from cuesta.testing.simulator.images import picture_of

if TYPE_CHECKING:
    from collections.abc import Callable

CHARACTERS_PER_TOKEN = 3.5
MESSAGE_OVERHEAD = 4
TOOLS_OVERHEAD = 290
SEALED_OVERHEAD = 96
"""Bytes of a signature that hold no thinking."""

_PIXELS_PER_TOKEN = 750
_UNKNOWN_PICTURE = 1500
_WIDE = re.compile(
    r"[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)


def count_text(text: str) -> int:
    """Count the tokens of a text: 3.5 characters each, East Asian ones one each."""
    wide = 0 if text.isascii() else len(_WIDE.findall(text))
    return wide + math.ceil((len(text) - wide) / CHARACTERS_PER_TOKEN)


def cut_tokens(text: str, tokens: int) -> str:
    """Return the beginning of a text that has so many tokens; all of it where it has fewer."""
    if text.isascii():
        return text[: math.floor(tokens * CHARACTERS_PER_TOKEN)]
    wide = narrow = 0
    for place, character in enumerate(text):
        is_wide = _WIDE.match(character) is not None
        wide, narrow = wide + is_wide, narrow + (not is_wide)
        if wide + math.ceil(narrow / CHARACTERS_PER_TOKEN) > tokens:
            return text[:place]
    return text


def count_block(block: Json) -> int:
    """Count the tokens of one content block."""
    return _COUNTERS.get(str(block.get("type")), _count_unknown)(block)


def _count_plain_text(block: Json) -> int:
    return count_text(str(block.get("text", "")))


def _count_thinking(block: Json) -> int:
    return max(count_text(str(block.get("thinking", ""))), _sealed(block))


def _count_call(block: Json) -> int:
    return 12 + count_text(str(block.get("name", ""))) + count_text(dump(block.get("input")))


def _count_result(block: Json) -> int:
    return 10 + sum(count_block(inner) for inner in blocks_of(block.get("content")))


def _count_unknown(block: Json) -> int:
    return count_text(dump(block))


def _sealed(block: Json) -> int:
    """Count the thinking that a signature hides: what the display omits is billed all the same."""
    seal = str(block.get("signature") or block.get("data") or "")
    return max(0, math.floor((len(seal) * 3 / 4 - SEALED_OVERHEAD) / CHARACTERS_PER_TOKEN))


def _count_image(block: Json) -> int:
    picture = picture_of(block)
    if picture is None or picture.size is None:
        return _UNKNOWN_PICTURE
    width, height = picture.size
    return math.ceil(width * height / _PIXELS_PER_TOKEN)


_COUNTERS: dict[str, Callable[[Json], int]] = {
    "text": _count_plain_text,
    "thinking": _count_thinking,
    "redacted_thinking": _count_thinking,
    "tool_use": _count_call,
    "tool_result": _count_result,
    "image": _count_image,
    "document": lambda _: _UNKNOWN_PICTURE,
}
