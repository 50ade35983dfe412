"""What the environment says about the way to the upstream: HTTP proxies and trusted authorities.

Credentials from a netrc file are never used: requests carry their own.
"""

from __future__ import annotations

import logging
import ssl
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cuesta.core.errors import ConfigError
from cuesta.proxy.guard import is_ours

if TYPE_CHECKING:
    from collections.abc import Mapping

_logger = logging.getLogger(__name__)

_EXTRA_TRUST = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")


def http_proxy_for(scheme: str, host: str) -> str | None:
    """Return the HTTP proxy that the environment names for an upstream, or None.

    Read are `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, in lower case too. This
    machine is always reached directly.

    Args:
        scheme: The upstream's: `http` or `https`.
        host: The upstream's host name.

    Raises:
        ConfigError: If the proxy is of a kind that cannot be used.
    """
    proxies = urllib.request.getproxies_environment()
    proxy = proxies.get(scheme) or proxies.get("all")
    if not proxy or is_ours(host.lower()) or _is_excepted(host, proxies):
        return None
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    parts = urlsplit(proxy)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            f"the environment names a `{parts.scheme}` proxy for {host}, and only HTTP proxies can "
            f"be used: set {scheme.upper()}_PROXY to one, or add {host} to NO_PROXY"
        )
    return proxy


def _is_excepted(host: str, proxies: dict[str, str]) -> bool:
    """Tell whether `NO_PROXY` names a host or a domain above it."""
    return bool(
        urllib.request.proxy_bypass_environment(host, proxies)  # type: ignore[attr-defined]
    )


def trust(environ: Mapping[str, str]) -> ssl.SSLContext | None:
    """Return the authorities to trust, or None: those of Python's default context.

    `SSL_CERT_FILE`, `REQUESTS_CA_BUNDLE` and `NODE_EXTRA_CA_CERTS` each add to what the platform
    trusts; OpenSSL by itself takes the first instead. Reading a bundle takes a tenth of a second,
    so none is read twice. One that cannot be read is reported and left out.
    """
    platform = ssl.get_default_verify_paths().openssl_cafile
    named = {name: environ[name] for name in _EXTRA_TRUST if environ.get(name)}
    wanted = {Path(place).resolve(): name for name, place in named.items()}
    if Path(platform).is_file():
        wanted[Path(platform).resolve()] = "the platform"
    wanted.pop(Path(environ.get("SSL_CERT_FILE") or platform).resolve(), None)
    if not wanted:
        return None
    context = ssl.create_default_context()
    for place, name in wanted.items():
        try:
            if place.is_dir():
                context.load_verify_locations(capath=place)
            else:
                context.load_verify_locations(cafile=place)
        except (OSError, ssl.SSLError) as error:
            reason = error.strerror if not isinstance(error, ssl.SSLError) else None
            reason = reason or "it holds no certificates"
            _logger.warning("%s names %s, which is left out: %s", name, place, reason)
    return context
