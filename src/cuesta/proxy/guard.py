"""Who may talk to the proxy, and how: checked before a request's body is read.

The proxy holds no key, but it listens where every web page that the person opens can reach it.
Rule 1: a request must be addressed to this machine (or to a name that was allowed); a page whose
name was made to point here (DNS rebinding) is not.
Rule 2: a page from elsewhere says so in `Origin` and is refused; where its browser leaves that out
(as for a picture), it says so in `Sec-Fetch-Site`.
Rule 3: nothing in a request chooses where it goes.
Rule 4: a request that this proxy sent itself is refused, as it would go round for ever.
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cuesta.core.errors import RequestError
from cuesta.proxy.headers import HOP, tokens, values

if TYPE_CHECKING:
    from collections.abc import Collection

    from cuesta.proxy.headers import RawHeaders

_HOST = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<name>[^:\[\]/@]+))(?::\d{1,5})?")
_RUN = re.compile(r"/-/run/([A-Za-z0-9_-]{1,64})(/.*)")
_RUN_PREFIX = "/-/run/"
_FOREIGN_SITES = frozenset({b"cross-site", b"same-site"})


def check(target: str, headers: RawHeaders, allowed: Collection[str]) -> None:
    """Refuse what no client of ours sends.

    Args:
        target: The request target as it stands on the wire.
        headers: The request's headers.
        allowed: Host names that are good besides those of this machine, in lower case.

    Raises:
        RequestError: With status 400, 403 or 426.
    """
    if not (target.startswith("/") and target.isascii()):
        raise RequestError(
            "the request target must be a path: this proxy forwards to its own upstream only, it "
            "is no HTTP proxy for other hosts"
        )
    if not all(map(_is_text, headers)):
        raise RequestError("a request header holds bytes that are not UTF-8")
    hosts = values(headers, b"host")
    if not hosts:
        raise RequestError("there is no Host header: every request must have one")
    if len(hosts) > 1:
        raise RequestError("there is more than one Host header")
    if not is_ours(_host_name(hosts[0].decode("latin-1")), allowed):
        raise RequestError(
            "the Host header names another machine; if that name is meant to reach this proxy, "
            "start it with --allow-host NAME",
            403,
        )
    origins = values(headers, b"origin")
    for origin in origins:
        if not is_ours(_origin_name(origin.decode("latin-1")), allowed):
            raise RequestError("requests from web pages of other origins are refused", 403)
    if not origins and _FOREIGN_SITES & tokens(values(headers, b"sec-fetch-site")):
        raise RequestError(
            "requests from web pages of other origins are refused (Sec-Fetch-Site)", 403
        )
    if b"websocket" in tokens(values(headers, b"upgrade")):
        raise RequestError("WebSocket is not supported here: use HTTP requests", 426)


def check_hop(headers: RawHeaders, hop: str) -> None:
    """Refuse a request that has been here before.

    Raises:
        RequestError: With status 508.
    """
    if hop.encode() in values(headers, HOP):
        raise RequestError(
            "this request came back to the proxy that sent it: an upstream leads here again. "
            "Correct --upstream or --openai-upstream",
            508,
        )


def is_ours(name: str, allowed: Collection[str] = ()) -> bool:
    """Tell whether a host name stands for this machine or was allowed.

    Args:
        name: In lower case, without port and brackets; empty is nobody's.
        allowed: Further good names.
    """
    if name == "localhost" or (name and name in allowed):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def split_run(target: str) -> tuple[str, str]:
    """Return the run that a launcher put in front of a path, and the target without it.

    Raises:
        RequestError: If there is a run prefix that cannot be read.
    """
    if not target.startswith(_RUN_PREFIX):
        return "", target
    match = _RUN.fullmatch(target)
    if match is None:
        raise RequestError(
            "a run prefix is /-/run/NAME/ with up to 64 letters, digits, `_` or `-` as its name"
        )
    return match[1], match[2]


def _is_text(header: tuple[bytes, bytes]) -> bool:
    """Tell whether a header survives the way upstream, where aiohttp writes UTF-8."""
    try:
        header[1].decode()
    except UnicodeDecodeError:
        return False
    return True


def _host_name(host: str) -> str:
    match = _HOST.fullmatch(host.strip())
    return (match["six"] or match["name"]).lower() if match else ""


def _origin_name(origin: str) -> str:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return ""
    return parts.hostname or "" if parts.scheme in ("http", "https") else ""
