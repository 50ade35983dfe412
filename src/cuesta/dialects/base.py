"""What a dialect can do: everything that depends on one wire API, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from cuesta.core.transcript import Message
from cuesta.core.usage import Usage
from cuesta.protocols.sidecalls import RequestFacts


@dataclass(frozen=True, slots=True)
class Request:
    """A request body, cut into raw slices.

    Attributes:
        members: The body's members, raw, in their order.
        messages: The raw messages.
        model: The model's name.
    """

    members: Mapping[str, bytes]
    messages: Sequence[bytes]
    model: str


class UsageTap(Protocol):
    """Reads what an answer cost from its decoded bytes, chunk by chunk."""

    @property
    def usage(self) -> Usage | None:
        """What was billed as far as the answer has told, or None."""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes, cut anywhere; never raises."""


class Dialect(Protocol):
    """One wire API. Pure: no state, no I/O.

    Attributes:
        name: Its name.
        where: The member of a body that holds the messages.
    """

    name: str
    where: str

    def read(self, body: bytes) -> Request:
        """Cut a body into raw slices.

        Raises:
            RequestError: If it is malformed.
        """

    def facts(self, request: Request) -> RequestFacts:
        """Tell what the recognisers of side calls may know."""

    def fixed(self, request: Request) -> Sequence[bytes]:
        """Return the raw system prompt and tools."""

    def parse(self, message: bytes) -> tuple[Message, bytes]:
        """Read one raw message; return it with the hash over its normalised form.

        Raises:
            RequestError: If it is no message.
        """

    def without_thinking(self, message: bytes) -> bytes | None:
        """Cut whole thinking blocks out of a raw message; None when that empties it."""

    def cleared(self, message: bytes) -> bytes:
        """Put the mark in place of the results in a raw message, but for those too short for it.

        All else of it stays: ids, errors, what a person says beside them. What it clears is what
        `parse` calls `clearable`.
        """

    def with_digest(self, message: bytes, text: str) -> list[bytes]:
        """Return the raw message that a digest stands behind, and the digest as user text.

        One message where the wire forbids user messages side by side, else two.
        """

    def splice(self, request: Request, messages: Sequence[bytes]) -> bytes:
        """Return the body with other messages in place of its own."""

    def asking(self, request: Request, prompt: str, limit: int) -> bytes:
        """Return a request of our own to the same model, for text alone: no tools, no history.

        Args:
            request: The client's: what its login needs (a system prompt) is taken from it.
            prompt: The question.
            limit: Tokens that the answer may have, where the client's request shows how to say so.
        """

    def said(self, content_type: str, answer: bytes) -> str:
        """Return what the model wrote in an answer to `asking`.

        Empty where it refused or did not come to an end.

        Args:
            content_type: The answer's media type.
            answer: Its decoded body.
        """

    def usage_tap(self, content_type: str) -> UsageTap:
        """Return a tap for an answer of this content type."""
