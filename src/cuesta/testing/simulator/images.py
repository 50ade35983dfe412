"""What an image block tells about its picture without decoding it."""

from __future__ import annotations

import base64
import binascii
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cuesta.testing.simulator.canon import Json

_PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture in a request.

    Attributes:
        bytes: Its length as sent, base64.
        size: Width and height in pixels, or None where the format does not tell.
    """

    bytes: int
    size: tuple[int, int] | None


def picture_of(block: Json) -> Picture | None:
    """Return the picture of an image block that carries its data, else None."""
    source = block.get("source")
    if not isinstance(source, dict) or not isinstance(source.get("data"), str):
        return None
    return Picture(len(source["data"]), _png_size(source["data"]))


def _png_size(data: str) -> tuple[int, int] | None:
    try:
        head = base64.b64decode(data[:44], validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(head) < 24 or not head.startswith(_PNG):
        return None
    width, height = struct.unpack(">II", head[16:24])
    return int(width), int(height)
