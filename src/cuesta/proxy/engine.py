"""What the proxy is given to work with: who decides about a request, and who reads usage."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from cuesta.core.usage import Usage
    from cuesta.exchange.events import Arrived, Exchange


class Engine(Protocol):
    """Decides what becomes of requests."""

    def exchange(self, arrived: Arrived) -> Exchange:
        """Return the state machine for one request, not yet started."""


class UsageTap(Protocol):
    """Reads what one answer cost from a decoded copy of its body."""

    def feed(self, decoded: bytes) -> None:
        """Take the next piece; pieces may end anywhere."""

    @property
    def usage(self) -> Usage | None:
        """What has been read so far, or None."""


TapFactory: TypeAlias = "Callable[[str], UsageTap]"
"""Makes a tap for an answer of the given content type."""
