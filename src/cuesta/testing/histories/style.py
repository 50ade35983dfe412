"""How a client writes JSON: whitespace, key order, escapes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from cuesta.testing.histories.features import Dice, Feature

Block = dict[str, Any]
"""One JSON object of the wire: a content block, an item, a tool, a field of the body."""

_DEPTH = 2
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
    _keys: dict[str, bytes] = field(init=False, default_factory=dict)

    def encode(self, value: object) -> bytes:
        """Write one JSON value."""
        text = _encoder(self.separators, self.ascii).encode(_ordered(value, self.order, _DEPTH))
        for letter in self.escaped:
            text = text.replace(letter, f"\\u{ord(letter):04x}")
        return (text.replace("/", "\\/") if self.solidus else text).encode()

    def items(self, values: Sequence[object]) -> bytes:
        """Write values as they stand in an array, without its brackets."""
        return self.encode(values)[1:-1]

    def array(self, items: Iterable[bytes]) -> bytes:
        """Write an array of values that are written already."""
        return b"[" + self.separators[0].encode().join(items) + b"]"

    def fields(self, fields: Block) -> list[tuple[str, bytes]]:
        """Write the values of an object's fields."""
        return [(key, self.encode(value)) for key, value in fields.items()]

    def body(self, fields: Sequence[tuple[str, bytes]]) -> bytes:
        """Write a request body from fields that are written already, in the style's order."""
        if self.order == "reversed":
            fields = fields[::-1]
        elif self.order == "sorted":
            fields = sorted(fields)
        comma, colon = (separator.encode() for separator in self.separators)
        inner = comma.join(self._key(key) + colon + value for key, value in fields)
        edge = self.edge.encode()
        return edge + b"{" + inner + b"}" + edge

    def _key(self, key: str) -> bytes:
        if key not in self._keys:
            self._keys[key] = self.encode(key)
        return self._keys[key]


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
