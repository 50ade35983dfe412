"""The judge of Anthropic Messages: whether a request would be taken, and what is said if not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuesta.core.models import window_of
from cuesta.testing.simulator.blocks import THINKING
from cuesta.testing.simulator.conditions import EXTRA_BLOCKS, Conditions
from cuesta.testing.simulator.judging import BodyError, Headers, Verdict, parse_body
from cuesta.testing.simulator.reading import Reader, Request
from cuesta.testing.simulator.refusals import SOURCES, Refusal, RefusedError, refuse
from cuesta.testing.simulator.rules import RULES
from cuesta.testing.simulator.signatures import Signatures
from cuesta.testing.simulator.thinking import (
    MODE_RULES,
    Answers,
    Binding,
    last_answer_is_untouched,
    thinking_is_bound,
)

if TYPE_CHECKING:
    from cuesta.testing.simulator.canon import Json, Prefix

__all__ = ["EXTRA_BLOCKS", "MAX_BODY_BYTES", "Conditions", "Judge", "Verdict"]

MAX_BODY_BYTES = 32 * 1024 * 1024


class Judge:
    """Checks requests against every rule, remembering what was thought and answered.

    Args:
        conditions: What the provider is like today.
        signatures: The memory of thinking; by default a new one. Two judges may share one.
    """

    def __init__(
        self, conditions: Conditions | None = None, signatures: Signatures | None = None
    ) -> None:
        self.conditions = conditions or Conditions()
        self.signatures = signatures or Signatures()
        self._answers = Answers()
        self._reader = Reader(self.conditions.extra_blocks)

    def check(self, body: bytes | Json, headers: Headers = ()) -> Refusal | None:
        """Return why the provider would refuse a request, or None.

        Args:
            body: The body, decompressed; or its parsed value, of which the size is not checked.
            headers: The request's headers.
        """
        return self.verdict(body, headers).refusal

    def verdict(
        self, body: bytes | Json, headers: Headers = (), *, counting: bool = False
    ) -> Verdict[Request]:
        """Check a request and return everything that was found.

        Args:
            body: The body, decompressed; or its parsed value, of which the size is not checked.
            headers: The request's headers.
            counting: Whether the request only counts tokens: no `max_tokens`, no window.
        """
        try:
            parsed = _parse(body)
            _require(parsed, counting=counting)
        except RefusedError as error:
            return Verdict(error.refusal, None)
        request = self._reader.read(parsed, headers)
        for rule in (*RULES, *MODE_RULES):
            refusal = rule(request)
            if refusal is not None:
                return Verdict(refusal, request)
        refusal = last_answer_is_untouched(request, self._answers)
        if refusal is not None:
            return Verdict(refusal, request)
        binding = Binding(self.conditions.account == "new", self.conditions.mismatch)
        refusal, changes = thinking_is_bound(request, self.signatures, binding)
        if refusal is None and not counting:
            refusal = self._overflow(request)
        return Verdict(refusal, request, changes)

    def prefix(self, body: bytes | Json) -> Prefix:
        """Return what an answer to this body stands behind: what its thinking is bound to.

        Raises:
            RefusedError: If the body has no messages to read.
        """
        parsed = _parse(body)
        _require(parsed, counting=True)
        return self._reader.read(parsed).prefix

    def answered(self, body: bytes | Json, content: list[Json]) -> None:
        """Remember what the model answered to a body.

        Thinking in it is bound to the prefix as received; the whole must come back as it is.

        Args:
            body: The request that was answered.
            content: The answer's blocks.
        """
        parsed = _parse(body)
        _require(parsed, counting=True)
        self.keep(self._reader.read(parsed), content)

    def keep(self, request: Request, content: list[Json]) -> None:
        """Remember what the model answered to a request that is already read."""
        prefix = request.prefix
        for block in content:
            if block.get("type") in THINKING:
                self.signatures.remember(block, prefix, request.model.key)
            prefix = prefix.then("assistant", block)
        self._answers.remember(request, content)

    def prompt_tokens(self, request: Request) -> int:
        """Return what a request's prompt is billed as, in tokens."""
        return round(request.prompt_tokens() * self.conditions.bill_factor)

    def _overflow(self, request: Request) -> Refusal | None:
        window = self.conditions.window or window_of(request.model)
        tokens = self.prompt_tokens(request)
        if window is None or tokens <= window:
            return None
        return refuse("window", f"prompt is too long: {tokens} tokens > {window} maximum")


def _parse(body: bytes | Json) -> Json:
    try:
        return parse_body(body, MAX_BODY_BYTES)
    except BodyError as error:
        if error.too_large:
            refusal = Refusal(413, "request_too_large", str(error), "size", SOURCES["size"])
        else:
            refusal = refuse("body", str(error))
        raise RefusedError(refusal) from None


def _require(body: Json, *, counting: bool) -> None:
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise RefusedError(refuse("fields", "model: Field required"))
    if not counting:
        _require_limit(body)
    messages = body.get("messages")
    if messages is None:
        raise RefusedError(refuse("fields", "messages: Field required"))
    if not isinstance(messages, list):
        raise RefusedError(refuse("fields", "messages: Input should be a valid list"))
    if not messages:
        raise RefusedError(refuse("fields", "messages: at least one message is required"))


def _require_limit(body: Json) -> None:
    limit = body.get("max_tokens")
    if limit is None:
        raise RefusedError(refuse("fields", "max_tokens: Field required"))
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
        raise RefusedError(
            refuse("fields", "max_tokens: Input should be greater than or equal to 0")
        )
