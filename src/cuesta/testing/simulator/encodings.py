"""Compression of bodies, both ways: whole, and event by event."""

from __future__ import annotations

import io
import zlib
from typing import TYPE_CHECKING, Protocol

import brotli  # type: ignore[import-untyped]
import zstandard

if TYPE_CHECKING:
    from collections.abc import Callable

ENCODINGS = ("zstd", "br", "gzip", "deflate")
IDENTITY = "identity"

_CAP = 64 * 1024 * 1024


class Encoder(Protocol):
    """Compresses a body piece by piece."""

    def add(self, data: bytes) -> bytes:
        """Return bytes from which everything added so far can be read."""
        ...

    def finish(self) -> bytes:
        """Return the end of the body."""
        ...


class _Zlib:
    def __init__(self, wbits: int) -> None:
        self._inner = zlib.compressobj(wbits=wbits)

    def add(self, data: bytes) -> bytes:
        return self._inner.compress(data) + self._inner.flush(zlib.Z_SYNC_FLUSH)

    def finish(self) -> bytes:
        return self._inner.flush(zlib.Z_FINISH)


class _Zstd:
    def __init__(self) -> None:
        self._inner = zstandard.ZstdCompressor().compressobj()

    def add(self, data: bytes) -> bytes:
        flush = zstandard.COMPRESSOBJ_FLUSH_BLOCK
        return self._inner.compress(data) + self._inner.flush(flush)

    def finish(self) -> bytes:
        return self._inner.flush(zstandard.COMPRESSOBJ_FLUSH_FINISH)


class _Brotli:
    def __init__(self) -> None:
        self._inner = brotli.Compressor(quality=4)

    def add(self, data: bytes) -> bytes:
        return bytes(self._inner.process(data) + self._inner.flush())

    def finish(self) -> bytes:
        return bytes(self._inner.finish())


class _Plain:
    def add(self, data: bytes) -> bytes:
        return data

    def finish(self) -> bytes:
        return b""


_ENCODERS: dict[str, Callable[[], Encoder]] = {
    "zstd": _Zstd,
    "br": _Brotli,
    "gzip": lambda: _Zlib(31),
    "deflate": lambda: _Zlib(15),
    IDENTITY: _Plain,
}


def encoder(name: str) -> Encoder:
    """Return a new encoder: one of `ENCODINGS`, or `identity`."""
    return _ENCODERS[name]()


def accepted(header: str) -> list[str]:
    """Return which of `ENCODINGS` an `Accept-Encoding` header allows, in their own order."""
    weights: dict[str, float] = {}
    for part in header.lower().split(","):
        name, _, quality = part.strip().partition(";")
        value = quality.strip().removeprefix("q=")
        weights[name.strip()] = float(value) if value else 1.0
    other = weights.get("*", 0.0)
    return [name for name in ENCODINGS if weights.get(name, other) > 0]


def decode(data: bytes, name: str) -> bytes:
    """Return a body decompressed.

    Args:
        data: The body as sent.
        name: Its `Content-Encoding`, or empty.

    Raises:
        ValueError: If it is no such encoding, is damaged, or grows beyond 64 MiB.
    """
    try:
        plain = _decode(data, name.strip().lower())
    except (zlib.error, zstandard.ZstdError, brotli.error) as error:
        raise ValueError(f"the body is not {name}: {error}") from None
    if len(plain) > _CAP:
        raise ValueError("the body is too large when decompressed")
    return plain


def _decode(data: bytes, name: str) -> bytes:
    if name in {"", IDENTITY}:
        return data
    if name == "gzip":
        return zlib.decompressobj(wbits=31).decompress(data, _CAP + 1)
    if name == "deflate":
        return zlib.decompressobj(wbits=15).decompress(data, _CAP + 1)
    if name == "br":
        return bytes(brotli.decompress(data))
    if name == "zstd":
        return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read(_CAP + 1)
    raise ValueError(f"unsupported content encoding `{name}`")
