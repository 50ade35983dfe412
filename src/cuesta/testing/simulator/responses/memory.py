"""What was answered: seals given out, which items belong together, and what is stored."""

from __future__ import annotations

import base64
from hashlib import shake_256
from typing import TYPE_CHECKING

from cuesta.testing.simulator.tokens import SEALED_OVERHEAD

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cuesta.testing.simulator.canon import Json

_OPENING = "gAAAAAB"
"""Every real seal begins so."""


class Memory:
    """What one account was answered.

    Seals look like real ones, grow with the reasoning that they hide, and mean nothing but through
    this memory.
    """

    def __init__(self) -> None:
        self._minted = 0
        self._seals: dict[str, str] = {}
        self._following: dict[str, str | None] = {}
        self._reasoning: dict[str, str] = {}
        self._items: dict[str, Json] = {}
        self._responses: dict[str, tuple[Json, ...]] = {}

    def mint(self, text: str) -> str:
        """Return a new seal over a text. It is known once an item with it was kept."""
        self._minted += 1
        seed = b"%d" % self._minted + text.encode(errors="surrogatepass")
        data = shake_256(seed).digest(SEALED_OVERHEAD + len(text))
        return _OPENING + base64.urlsafe_b64encode(data).decode()

    def keep(self, items: Sequence[Json]) -> None:
        """Remember one answer's items, in order: their seals, and what belongs together.

        An item that nothing follows here needs no item behind it either.
        """
        reasoning = ""
        for place, item in enumerate(items):
            name = str(item.get("id") or "")
            if item.get("encrypted_content"):
                self._seals[item["encrypted_content"]] = name
            if item.get("type") == "reasoning":
                reasoning = name
                if name:
                    behind = items[place + 1 : place + 2]
                    self._following[name] = str(behind[0].get("id") or "") if behind else None
            elif name and reasoning:
                self._reasoning[name] = reasoning

    def store(self, response: str, asked: Iterable[Json], items: Iterable[Json]) -> None:
        """Store a response: what was asked and what was answered, under its id and theirs."""
        whole = (*asked, *items)
        self._responses[response] = whole
        for item in whole:
            if item.get("id") and item.get("type") != "item_reference":
                self._items[item["id"]] = item

    def sealed(self, seal: str) -> str | None:
        """Return the id of the item that a seal was given out with, or None for no such seal."""
        return self._seals.get(seal)

    def has_following(self, reasoning: str) -> bool:
        """Tell whether an item must follow this reasoning: one did, or nobody knows."""
        return self._following.get(reasoning, "") is not None

    def following(self, reasoning: str) -> str:
        """Return the id of the item that followed this reasoning; empty where none is known."""
        return self._following.get(reasoning) or ""

    def reasoning(self, item: str) -> str:
        """Return the id of the reasoning that an item was answered behind, or empty."""
        return self._reasoning.get(item, "")

    def stored(self, item: str) -> Json | None:
        """Return a stored item, or None."""
        return self._items.get(item)

    def response(self, name: str) -> tuple[Json, ...] | None:
        """Return all items up to the end of a stored response, or None."""
        return self._responses.get(name)
