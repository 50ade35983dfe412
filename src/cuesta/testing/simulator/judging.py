"""What the judges of all wires have in common: their face, their verdict, and parsing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from cuesta.testing.simulator.canon import Json
    from cuesta.testing.simulator.conditions import Conditions
    from cuesta.testing.simulator.refusals import Refusal

Headers: TypeAlias = Mapping[str, str] | Iterable[tuple[str, str]]

RequestT = TypeVar("RequestT")


@dataclass(frozen=True, slots=True)
class Verdict(Generic[RequestT]):
    """What a judge says about one request.

    Attributes:
        refusal: Why it is refused, or None.
        request: The request as read, or None where it could not be.
        transformations: The answer's `input_transformations`: thinking dropped or let through.
    """

    refusal: Refusal | None
    request: RequestT | None
    transformations: list[dict[str, str]] = field(default_factory=list)


class WireJudge(Protocol):
    """The face of every judge. A request is what its own verdicts hold."""

    @property
    def conditions(self) -> Conditions:
        """What the provider is like today."""
        ...

    def verdict(
        self, body: bytes | Json, headers: Headers = (), *, counting: bool = False
    ) -> Verdict[Any]:
        """Check a request and return everything that was found.

        Args:
            body: The body, decompressed; or its parsed value, of which the size is not checked.
            headers: The request's headers.
            counting: Whether the request only counts tokens.
        """
        ...

    def keep(self, request: Any, content: list[Json]) -> None:  # noqa: ANN401 - each wire's own
        """Remember what the model answered to a request, as it went over the wire."""
        ...

    def prompt_tokens(self, request: Any) -> int:  # noqa: ANN401 - each wire's own
        """Return what a request's prompt is billed as, in tokens."""
        ...


class BodyError(ValueError):
    """A body is no JSON object, or too large."""

    def __init__(self, message: str, *, too_large: bool = False) -> None:
        super().__init__(message)
        self.too_large = too_large


def parse_body(body: bytes | Json, limit: int) -> Json:
    """Return a body's JSON value.

    Args:
        body: The body; a parsed value is returned as it is.
        limit: The most bytes that it may have.

    Raises:
        BodyError: If it is larger, no JSON, or no object.
    """
    if isinstance(body, dict):
        return body
    if len(body) > limit:
        raise BodyError("Request exceeds the maximum size", too_large=True)
    try:
        parsed = json.loads(body, parse_constant=_no_number)
    except ValueError as error:
        raise BodyError(f"The request body is not valid JSON: {error}") from None
    if not isinstance(parsed, dict):
        raise BodyError("Input should be a valid dictionary")
    return parsed


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")
