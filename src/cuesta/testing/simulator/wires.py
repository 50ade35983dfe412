"""A wire as the server speaks it: how it is judged, answered, and worded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from cuesta.core.usage import Usage
    from cuesta.testing.simulator.canon import Json
    from cuesta.testing.simulator.failures import Failure
    from cuesta.testing.simulator.judging import WireJudge
    from cuesta.testing.simulator.refusals import Refusal
    from cuesta.testing.simulator.script import Place, Step, Trace

PIECE = 24
"""Characters in each delta of a stream."""
CREATED = 1_796_000_000
"""When everything was made, in seconds: the same script gives the same bytes."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be answered.

    Attributes:
        request: The request, as its wire's judge read it.
        step: What the model says.
        place: Where in its script.
        number: The number of the call, for ids.
        transformations: Thinking of the request that was dropped or let through.
        broken: Whether the answer will not come through whole.
    """

    request: Any
    step: Step
    place: Place
    number: int
    transformations: list[dict[str, str]]
    broken: bool


class Answer(Protocol):
    """One whole answer of the model, on one wire."""

    @property
    def content(self) -> list[Json]:
        """What the model said, as it goes over the wire."""
        ...

    @property
    def usage(self) -> Usage:
        """What it is billed as."""
        ...

    def whole(self) -> Json:
        """Return the answer as one JSON value."""
        ...

    def stream(self) -> Iterator[bytes]:
        """Yield the answer as the events of a stream."""
        ...

    def broken(self, failure: Failure) -> bytes:
        """Return the event that ends a stream with an error."""
        ...


class Wire(ABC):
    """One wire.

    Attributes:
        name: The dialect's name.
        judge: Judges its requests.
        overloaded: The status by which it says that it is overloaded.
    """

    name: str
    judge: WireJudge
    overloaded: int

    @abstractmethod
    def locked(self, headers: Mapping[str, str], path: str) -> Refusal | None:
        """Return why a request's credentials are not enough, or None."""

    @abstractmethod
    def unreadable(self, why: str) -> Refusal:
        """Return the refusal of a body that cannot be decompressed."""

    @abstractmethod
    def not_found(self, path: str) -> Refusal:
        """Return the refusal of a path that does not exist."""

    @abstractmethod
    def side(self, request: Any) -> Step | None:  # noqa: ANN401 - each wire's own
        """Return the answer to a call beside the conversation, or None: ask the script."""

    @abstractmethod
    def trail(self, request: Any) -> Iterable[Trace]:  # noqa: ANN401 - each wire's own
        """Yield what a request's history shows of the script, the newest first."""

    @abstractmethod
    def answer(self, order: Order) -> Answer:
        """Make an answer, bill it, and let the judge remember it."""

    @abstractmethod
    def headers(self, name: str) -> dict[str, str]:
        """Return the headers of every answer to the request of a name."""

    @abstractmethod
    def failure(self, failure: Failure, name: str) -> Json:
        """Return the body of an error on command."""

    def counted(self, tokens: int) -> Json:
        """Return the answer to a request that only counts tokens."""
        return {"input_tokens": tokens}


def pieces(text: str) -> Iterator[str]:
    """Cut a text into the pieces in which it is streamed."""
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]


def sample(schema: Json) -> object:
    """Return the smallest value that fits a JSON schema's types."""
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "object")
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: sample(properties[name]) for name in properties}
    samples: dict[str, object] = {"string": "Short", "array": [], "boolean": True, "null": None}
    return samples.get(kind, 1)
