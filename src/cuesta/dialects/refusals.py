"""What an upstream's refusal says: too long, about thinking, or about the request's form.

A set of shapes over all providers. No number in a message is ever read: at one provider it is the
window, at another the excess.
"""

from __future__ import annotations

import json
import re
from enum import Enum


class Refusal(Enum):
    """What a refusal is about."""

    OVERFLOW = "the prompt was too long"
    THINKING = "the provider refused the thinking"
    FORM = "the provider refused the form"
    OTHER = ""


_OVERFLOW = re.compile(
    rb"prompt is too long|input is too long|request_too_large|context_length_exceeded"
    rb"|exceeds? (?:the |its |this )?(?:model'?s? |maximum |available )?context|context window"
    rb"|maximum context length|context limit|maximum (?:prompt|model|input) length"
    rb"|exceed_context_size|token count exceeds|exceeded model token limit|exceeds max length"
    rb"|too many (?:input )?tokens|reduce the length of the (?:messages|input|prompt)",
    re.IGNORECASE,
)
_THINKING = re.compile(rb"thinking|signature", re.IGNORECASE)


def refusal(status: int, body: bytes) -> Refusal:
    """Read a refusal.

    Sources: Anthropic "Errors" (400 and 413), OpenAI "Error codes", and the messages that other
    providers' users quote.

    Args:
        status: The HTTP status; 0 for an error inside a stream.
        body: The answer's decoded body, or the stream's first event.
    """
    if status == 413 or (status in {0, 400, 422} and _OVERFLOW.search(body)):
        return Refusal.OVERFLOW
    if status != 400:
        return Refusal.OTHER
    return Refusal.THINKING if _THINKING.search(body) else Refusal.FORM


def too_long(dialect: str, tokens: int, window: int) -> bytes:
    """Say as a provider would that a prompt does not fit, so that its clients understand.

    Args:
        dialect: The wire API's name.
        tokens: The prompt's estimated size.
        window: The model's context window in tokens.
    """
    words = f"{tokens} tokens > {window} maximum (estimated by cuesta, which is strict)"
    kind = "invalid_request_error"
    if dialect == "anthropic":
        error = {"type": kind, "message": f"prompt is too long: {words}"}
        return json.dumps({"type": "error", "error": error}).encode()
    message = f"This prompt exceeds the context window: {words}"
    error = {"message": message, "type": kind, "code": "context_length_exceeded"}
    return json.dumps({"error": error}).encode()
