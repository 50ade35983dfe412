"""Reading a streamed answer of the Anthropic Messages API, as it comes in.

Bytes are decoded, cut into server-sent events, and put together to one answer. Nothing waits for
the end: an event is read as soon as its last byte is there.

Source: Anthropic, "Streaming messages"; the event stream format is the HTML standard's.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import brotli  # type: ignore[import-untyped]
import zstandard

from cuesta.core.errors import RequestError
from cuesta.core.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

ACCEPTED_ENCODINGS = "gzip, deflate, br, zstd"
_ZLIB_OR_GZIP = 47


class Decoder(Protocol):
    """Decompresses a body piece by piece."""

    def decompress(self, data: bytes, /) -> bytes:
        """Return what can be read so far."""
        ...


class _Brotli:
    def __init__(self) -> None:
        self._inner = brotli.Decompressor()

    def decompress(self, data: bytes, /) -> bytes:
        return bytes(self._inner.process(data))


class _Identity:
    def decompress(self, data: bytes, /) -> bytes:
        return data


def decoder_for(encoding: str) -> Decoder:
    """Return a decoder.

    Args:
        encoding: The value of `content-encoding`; empty where there is none.

    Raises:
        RequestError: If the encoding was not among those accepted.
    """
    match encoding.strip().lower():
        case "" | "identity":
            return _Identity()
        case "gzip" | "deflate":
            return zlib.decompressobj(_ZLIB_OR_GZIP)
        case "br":
            return _Brotli()
        case "zstd":
            return zstandard.ZstdDecompressor().decompressobj()
    raise RequestError(f"the answer came in an encoding nobody asked for: {encoding!r}", 502)


class EventReader:
    """Cuts bytes into the `data` of server-sent events.

    Lines end with LF or CRLF; comments and other fields than `data` are skipped. The JSON tells an
    event's type itself, so the `event` field is not needed.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """Yield the events that are complete with these bytes."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for raw in lines:
            line = raw.removesuffix(b"\r")
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line and self._data:
                yield json.loads(b"\n".join(self._data))
                self._data.clear()


@dataclass(slots=True)
class Answer:
    """One answer, growing with its events.

    Attributes:
        content: The blocks, as they have to be sent back.
        stop_reason: Why the model stopped, or empty.
        error: What an `error` event said, or empty.
        complete: Whether the last event has come.
    """

    content: list[dict[str, Any]] = field(default_factory=list)
    stop_reason: str = ""
    error: str = ""
    complete: bool = False
    _usage: dict[str, Any] = field(default_factory=dict)
    _inputs: dict[int, str] = field(default_factory=dict)

    def add(self, event: dict[str, Any]) -> None:
        """Take in one event; kinds that are not known are skipped, as the API demands."""
        match event["type"]:
            case "message_start":
                self._usage.update(event["message"]["usage"])
            case "content_block_start":
                self.content.append(dict(event["content_block"]))
            case "content_block_delta":
                self._grow(event["index"], event["delta"])
            case "content_block_stop" if event["index"] in self._inputs:
                text = self._inputs.pop(event["index"])
                self.content[event["index"]]["input"] = json.loads(text) if text else {}
            case "message_delta":
                self.stop_reason = event["delta"].get("stop_reason") or self.stop_reason
                self._usage.update(event.get("usage") or {})
            case "message_stop":
                self.complete = True
            case "error":
                self.error = event["error"]["message"]

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The blocks that call a tool."""
        return [block for block in self.content if block["type"] == "tool_use"]

    @property
    def usage(self) -> Usage:
        """What the provider billed. Its counts are cumulative: the last one of each kind holds."""
        lifetimes = self._usage.get("cache_creation") or {}
        hour = lifetimes.get("ephemeral_1h_input_tokens", 0)
        return Usage(
            input=self._usage.get("input_tokens", 0),
            cache_read=self._usage.get("cache_read_input_tokens") or 0,
            cache_write_5m=(self._usage.get("cache_creation_input_tokens") or 0) - hour,
            cache_write_1h=hour,
            output=self._usage.get("output_tokens", 0),
        )

    def _grow(self, index: int, delta: dict[str, Any]) -> None:
        block = self.content[index]
        match delta["type"]:
            case "text_delta":
                block["text"] += delta["text"]
            case "thinking_delta":
                block["thinking"] += delta["thinking"]
            case "signature_delta":
                block["signature"] = delta["signature"]
            case "input_json_delta":
                self._inputs[index] = self._inputs.get(index, "") + delta["partial_json"]
