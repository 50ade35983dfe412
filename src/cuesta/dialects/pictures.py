"""How large a picture is, told from the first bytes of its file: PNG, JPEG, GIF or WebP.

Nothing here raises: whatever cannot be read is of unknown size, (0, 0).
"""

from __future__ import annotations

import binascii
from collections.abc import Callable

Size = tuple[int, int]
"""Width and height in pixels."""
UNKNOWN: Size = (0, 0)

_SHORT = 64
"""Base64 characters that hold the size of every format but JPEG."""
_LONG = 1 << 17
"""Base64 characters of a JPEG that are looked at: its size may stand behind a preview."""
_LARGEST = 1 << 16
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG markers of a frame, which tells the size."""
_ALONE = frozenset({0x01, *range(0xD0, 0xD9)})
"""JPEG markers without a segment."""


def encoded_size(data: str) -> Size:
    """Return the size of a picture in base64."""
    head = _decode(data, _SHORT)
    size = UNKNOWN
    if head.startswith(b"\xff\xd8"):
        size = _jpeg(_decode(data, _LONG))
    else:
        for magic, read in _READERS:
            if head.startswith(magic):
                size = read(head)
    return size if all(0 < side <= _LARGEST for side in size) else UNKNOWN


def url_size(url: str) -> Size:
    """Return the size of a picture in a `data:` URL; one that is elsewhere is of unknown size."""
    comma = url.find(",", 0, 200)
    if comma < 0 or not url.startswith("data:"):
        return UNKNOWN
    return encoded_size(url[comma + 1 : comma + 1 + _LONG])


def _decode(data: str, characters: int) -> bytes:
    """Decode the beginning of base64, or nothing where it is none."""
    head = "".join(data[:characters].split())
    try:
        return binascii.a2b_base64(head[: len(head) - len(head) % 4])
    except ValueError:
        return b""


def _number(raw: bytes, start: int, length: int) -> int:
    """Read a number, least byte first; 0 where bytes are missing."""
    return int.from_bytes(raw[start : start + length], "little")


def _png(raw: bytes) -> Size:
    return int.from_bytes(raw[16:20], "big"), int.from_bytes(raw[20:24], "big")


def _gif(raw: bytes) -> Size:
    return _number(raw, 6, 2), _number(raw, 8, 2)


def _webp(raw: bytes) -> Size:
    if raw[12:16] == b"VP8X":
        return _number(raw, 24, 3) + 1, _number(raw, 27, 3) + 1
    if raw[12:16] == b"VP8L":
        bits = _number(raw, 21, 4)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if raw[12:16] == b"VP8 ":
        return _number(raw, 26, 2) & 0x3FFF, _number(raw, 28, 2) & 0x3FFF
    return UNKNOWN


def _jpeg(raw: bytes) -> Size:
    """Walk the segments up to the first frame."""
    at = 2
    while at + 9 <= len(raw) and raw[at] == 0xFF:
        marker = raw[at + 1]
        if marker in _FRAMES:
            return int.from_bytes(raw[at + 7 : at + 9], "big"), int.from_bytes(
                raw[at + 5 : at + 7], "big"
            )
        if marker == 0xFF:
            at += 1
        elif marker in _ALONE:
            at += 2
        else:
            at += 2 + int.from_bytes(raw[at + 2 : at + 4], "big")
    return UNKNOWN


_READERS: tuple[tuple[bytes, Callable[[bytes], Size]], ...] = (
    (b"\x89PNG\r\n\x1a\n", _png),
    (b"GIF8", _gif),
    (b"RIFF", _webp),
)
