"""Headers on their way through: case, order and duplicates as they came, both ways.

What concerns one connection only is taken out; nothing is added but the length of a changed body,
in answers `x-cuesta`, and in requests that stay on this machine `x-cuesta-hop`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

RawHeaders: TypeAlias = Sequence[tuple[bytes, bytes]]
"""Names and values as they stand on the wire."""

_HOP_BY_HOP = frozenset(
    (
        b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization",
        b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade",
    )
)  # fmt: skip
_OURS_TO_SET = frozenset((b"host", b"expect"))
_OF_ONE_REQUEST = frozenset((b"idempotency-key", b"x-client-request-id", b"x-request-id"))
NOTE_LIMIT = 200
HOP = b"x-cuesta-hop"
"""Names the proxies that a request has passed; it leaves this machine with no request."""


def values(headers: RawHeaders, name: bytes) -> list[bytes]:
    """Return the values of a header, given its name in lower case."""
    return [value for key, value in headers if key.lower() == name]


def value(headers: RawHeaders, name: bytes) -> bytes:
    """Return the first value of a header, or nothing."""
    return next(iter(values(headers, name)), b"")


def end_to_end(headers: RawHeaders) -> list[tuple[bytes, bytes]]:
    """Return the headers that are for the other end: RFC 9110, 7.6.1."""
    dropped = _HOP_BY_HOP | tokens(values(headers, b"connection"))
    return [pair for pair in headers if pair[0].lower() not in dropped]


def for_upstream(
    headers: RawHeaders, length: int, *, replaced: bool, hop: str = ""
) -> list[tuple[str, str]]:
    """Return a request's headers as they go on.

    Args:
        headers: As received.
        length: The length of the body that is sent, in bytes.
        replaced: Whether that body is ours and plain, whatever the client's was coded in.
        hop: The name of this proxy, where the upstream is on this machine; empty: it is not.
    """
    sent = []
    for name, text in end_to_end(headers):
        lower = name.lower()
        if lower in _OURS_TO_SET or (replaced and lower == b"content-encoding"):
            continue
        if lower == HOP and not hop:
            continue
        sent.append((name, b"%d" % length if lower == b"content-length" else text))
    if hop:
        sent.append((HOP, hop.encode()))
    return [(name.decode(), text.decode()) for name, text in sent]


def for_question(headers: RawHeaders, length: int, hop: str) -> list[tuple[str, str]]:
    """Return a request's headers for a question of our own that is asked beside it.

    Whatever names that one request stays away: its answer must not be taken for this one's.
    """
    sent = for_upstream(headers, length, replaced=True, hop=hop)
    return [(name, text) for name, text in sent if name.lower().encode() not in _OF_ONE_REQUEST]


def for_exchange(headers: RawHeaders) -> tuple[tuple[str, str], ...]:
    """Return a request's headers as an exchange reads them: names in lower case."""
    return tuple(
        (name.decode("latin-1").lower(), text.decode("utf-8", "replace")) for name, text in headers
    )


def note_header(note: str) -> tuple[bytes, bytes]:
    """Return the header that tells the client what was done."""
    printable = "".join(c if " " <= c <= "~" else "?" for c in note[:NOTE_LIMIT])
    return b"x-cuesta", printable.encode()


def tokens(lines: Iterable[bytes]) -> set[bytes]:
    """Return the members of a comma-separated header, in lower case."""
    return {token.strip().lower() for line in lines for token in line.split(b",")}
