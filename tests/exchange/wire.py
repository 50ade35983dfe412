"""Conversations by hand, on the Anthropic wire."""

from __future__ import annotations

import json
from typing import Any

from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.testing.driver import Bench

PLAIN = "claude-sonnet-4-5"
CHECKING = "claude-opus-5-5"

Message = dict[str, Any]


def turn(number: int, *, size: int = 4_000, thinks: bool = False, words: str = "") -> list[Message]:
    """One call and its result of about `size` characters, perhaps with a person's words behind."""
    thought = {"type": "thinking", "thinking": f"hm {number}", "signature": f"sig{number}" * 20}
    call = {
        "type": "tool_use",
        "id": f"toolu_{number}",
        "name": "Bash",
        "input": {"command": f"make step-{number}"},
    }
    result: list[dict[str, Any]] = [
        {
            "type": "tool_result",
            "tool_use_id": f"toolu_{number}",
            "content": f"out-{number} " * (size // 8),
        }
    ]
    said = [{"type": "text", "text": words}] if words else []
    return [
        {"role": "assistant", "content": [thought] * thinks + [call]},
        {"role": "user", "content": result + said},
    ]


def talk(turns: int, **given: Any) -> list[Message]:
    """A task and some turns."""
    task: Message = {"role": "user", "content": "the task"}
    return [task, *(message for number in range(turns) for message in turn(number, **given))]


def body(messages: list[Message], *, model: str = PLAIN, **fields: Any) -> bytes:
    """A request body; without tools a history of calls would be taken for a summary's."""
    tools = [{"name": "Bash", "input_schema": {"type": "object"}}]
    value = {"model": model, "max_tokens": 4_096, "tools": tools, "messages": messages, **fields}
    return json.dumps(value).encode()


def bench(threshold: int = 8_000, **options: Any) -> Bench:
    """A fresh engine with an empty ledger."""
    return Bench(Engine(CompactionOptions(threshold=threshold, **options)))


def grow(over: Bench, messages: list[Message], **fields: Any) -> list[Any]:
    """Send each request of a conversation that grew turn by turn; return what became of each."""
    roles = [message["role"] for message in messages]
    ends = [
        place + 1
        for place, role in enumerate(roles)
        if role == "user" and (place + 1 == len(roles) or roles[place + 1] == "assistant")
    ]
    return [over.send(body(messages[:end], **fields)) for end in ends]
