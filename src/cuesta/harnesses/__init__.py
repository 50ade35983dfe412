"""One file an agent program: how to launch it through the proxy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuesta.harnesses.claude_code import ClaudeCode
from cuesta.harnesses.codex import Codex
from cuesta.harnesses.generic import Generic
from cuesta.harnesses.launch import Harness, Launch, Leaving
from cuesta.harnesses.pi import Pi

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Harness", "Launch", "Leaving", "find_harness"]

_HARNESSES: tuple[Harness, ...] = (ClaudeCode(), Codex(), Pi(), Generic())


def find_harness(argv: Sequence[str]) -> Harness:
    """Return the first harness that recognises a command; the last one takes any."""
    return next(harness for harness in _HARNESSES if harness.recognise(tuple(argv)))
