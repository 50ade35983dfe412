"""Which format a file has: the rows are asked in their order, plain lists of messages last."""

from __future__ import annotations

from cuesta.harnesses.saved.atif import Atif
from cuesta.harnesses.saved.base import SavedFormat
from cuesta.harnesses.saved.claude_code import ClaudeCode
from cuesta.harnesses.saved.codex import Codex
from cuesta.harnesses.saved.gemini_cli import GeminiCli
from cuesta.harnesses.saved.mini_swe_agent import MiniSweAgent
from cuesta.harnesses.saved.opencode import OpenCode
from cuesta.harnesses.saved.openhands import OpenHands
from cuesta.harnesses.saved.pi import Pi
from cuesta.harnesses.saved.plain import Plain
from cuesta.harnesses.saved.pydantic_ai import PydanticAi
from cuesta.harnesses.saved.recordings import Recordings
from cuesta.harnesses.saved.swe_agent import SweAgent

FORMATS: tuple[SavedFormat, ...] = (
    Recordings(),
    ClaudeCode(),
    Codex(),
    GeminiCli(),
    Pi(),
    OpenCode(),
    MiniSweAgent(),
    SweAgent(),
    OpenHands(),
    Atif(),
    PydanticAi(),
    Recordings(),
    Plain(),
)
"""All formats that are read."""


def recognise(beginning: bytes) -> SavedFormat | None:
    """Return the format of a file that begins so (64 KB are enough), or None for a foreign one."""
    return next((saved for saved in FORMATS if saved.recognises(beginning)), None)
