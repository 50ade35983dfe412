"""A conversation's identity: a cryptographic chain over its normalised messages.

Link i is a hash over link i-1 and message i, so a link names everything up to there. Client ids,
credentials, tools and system prompts are not in it: they come and go while a conversation lasts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

_SEED = b"cuesta-chain-1"
_ENCODER = json.JSONEncoder(check_circular=False, sort_keys=True, separators=(",", ":"))


def message_digest(normalised: object) -> bytes:
    """Hash a normalised message (JSON values), whatever its key order and spacing were."""
    return hashlib.sha256(_ENCODER.encode(normalised).encode("ascii")).digest()


def chain(digests: Iterable[bytes], dialect: str, tenant: str = "") -> list[bytes]:
    """Return the links of a conversation, one a message, in order.

    Args:
        digests: `message_digest` of each message.
        dialect: The wire API: the same text over two wires is two conversations.
        tenant: Keeps the users of one gateway apart.
    """
    link = hashlib.sha256(b"\0".join((_SEED, tenant.encode(), dialect.encode()))).digest()
    return continued(link, digests)


def continued(link: bytes, digests: Iterable[bytes]) -> list[bytes]:
    """Return the links that follow a link, one a message, in order."""
    links = []
    for digest in digests:
        link = hashlib.sha256(link + digest).digest()
        links.append(link)
    return links
