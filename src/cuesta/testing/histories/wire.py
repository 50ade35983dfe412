"""Messages and how a client writes them: markers, strings or arrays, whitespace, escapes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from cuesta.testing.histories.features import Dice, Feature

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Block = dict[str, Any]
"""One JSON object of the wire: a content block, a tool, a field of the body."""

_UNMARKABLE = frozenset({"thinking", "redacted_thinking", "future_block"})
_DEPTH = 2
_MARKER = {"type": "ephemeral"}
_ESCAPABLE = "gikpyzQXG"  # no letter of an escape, a hexadecimal digit or a literal


@dataclass(frozen=True, slots=True, eq=False)
class Style:
    """How one client writes JSON. It has one style for as long as it lives.

    Attributes:
        separators: Between items and between key and value, as `json.dumps` takes them.
        ascii: Whether everything else is written as escapes (emoji as surrogate pairs).
        order: Keys as built, reversed or sorted: those of a message and of its blocks. Inside of a
            block the order stays, since there it belongs to what the model sees.
        escaped: Letters written as escapes although they need none, keys included.
        solidus: Whether `/` is written as an escape.
        edge: Whitespace before and after the body.
        markers: Whether the newest message's last block carries `cache_control`.
        strings: Whether a message of one text without a marker is written as a string.
        odd: Whether few clients write like this.
    """

    separators: tuple[str, str] = (",", ":")
    ascii: bool = False
    order: str = "built"
    escaped: str = ""
    solidus: bool = False
    edge: str = ""
    markers: bool = False
    strings: bool = False
    odd: bool = False

    def encode(self, value: object) -> bytes:
        """Write one JSON value."""
        text = _encoder(self.separators, self.ascii).encode(_ordered(value, self.order, _DEPTH))
        for letter in self.escaped:
            text = text.replace(letter, f"\\u{ord(letter):04x}")
        return (text.replace("/", "\\/") if self.solidus else text).encode()

    def array(self, items: Iterable[bytes]) -> bytes:
        """Write an array of values that are written already."""
        return b"[" + self.separators[0].encode().join(items) + b"]"

    def body(self, fields: Sequence[tuple[str, bytes]]) -> bytes:
        """Write a request body from fields that are written already, in the style's order."""
        if self.order == "reversed":
            fields = fields[::-1]
        elif self.order == "sorted":
            fields = sorted(fields)
        comma, colon = (separator.encode() for separator in self.separators)
        inner = comma.join(self.encode(key) + colon + value for key, value in fields)
        edge = self.edge.encode()
        return edge + b"{" + inner + b"}" + edge


@cache
def _encoder(separators: tuple[str, str], ascii_only: bool) -> json.JSONEncoder:
    return json.JSONEncoder(ensure_ascii=ascii_only, separators=separators)


def _ordered(value: object, order: str, depth: int) -> object:
    if order == "built" or not depth:
        return value
    if isinstance(value, list):
        return [_ordered(item, order, depth) for item in value]
    if isinstance(value, dict):
        keys = sorted(value) if order == "sorted" else reversed(value)
        return {key: _ordered(value[key], order, depth - 1) for key in keys}
    return value


def draw_style(dice: Dice) -> Style:
    """Draw how a client writes; only with `ODD_JSON` in a way that few clients do."""
    rng = dice.rng
    marked = Feature.MARKER_FLIPS in dice.drawn
    strings = marked or dice.chance(0.3)
    if Feature.ODD_JSON not in dice.drawn:
        plain = rng.choice([(",", ":"), (", ", ": ")])
        return Style(plain, ascii=dice.chance(0.5), markers=marked, strings=strings)
    return Style(
        separators=rng.choice([(" , ", " : "), (",\n\t", ":\r\n "), (",", ": "), (", ", " :")]),
        ascii=dice.chance(0.7),
        order=rng.choice(["built", "reversed", "sorted"]),
        escaped="".join(rng.sample(_ESCAPABLE, rng.randrange(3))),
        solidus=dice.chance(0.3),
        edge=rng.choice(["", "\n", " \t", "\r\n\r\n"]),
        markers=marked,
        strings=strings,
        odd=True,
    )


@dataclass(slots=True, eq=False)
class Message:
    """One message of a client's history. It never changes; an edit puts another in its place.

    Attributes:
        role: `user`, `assistant` or `system`.
        content: A string or blocks, as the client keeps it.
        extra: Further fields of the message, such as `output_config`.
        human: Whether a person typed it, so that a client offers to go back to it.
        thinks: Whether a thinking block stands in it.
    """

    role: str
    content: str | list[Block]
    extra: Block = field(default_factory=dict)
    human: bool = False
    thinks: bool = field(init=False)
    _written: dict[bool, bytes] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.thinks = self.role == "assistant" and any(map(is_thinking, self.blocks))

    @property
    def blocks(self) -> list[Block]:
        """The content as blocks, whichever way it is kept."""
        if isinstance(self.content, str):
            return [{"type": "text", "text": self.content}]
        return self.content

    def written(self, style: Style, *, last: bool) -> bytes:
        """Write the message, once; the last one of a request carries the client's marker."""
        marked = last and style.markers
        if marked not in self._written:
            content = _marked(self.blocks) if marked else self._unmarked(style)
            written = style.encode({"role": self.role, "content": content, **self.extra})
            self._written[marked] = written
        return self._written[marked]

    def _unmarked(self, style: Style) -> str | list[Block]:
        blocks = self.blocks
        lone_text = len(blocks) == 1 and blocks[0].keys() == {"type", "text"}
        return blocks[0]["text"] if style.strings and lone_text else self.content


def is_thinking(block: Block) -> bool:
    """Tell whether a block carries a signature over what stands before it."""
    return block["type"] in {"thinking", "redacted_thinking"}


def _marked(blocks: list[Block]) -> list[Block]:
    if not blocks or blocks[-1]["type"] in _UNMARKABLE:
        return blocks
    return [*blocks[:-1], {**blocks[-1], "cache_control": _MARKER}]
