"""Content codings, undone piece by piece and in bounded memory.

Rule 1: no call returns more than a bounded piece, however small the input: a body that expands a
thousandfold costs time, never memory.
Rule 2: whoever cannot decode a body still has its bytes; decoding never consumes the original.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

from cuesta.core.errors import RequestError

_PIECE = 256 * 1024
_ZSTD_SLICE = 1024
"""A zstd block of 128 KiB can stand in four bytes, and its decoder has no output limit."""


class UndecodableError(Exception):
    """The bytes are not in the coding that they claim."""


class Decoder(Protocol):
    """Undoes one content coding."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take the next bytes and yield what they decode to, in pieces.

        Raises:
            UndecodableError: If the bytes are broken.
        """

    @property
    def ended(self) -> bool:
        """Whether the input so far is complete."""


def is_plain(encoding: str) -> bool:
    """Tell whether a `Content-Encoding` means that nothing is encoded."""
    return encoding.strip().lower() in ("", "identity")


def decoder_for(encoding: str) -> Decoder | None:
    """Return a decoder for a `Content-Encoding`, or None where it is not one that we know.

    Source: RFC 9110, 8.4.1; RFC 8878 (zstd); RFC 7932 (br).
    """
    make = _DECODERS.get(encoding.strip().lower())
    return make() if make else None


def decode(body: bytes, encoding: str, limit: int) -> bytes:
    """Decode a whole body; one that is plain comes back as it is.

    Args:
        body: The body as received.
        encoding: Its `Content-Encoding`.
        limit: How long the decoded body may be, in bytes.

    Raises:
        UndecodableError: If the coding is unknown or the body is broken or cut short.
        RequestError: If the decoded body is longer than the limit (status 413).
    """
    if is_plain(encoding):
        return body
    decoder = decoder_for(encoding)
    if decoder is None:
        raise UndecodableError(f"unknown content coding {encoding!r}")
    pieces = []
    size = 0
    for piece in decoder.feed(body):
        size += len(piece)
        if size > limit:
            raise RequestError(
                f"the request body is longer than {limit >> 20} MiB once decompressed", 413
            )
        pieces.append(piece)
    if not decoder.ended:
        raise UndecodableError("the body is cut short")
    return b"".join(pieces)


class _Gzip:
    """RFC 1952: members follow one another."""

    def __init__(self) -> None:
        self._inflater = zlib.decompressobj(wbits=31)
        self.ended = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._inflater.eof:
                self._inflater = zlib.decompressobj(wbits=31)
            yield from _inflate(self._inflater, data)
            self.ended = self._inflater.eof
            data = self._inflater.unused_data


class _Deflate:
    """A zlib stream, or the raw deflate stream that some servers send under this name."""

    def __init__(self) -> None:
        self._inflater: zlib._Decompress | None = None
        self._held = b""

    @property
    def ended(self) -> bool:
        return self._inflater is not None and self._inflater.eof

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._inflater is None:
            self._held += data
            if len(self._held) < 2:
                return
            data, self._held = self._held, b""
            self._inflater = zlib.decompressobj(wbits=15 if _is_zlib(data) else -15)
        if not self._inflater.eof:
            yield from _inflate(self._inflater, data)
            data = self._inflater.unused_data
        if data:
            raise UndecodableError("bytes after the end of a deflate stream")


def _is_zlib(data: bytes) -> bool:
    """Tell a zlib header: method 8, and a checksum that 31 divides (RFC 1950, 2.2)."""
    return data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0


def _inflate(inflater: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    while True:
        try:
            piece = inflater.decompress(data, _PIECE)
        except zlib.error as error:
            raise UndecodableError(str(error)) from error
        if piece:
            yield piece
        data = inflater.unconsumed_tail
        if inflater.eof or (not data and len(piece) < _PIECE):
            return


class _Brotli:
    def __init__(self) -> None:
        import brotli  # type: ignore[import-untyped]  # noqa: PLC0415 - few bodies need it

        self._brotli = brotli
        self._decompressor = brotli.Decompressor()

    @property
    def ended(self) -> bool:
        return bool(self._decompressor.is_finished())

    def feed(self, data: bytes) -> Iterator[bytes]:
        while True:
            try:
                piece = self._decompressor.process(data, output_buffer_limit=_PIECE)
            except self._brotli.error as error:
                raise UndecodableError(str(error)) from error
            data = b""
            if not piece:
                return
            yield piece


class _Zstd:
    """RFC 8878: frames follow one another."""

    def __init__(self) -> None:
        import zstandard  # noqa: PLC0415 - few bodies need it

        self._zstandard = zstandard
        self._decompressor = zstandard.ZstdDecompressor()
        self._frame = self._decompressor.decompressobj()

    @property
    def ended(self) -> bool:
        return self._frame.eof

    def feed(self, data: bytes) -> Iterator[bytes]:
        for start in range(0, len(data), _ZSTD_SLICE):
            rest = data[start : start + _ZSTD_SLICE]
            while rest:
                if self._frame.eof:
                    self._frame = self._decompressor.decompressobj()
                try:
                    piece = self._frame.decompress(rest)
                except self._zstandard.ZstdError as error:
                    raise UndecodableError(str(error)) from error
                if piece:
                    yield piece
                rest = self._frame.unused_data


_DECODERS: dict[str, Callable[[], Decoder]] = {
    "gzip": _Gzip,
    "x-gzip": _Gzip,
    "deflate": _Deflate,
    "br": _Brotli,
    "zstd": _Zstd,
}
