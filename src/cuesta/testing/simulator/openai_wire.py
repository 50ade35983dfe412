"""What the two OpenAI wires share on the server: credentials, errors on command, the bill."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cuesta.testing.simulator.openai import Breach, OpenAiRefusal, refuse
from cuesta.testing.simulator.refusals import Refusal
from cuesta.testing.simulator.wires import Wire

if TYPE_CHECKING:
    from cuesta.testing.simulator.canon import Json
    from cuesta.testing.simulator.failures import Failure

_LIMITS = {
    "openai-version": "2020-10-01",
    "openai-processing-ms": "5",
    "x-ratelimit-limit-requests": "10000",
    "x-ratelimit-remaining-requests": "9999",
    "x-ratelimit-reset-requests": "6ms",
    "x-ratelimit-limit-tokens": "30000000",
    "x-ratelimit-remaining-tokens": "29999000",
    "x-ratelimit-reset-tokens": "1ms",
}
_ERRORS: dict[int, tuple[str, str | None]] = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", "unsupported_country_region_territory"),
    404: ("invalid_request_error", None),
    413: ("invalid_request_error", None),
    429: ("requests", "rate_limit_exceeded"),
    503: ("service_unavailable_error", "server_is_overloaded"),
}
_SERVER_ERROR: tuple[str, str | None] = ("server_error", None)


@dataclass(frozen=True, slots=True)
class ChatGptRefusal(Refusal):
    """A refusal by the ChatGPT backend, which has a shape of its own.

    Source: openai/codex#39883.
    """

    def body(self, request_id: str) -> dict[str, object]:
        """Return the answer's JSON value."""
        del request_id
        return {"detail": self.message}


class OpenAiWire(Wire):
    """Speaks one of OpenAI's wires."""

    overloaded = 503
    sources: Mapping[str, str]

    def locked(self, headers: Mapping[str, str], path: str) -> Refusal | None:
        """Return why a request's credentials are not enough, or None.

        A key is sent as `Bearer`; behind a ChatGPT login the account is named as well.
        """
        bearer = headers.get("authorization", "").lower().startswith("bearer ")
        source = self.sources["authentication"]
        if path.startswith("/backend-api/"):
            if bearer and headers.get("chatgpt-account-id"):
                return None
            return ChatGptRefusal(401, "unauthorized", "Unauthorized", "authentication", source)
        if bearer:
            return None
        message = "Missing bearer or basic authentication in header"
        return OpenAiRefusal(401, "invalid_request_error", message, "authentication", source)

    def unreadable(self, why: str) -> Refusal:
        """Return the refusal of a body that cannot be decompressed."""
        return refuse(Breach("body", f"Could not decompress the request body: {why}"), self.sources)

    def not_found(self, path: str) -> Refusal:
        """Return the refusal of a path that does not exist."""
        message = f"Invalid URL ({path})"
        return OpenAiRefusal(404, "invalid_request_error", message, "path", "")

    def headers(self, name: str) -> dict[str, str]:
        """Return the headers of every answer to the request of a name."""
        return {**_LIMITS, "x-request-id": name}

    def failure(self, failure: Failure, name: str) -> Json:
        """Return the body of an error on command."""
        del name
        return {"error": error_json(failure)}


def error_json(failure: Failure) -> Json:
    """Return an error on command as OpenAI words it."""
    kind, code = _ERRORS.get(failure.code or 503, _SERVER_ERROR)
    if failure.overflow:
        kind, code = "invalid_request_error", "context_length_exceeded"
    return {"message": failure.message, "type": kind, "param": None, "code": code}
