"""A conversation's identity: a cryptographic chain over its normalised messages.

Link i is a hash over link i-1 and message i, so a link names everything up to there. Client ids,
credentials, tools and system prompts are not in it: they come and go while a conversation lasts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from cuesta.core.lazy import Lazy

_SEED = b"cuesta-chain-1"
_ENCODER = json.JSONEncoder(check_circular=False, sort_keys=True, separators=(",", ":"))


_SIZE = hashlib.sha256().digest_size


class Links(Lazy[bytes]):
    """A conversation's links, one a message, in order: 32 bytes each, and no object for any.

    Args:
        packed: All of them, one behind the other.
    """

    __slots__ = ("packed",)

    def __init__(self, packed: bytes = b"") -> None:
        self.packed = packed

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.packed) // _SIZE

    def __eq__(self, other: object) -> bool:
        """Tell whether the other ones are the same links."""
        return isinstance(other, Links) and self.packed == other.packed

    def __hash__(self) -> int:
        """Return a hash that equal links share."""
        return hash(self.packed[-_SIZE:])

    def at(self, i: int) -> bytes:
        """Return link `i`."""
        return self.packed[i * _SIZE : (i + 1) * _SIZE]

    def first(self, count: int) -> Links:
        """Return the links of the first messages."""
        return Links(self.packed[: count * _SIZE])


NO_LINKS = Links()


class NewestFirst(Lazy[bytes]):
    """A conversation's links from the last one back, made as they are asked for.

    Right behind the last one stands the `stem` of the conversation, if it has one.

    Args:
        links: The links.
    """

    __slots__ = ("_links", "_stem")

    def __init__(self, links: Links) -> None:
        self._links = links
        self._stem = stem(links)

    def __len__(self) -> int:
        """Return how many keys there are."""
        return len(self._links) + bool(self._stem)

    def at(self, i: int) -> bytes:
        """Return key `i`."""
        if i == 1 and self._stem:
            return self._stem
        return self._links[-1 if i == 0 else -i]


def stem(links: Links) -> bytes:
    """Name a conversation by all but its last message, which may still grow; empty for none."""
    if len(links) < 2:
        return b""
    return hashlib.sha256(b"cuesta-stem-1\0" + links[-2]).digest()


def message_digest(normalised: object) -> bytes:
    """Hash a normalised message (JSON values), whatever its key order and spacing were."""
    return hashlib.sha256(_ENCODER.encode(normalised).encode("ascii")).digest()


def chain(digests: Iterable[bytes], dialect: str, tenant: str = "") -> Links:
    """Return the links of a conversation, one a message, in order.

    Args:
        digests: `message_digest` of each message.
        dialect: The wire API: the same text over two wires is two conversations.
        tenant: Keeps the users of one gateway apart.
    """
    link = hashlib.sha256(b"\0".join((_SEED, tenant.encode(), dialect.encode()))).digest()
    return _chained(link, digests)


def continued(links: Links, digests: Iterable[bytes]) -> Links:
    """Return the links of a conversation that goes on behind these; there is at least one."""
    return Links(links.packed + _chained(links[-1], digests).packed)


def _chained(link: bytes, digests: Iterable[bytes]) -> Links:
    links = bytearray()
    for digest in digests:
        link = hashlib.sha256(link + digest).digest()
        links += link
    return Links(bytes(links))
