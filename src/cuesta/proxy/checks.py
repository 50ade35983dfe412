"""What an option's value must be. Each check raises `ValueError` with words for a person."""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

_LAST_PORT = 65_535
_MOST_WORKERS = 64
_NAME = re.compile(r"[^\s:/?#@*\[\]\\]+")
_HOST = re.compile(r"[^\s/?#@*\[\]\\]+")


def host(text: str) -> None:
    """Expect an address or name to listen on."""
    if not _HOST.fullmatch(text):
        raise ValueError(f"expected an address or a host name, such as 127.0.0.1, not {text!r}")


def port(number: int) -> None:
    """Expect a port to listen on, or 0."""
    if not 0 <= number <= _LAST_PORT:
        raise ValueError(f"port {number} does not exist: choose one from 0 to {_LAST_PORT}")


def host_name(text: str) -> None:
    """Expect a bare name or address as it stands in a `Host` header, IPv6 without brackets."""
    try:
        ip_address(text)
    except ValueError:
        good = bool(_NAME.fullmatch(text))
    else:
        good = True
    if not good:
        raise ValueError(f"expected a host name without scheme, port, path or *, not {text!r}")


def address(text: str) -> None:
    """Expect a server's URL; a value that may hold credentials is not repeated."""
    shown = "" if "@" in text else f", not {text!r}"
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or not text.isprintable() or " " in text:
        raise ValueError(f"must be a URL like https://host{shown}")
    if "@" in parts.netloc or "?" in text or "#" in text:
        raise ValueError("must be a plain URL without credentials, query or fragment")


def not_negative(number: int) -> None:
    """Expect a number of at least 0."""
    if number < 0:
        raise ValueError(f"expected a number of at least 0, not {number}")


def workers(number: int) -> None:
    """Expect a number of processes."""
    if not 1 <= number <= _MOST_WORKERS:
        raise ValueError(f"expected a number from 1 to {_MOST_WORKERS}, not {number}")
