"""Which format a file has: the rows are asked in their order, plain lists of messages last."""

from __future__ import annotations

from cuesta.harnesses.saved.base import SavedFormat
from cuesta.harnesses.saved.claude_code import ClaudeCode
from cuesta.harnesses.saved.codex import Codex
from cuesta.harnesses.saved.gemini_cli import GeminiCli
from cuesta.harnesses.saved.opencode import OpenCode
from cuesta.harnesses.saved.pi import Pi
from cuesta.harnesses.saved.plain import Plain

FORMATS: tuple[SavedFormat, ...] = (
    ClaudeCode(),
    Codex(),
    GeminiCli(),
    Pi(),
    OpenCode(),
    Plain(),
)
"""All formats that are read."""


def recognise(beginning: bytes) -> SavedFormat | None:
    """Return the format of a file that begins so (64 KB are enough), or None for a foreign one."""
    return next((saved for saved in FORMATS if saved.recognises(beginning)), None)
