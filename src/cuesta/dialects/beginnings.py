"""How a stream of events begins: with an answer, or with an error in the place of one.

A provider may accept a request with status 200, tell that it has begun, and only then find that the
prompt is too long. Sources: OpenAI API reference, "Streaming events" (`response.failed`, `error`);
Anthropic, "Streaming messages" (`event: error`); gateways that put `{"error": ...}` into a chunk.
"""

from __future__ import annotations

import json
from typing import Any

from cuesta.dialects.events import Answers

_ANNOUNCEMENTS = frozenset(
    {
        "content_block_start",
        "message_start",
        "ping",
        "response.content_part.added",
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.queued",
    }
)
"""Events that hold nothing of the answer itself."""
_FAILURES = frozenset({"error", "response.failed"})


class Beginning:
    """Reads a stream until something of the answer has come, or an error.

    Args:
        content_type: The answer's media type; anything but a stream of events is settled at once.
    """

    def __init__(self, content_type: str) -> None:
        self.settled = "event-stream" not in content_type
        """Whether it is known how the answer begins."""
        self.error = b""
        """What the stream says in the place of an answer, as JSON; empty: nothing so far."""
        self._answers = Answers(content_type, b"{")

    def feed(self, decoded: bytes) -> None:
        """Take the next bytes; pieces may end anywhere."""
        if self.settled:
            return
        for event in self._answers.feed(decoded):
            kind = event.get("type")
            if kind in _FAILURES or event.get("error"):
                self.error = json.dumps(event).encode()
            elif kind in _ANNOUNCEMENTS or _says_nothing(event):
                continue
            self.settled = True
            return


def _says_nothing(chunk: dict[str, Any]) -> bool:
    """Tell whether a chunk of Chat Completions only names the role (or holds no choice)."""
    choices = chunk.get("choices")
    if not isinstance(choices, list):
        return False
    deltas = (choice.get("delta") for choice in choices if isinstance(choice, dict))
    finished = any(choice.get("finish_reason") for choice in choices if isinstance(choice, dict))
    return not finished and all(
        isinstance(delta, dict) and not any(v for k, v in delta.items() if k != "role")
        for delta in deltas
    )
