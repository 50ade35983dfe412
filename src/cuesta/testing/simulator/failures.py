"""Failures on command: what goes wrong with the next call of the conversation."""

from __future__ import annotations

from dataclasses import dataclass

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure. Make it by one of the methods below.

    Attributes:
        code: The HTTP status answered at once, or 0.
        message: What the error says.
        retry_after: Seconds for the `retry-after` header, or None for no such header.
        after_events: How many events of the stream come through before it happens.
        kind: What happens then: `cut`, `error` (in the stream), `wait`, or empty.
        seconds: How long a wait lasts.
        overflow: Whether the error is that the prompt does not fit the window.
    """

    code: int = 0
    message: str = "Simulated failure"
    retry_after: float | None = None
    after_events: int = 0
    kind: str = ""
    seconds: float = 0.0
    overflow: bool = False

    @staticmethod
    def status(
        code: int, message: str = "Simulated failure", retry_after: float | None = None
    ) -> Failure:
        """Answer with an error status at once."""
        return Failure(code=code, message=message, retry_after=retry_after)

    @staticmethod
    def cut_after(events: int) -> Failure:
        """Break the connection behind so many events; in a plain answer, in its middle."""
        return Failure(after_events=events, kind="cut")

    @staticmethod
    def overloaded_in_stream(events: int = 2) -> Failure:
        """Say that it is overloaded inside of a stream that began with status 200."""
        return Failure(after_events=events, kind="error", message="Overloaded")

    @staticmethod
    def overflow_in_stream(events: int = 2) -> Failure:
        """Say that the prompt is too long inside of a stream that began with status 200.

        Source: openai/codex#4116; dyad-sh/dyad#1672.
        """
        message = (
            "Your input exceeds the context window of this model. Please adjust your input and try "
            "again."
        )
        return Failure(after_events=events, kind="error", message=message, overflow=True)

    @staticmethod
    def slow_start(seconds: float) -> Failure:
        """Send nothing for a while, then answer."""
        return Failure(kind="wait", seconds=seconds)

    @staticmethod
    def stall(events: int, seconds: float) -> Failure:
        """Stop for a while behind so many events, then go on."""
        return Failure(after_events=events, kind="wait", seconds=seconds)

    def at_once(self, overloaded: int) -> Failure:
        """Return the status that says at once what this says inside of a stream.

        Args:
            overloaded: The status of a wire that is overloaded.
        """
        code = 400 if self.overflow else overloaded
        return Failure(code=code, message=self.message, overflow=self.overflow)

    @property
    def breaks(self) -> bool:
        """Whether the client gets no whole answer."""
        return self.code > 0 or self.kind in {"cut", "error"}

    @property
    def type(self) -> str:
        """Anthropic's error type that goes with the status, or with the event in a stream."""
        if self.overflow:
            return _TYPES[400]
        return "overloaded_error" if self.kind == "error" else _TYPES.get(self.code, "api_error")
