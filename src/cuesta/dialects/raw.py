"""Cutting JSON into slices without changing a byte of them.

What is forwarded is always the client's own bytes: an object or array is cut into the raw texts of
its members, and put together again from those. The fast path is msgspec's; it refuses lone
surrogates, which clients do send, so a slower path on the standard library stands behind it.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Mapping, Sequence

import msgspec

from cuesta.core.chain import message_digest
from cuesta.core.errors import RequestError

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
_BLANKS = " \t\n\r"
_OBJECT_START = re.compile(rb"[ \t\n\r]*\{[ \t\n\r]*")
_OBJECT_END = re.compile(rb"[ \t\n\r]*\}[ \t\n\r]*")
_ARRAY_START = re.compile(rb"\[[ \t\n\r]*")
_ARRAY_END = re.compile(rb"[ \t\n\r]*\]")
_COMMA = re.compile(rb"[ \t\n\r]*,[ \t\n\r]*")
_KEY = re.compile(rb'"([\w.$-]*)"[ \t\n\r]*:[ \t\n\r]*')
_DECODER = json.JSONDecoder()


def split_object(raw: bytes) -> dict[str, bytes]:
    """Cut a JSON object into its members' raw values, in their order.

    Of a repeated key the last value counts, at the first one's place.

    Raises:
        RequestError: If it is no JSON object.
    """
    try:
        return {key: bytes(value) for key, value in _OBJECT.decode(raw).items()}
    except msgspec.ValidationError:
        raise RequestError("the request body is no JSON object") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _slow_object(_text(raw))
    except RecursionError:
        raise _too_deep() from None


def split_array(raw: bytes) -> list[bytes]:
    """Cut a JSON array into its raw elements.

    Raises:
        RequestError: If it is no JSON array.
    """
    try:
        return [bytes(value) for value in _ARRAY.decode(raw)]
    except msgspec.ValidationError:
        raise RequestError("a list was expected") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _slow_array(_text(raw))
    except RecursionError:
        raise _too_deep() from None


def member_places(raw: bytes, members: Mapping[str, bytes]) -> dict[str, int] | None:
    """Return where each member's value starts in an object's text.

    Args:
        raw: The object.
        members: What `split_object` made of it.

    Returns:
        The places, or None unless these members are all that stands there, each of them once and
        in this order.
    """
    places = {}
    at = _match(_OBJECT_START, raw, 0)
    for number, (key, value) in enumerate(members.items()):
        if number:
            at = _match(_COMMA, raw, at)
        found = _KEY.match(raw, at) if at >= 0 else None
        if found is None or found[1].decode() != key or not raw.startswith(value, found.end()):
            return None
        places[key] = found.end()
        at = found.end() + len(value)
    return places if at >= 0 and _OBJECT_END.fullmatch(raw, at) else None


def element_places(
    raw: bytes, start: int, elements: Sequence[bytes]
) -> tuple[array[int], array[int]] | None:
    """Return where each element of an array starts and ends.

    Args:
        raw: A text in which the array stands.
        start: Where it starts.
        elements: What `split_array` made of it.
    """
    starts, stops = array("q"), array("q")
    at = _match(_ARRAY_START, raw, start)
    for number, element in enumerate(elements):
        if number:
            at = _match(_COMMA, raw, at)
        if at < 0:
            return None
        starts.append(at)
        at += len(element)
        stops.append(at)
    return (starts, stops) if _match(_ARRAY_END, raw, at) >= 0 else None


def _match(pattern: re.Pattern[bytes], raw: bytes, at: int) -> int:
    """Return where a pattern's match ends that starts here, or -1."""
    found = pattern.match(raw, at) if at >= 0 else None
    return found.end() if found else -1


def join_object(members: Mapping[str, bytes]) -> bytes:
    """Put an object together from raw values."""
    pairs = (json.dumps(key).encode() + b":" + value for key, value in members.items())
    return b"{" + b",".join(pairs) + b"}"


def join_array(elements: Sequence[bytes]) -> bytes:
    """Put an array together from raw elements."""
    return b"[" + b",".join(elements) + b"]"


def dump(value: object) -> bytes:
    """Write a value of ours as compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def load(raw: bytes) -> object:
    """Read a JSON text whole.

    Raises:
        RequestError: If it is malformed.
    """
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:
            value: object = json.loads(_text(raw))
        except RecursionError:
            raise _too_deep() from None
        except ValueError as error:
            raise RequestError(f"the request body is no valid JSON: {error}") from None
        return value
    except RecursionError:
        raise _too_deep() from None


def normalised_digest(value: object) -> bytes:
    """Hash a normalised message.

    Raises:
        RequestError: If it is nested too deeply.
    """
    try:
        return message_digest(value)
    except RecursionError:
        raise _too_deep() from None


def _too_deep() -> RequestError:
    return RequestError("the request body is nested too deeply")


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RequestError(f"the request body is not UTF-8: {error.reason}") from None


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    return at


def _value(text: str, at: int) -> tuple[bytes, int]:
    """Return the raw value that starts at or after `at`, and where it ends."""
    start = _skip(text, at)
    try:
        _, end = _DECODER.raw_decode(text, start)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise RequestError(f"the request body is no valid JSON: {error}") from None
    return text[start:end].encode(), end


def _expect(text: str, at: int, wanted: str) -> tuple[str, int]:
    """Skip blanks and take one of the wanted characters."""
    at = _skip(text, at)
    if at >= len(text) or text[at] not in wanted:
        raise RequestError(f"the request body is no valid JSON at character {at}")
    return text[at], at + 1


def _end(text: str, at: int) -> None:
    """Make sure that nothing follows."""
    if _skip(text, at) != len(text):
        raise RequestError(f"the request body goes on behind its end, at character {at}")


def _slow_array(text: str) -> list[bytes]:
    _, at = _expect(text, 0, "[")
    elements: list[bytes] = []
    comma = ","
    if text[_skip(text, at) :][:1] == "]":
        comma, at = _expect(text, at, "]")
    while comma == ",":
        value, at = _value(text, at)
        elements.append(value)
        comma, at = _expect(text, at, ",]")
    _end(text, at)
    return elements


def _slow_object(text: str) -> dict[str, bytes]:
    _, at = _expect(text, 0, "{")
    members: dict[str, bytes] = {}
    comma = ","
    if text[_skip(text, at) :][:1] == "}":
        comma, at = _expect(text, at, "}")
    while comma == ",":
        _expect(text, at, '"')
        key, at = _value(text, at)
        _, at = _expect(text, at, ":")
        members[str(json.loads(key))], at = _value(text, at)
        comma, at = _expect(text, at, ",}")
    _end(text, at)
    return members
