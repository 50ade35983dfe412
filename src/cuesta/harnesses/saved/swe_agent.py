"""SWE-agent's trajectories (`*.traj`): what `history` holds, each agent's part a session.

Read from the files of 0.6 and 1.0: the history holds messages with keys of its own, of which the
chat wire saw role, content, calls and thinking; demonstrations stand in it too. Answers carry no
bill, only their sum stands in `info`, so no call has a usage. Where no answer calls a tool, thought
and action are text. A file of several attempts holds a session an attempt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cuesta.harnesses.saved.base import (
    Json,
    Problems,
    decode,
    document,
    first_values,
)
from cuesta.harnesses.saved.chat import Chat
from cuesta.trace.session import Call, Session

_SENT = ("role", "content", "tool_calls", "thinking_blocks", "reasoning_content")
_STEP = frozenset({"action", "observation", "response"})


class SweAgent:
    """The format; it has no state."""

    harness = "swe-agent"

    def recognises(self, beginning: bytes) -> bool:
        """See `SavedFormat.recognises`."""
        values = first_values(beginning)
        value = values[0] if len(values) == 1 and isinstance(values[0], dict) else {}
        attempts = value.get("attempts")
        if isinstance(attempts, list) and attempts and isinstance(attempts[0], dict):
            value = attempts[0]
        steps = value.get("trajectory")
        step = steps[0] if isinstance(steps, list) and steps else None
        return isinstance(step, dict) and bool(_STEP & step.keys())

    def read(self, content: bytes, problems: Problems) -> Iterator[Session]:
        """See `SavedFormat.read`."""
        value = document(content, problems)
        attempts = value.get("attempts")
        runs = attempts if isinstance(attempts, list) else [value]
        model = _model(value)
        for number, run in enumerate(runs):
            history = run.get("history") if isinstance(run, dict) else None
            if not isinstance(history, list):
                problems.note("no history")
                continue
            name = f"attempt {number + 1}" if len(runs) > 1 else ""
            yield from _agents(history, name, model, problems)


def _agents(history: Sequence[Any], name: str, model: str, problems: Problems) -> Iterator[Session]:
    """Yield the session of each agent: each was sent its own messages only."""
    parts: dict[str, list[Any]] = {}
    for item in history:
        agent = str(item.get("agent", "")) if isinstance(item, dict) else ""
        parts.setdefault(agent or next(iter(parts), ""), []).append(item)
    first = next(iter(parts), "")
    for agent, items in parts.items():
        own = " ".join(filter(None, (name, agent if agent != first else "")))
        session = _session(items, own, model, problems)
        if session:
            yield session


def _session(items: Sequence[Any], name: str, model: str, problems: Problems) -> Session | None:
    chat = Chat(problems)
    tools = False

    def message(item: Json) -> None:
        nonlocal tools
        calls = item.get("tool_call_ids")
        if item["role"] == "tool" and calls:
            chat.result(str(calls[0]), item.get("content"))
            return
        sent = {key: item[key] for key in _SENT if item.get(key) is not None}
        made = item["role"] == "assistant" and not item.get("is_demo")
        chat.say({"content": None, **sent}, Call(0, model) if made else None)
        tools |= bool(item.get("tool_calls"))

    chat.each(message, items, "not a message")
    if not chat.messages:
        return None
    protocol = "" if tools else "swe-agent"
    return chat.session(SweAgent.harness, name, whole=not tools, protocol=protocol)


def _model(value: Json) -> str:
    """Return the model's name, which stands in the run's configuration alone."""
    config = value.get("replay_config")
    try:
        config = decode(config.encode()) if isinstance(config, str) else config
        return str(config["agent"]["model"]["name"]) if isinstance(config, dict) else ""
    except (KeyError, TypeError, ValueError):
        return ""
