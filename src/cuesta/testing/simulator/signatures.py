"""The memory of what was thought behind which prefix.

Real signatures hold the thinking, sealed. These look like them, grow with the thinking that they
hide, and mean nothing but through this memory.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from hashlib import sha512
from typing import TYPE_CHECKING

from cuesta.testing.simulator.canon import Json, Prefix, block_digest
from cuesta.testing.simulator.tokens import SEALED_OVERHEAD

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True)
class Bond:
    """What one signature is bound to.

    Attributes:
        block: The digest of the whole block as it was given out.
        model: The key of the model that thought.
        prefixes: The chains that it may stand behind.
    """

    block: bytes
    model: str
    prefixes: set[bytes] = field(default_factory=set)


class Signatures:
    """Mints signatures and remembers what each is bound to."""

    def __init__(self) -> None:
        self._bonds: dict[str, Bond] = {}
        self._minted = 0

    def mint(self, prefix: Prefix, text: str) -> str:
        """Return a new signature in base64 for thinking behind a prefix. It is bound by `remember`.

        Args:
            prefix: Everything before the block.
            text: The whole thinking, whether or not it will be displayed.
        """
        self._minted += 1
        seed = b"%d" % self._minted + prefix.state + text.encode(errors="surrogatepass")
        size = SEALED_OVERHEAD + len(text)
        return base64.b64encode(b"".join(_stream(seed, size))[:size]).decode()

    def remember(self, block: Json, prefix: Prefix, model: str) -> None:
        """Bind a thinking block to a prefix; a block may be bound to several.

        Args:
            block: A `thinking` or `redacted_thinking` block as given out.
            prefix: Everything before it.
            model: The key of the model that thought, `cuesta.core.models.Model.key`.
        """
        name = str(block.get("signature") or block.get("data") or "")
        bond = self._bonds.setdefault(name, Bond(block_digest(block), model))
        bond.prefixes.add(prefix.state)

    def find(self, signature: str) -> Bond | None:
        """Return what a signature is bound to, or None where it was never given out."""
        return self._bonds.get(signature)


def _stream(seed: bytes, size: int) -> Iterator[bytes]:
    for count in range(size // 64 + 1):
        yield sha512(seed + b"%d" % count).digest()
