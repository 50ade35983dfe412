"""Anthropic Messages as the server speaks it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from cuesta.testing.simulator.answers import Answer, content_of, output_tokens, stop_reason
from cuesta.testing.simulator.canon import Json, blocks_of, dump
from cuesta.testing.simulator.refusals import SOURCES, Refusal, refuse
from cuesta.testing.simulator.script import SUMMARY_DEMAND, Step, Trace
from cuesta.testing.simulator.wires import Order, Wire, sample

if TYPE_CHECKING:
    from cuesta.testing.simulator.cache import PrefixCache
    from cuesta.testing.simulator.failures import Failure
    from cuesta.testing.simulator.judge import Judge
    from cuesta.testing.simulator.reading import Request

_LIMITS = {
    "anthropic-ratelimit-requests-limit": "4000",
    "anthropic-ratelimit-requests-remaining": "3999",
    "anthropic-ratelimit-requests-reset": "2026-12-01T00:00:00Z",
    "anthropic-ratelimit-tokens-limit": "4000000",
    "anthropic-ratelimit-tokens-remaining": "3999000",
    "anthropic-ratelimit-tokens-reset": "2026-12-01T00:00:00Z",
}


class MessagesWire(Wire):
    """Speaks Anthropic Messages.

    Args:
        judge: Judges its requests.
        cache: Bills its answers.
        redact_every: Give out every so many thinking blocks sealed as a whole; 0: none.
        toolless_beside: Whether a request without tools is taken for one beside the conversation.
    """

    name = "anthropic"
    overloaded = 529

    def __init__(
        self, judge: Judge, cache: PrefixCache, *, redact_every: int, toolless_beside: bool
    ) -> None:
        self.judge: Judge = judge
        self._cache = cache
        self._redact_every = redact_every
        self._toolless_beside = toolless_beside
        self._thoughts = 0

    def locked(self, headers: Mapping[str, str], path: str) -> Refusal | None:
        """Return why a request's credentials are not enough, or None."""
        del path
        if headers.get("x-api-key") or headers.get("authorization", "").lower().startswith(
            "bearer "
        ):
            return None
        message = "x-api-key header is required"
        return Refusal(
            401, "authentication_error", message, "authentication", SOURCES["authentication"]
        )

    def unreadable(self, why: str) -> Refusal:
        """Return the refusal of a body that cannot be decompressed."""
        return refuse("body", f"Could not decompress the request body: {why}")

    def not_found(self, path: str) -> Refusal:
        """Return the refusal of a path that does not exist."""
        return Refusal(404, "not_found_error", f"Not Found: {path}", "path", "")

    def side(self, request: Request) -> Step | None:
        """Return the answer to a call beside the conversation, or None where the script is asked.

        Such calls have no tools, want JSON of a schema or a single token, or ask for a summary of
        the history.
        """
        body = request.body
        wanted = _wanted_schema(body)
        if wanted is not None:
            return Step(text=dump(sample(wanted)))
        if body.get("max_tokens") in {0, 1}:
            return Step(text="Ok")
        if self._toolless_beside and not body.get("tools"):
            return Step(text="A short answer beside the conversation.")
        texts = [str(block.get("text", "")) for block in blocks_of(body["messages"][-1]["content"])]
        if any(SUMMARY_DEMAND in text for text in texts):
            return Step(text="<summary>The work goes on as the user asked.</summary>")
        return None

    def trail(self, request: Request) -> Iterator[Trace]:
        """Yield what a request's history shows of the script, the newest first."""
        for message in reversed(request.body["messages"]):
            said = message["role"] == "assistant"
            for block in reversed(blocks_of(message.get("content"))):
                yield Trace(
                    str(block.get("id") or block.get("tool_use_id") or ""),
                    str(block.get("text") or "") if said else "",
                )

    def answer(self, order: Order) -> Answer:
        """Make an answer, bill it, and let the judge remember it."""
        request: Request = order.request
        content = content_of(
            order.step,
            order.place,
            request,
            self.judge.signatures,
            redact=self._redacts(order.step),
        )
        self.judge.keep(request, content)
        return Answer(
            id=f"msg_sim_{order.number:08d}",
            model=str(request.body["model"]),
            content=content,
            stop_reason=stop_reason(order.step),
            usage=replace(self._cache.charge(request), output=output_tokens(content)),
            transformations=order.transformations,
        )

    def headers(self, name: str) -> dict[str, str]:
        """Return the headers of every answer to the request of a name."""
        return {**_LIMITS, "request-id": name}

    def failure(self, failure: Failure, name: str) -> Json:
        """Return the body of an error on command."""
        error = {"type": failure.type, "message": failure.message}
        return {"type": "error", "error": error, "request_id": name}

    def _redacts(self, step: Step) -> bool:
        self._thoughts += bool(step.thinking)
        return bool(self._redact_every and step.thinking) and (
            self._thoughts % self._redact_every == 0
        )


def _wanted_schema(body: Json) -> Json | None:
    config = body.get("output_config")
    wanted = config.get("format") if isinstance(config, dict) else None
    if not isinstance(wanted, dict):
        return None
    schema = wanted.get("schema")
    return schema if isinstance(schema, dict) else {}
