"""Writing a session in OpenAI's chat wire, for harnesses that save events or messages of their own.

Rule 1. Every call is answered right behind it: one whose result is not saved gets an empty one,
unless nothing follows. A result of no open call is left out and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from cuesta.core.usage import Usage
from cuesta.harnesses.saved.base import Json, Problems, count, encode
from cuesta.trace.session import Call, Session

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


@dataclass(slots=True)
class Chat:
    """The messages and calls of one session, as they are found.

    Attributes:
        problems: Where to count what cannot be written.
        messages: The raw messages.
        calls: The model calls.
        compactions: The numbers of the calls before which the harness compacted its history.
        lost: Whether what stands before the next call is not what was sent.
    """

    problems: Problems
    messages: list[bytes] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    compactions: list[int] = field(default_factory=list)
    lost: bool = False
    _open: list[str] = field(default_factory=list)

    def say(self, message: Json, call: Call | None = None) -> None:
        """Add a message that is no result.

        Args:
            message: The message.
            call: The model call that it answers, if it is one; its place is filled in.

        Raises:
            ValueError: If it is no message of this wire.
        """
        raw = encode(checked(message))
        opened = [str(made.get("id", "")) for made in message.get("tool_calls") or ()]
        self.lost = self.lost or bool(self._open)
        while self._open:
            self.result(self._open[0], "")
        if call:
            at = len(self.messages)
            self.calls.append(replace(call, at=at, hole=call.hole or self.lost))
            self.lost = False
        self.messages.append(raw)
        self._open = opened

    def replace(self, message: Json) -> None:
        """Put a longer answer in place of the last message, which has no result yet."""
        raw = encode(checked(message))
        self.messages[-1] = raw
        self._open = [str(made.get("id", "")) for made in message.get("tool_calls") or ()]

    def result(self, call_id: str, content: object) -> None:
        """Add a call's result.

        Raises:
            ValueError: If it is no content of this wire.
        """
        if call_id not in self._open:
            self.lose("a result without its call")
            return
        message = {"role": "tool", "tool_call_id": call_id, "content": content}
        self.messages.append(encode(checked(message)))
        self._open.remove(call_id)

    @property
    def waiting(self) -> tuple[str, ...]:
        """The ids of the calls that have no result yet."""
        return tuple(self._open)

    def compacted(self) -> None:
        """Note that the harness compacted its history here."""
        self.lost = True
        if len(self.calls) not in self.compactions:
            self.compactions.append(len(self.calls))

    def each(self, read: Callable[[Any], None], values: Iterable[Any], reason: str) -> None:
        """Read values one by one; those that the reader does not understand are lost.

        Args:
            read: Reads one value, and has changed nothing when it raises.
            values: The values.
            reason: What to count the others as.
        """
        for value in values:
            try:
                read(value)
            except (KeyError, TypeError, ValueError, AttributeError, IndexError):
                self.lose(reason)

    def lose(self, reason: str) -> None:
        """Count a message that could not be read."""
        self.problems.note(reason)
        self.lost = True

    def session(self, harness: str, name: str, **rest: Any) -> Session:  # noqa: ANN401 - its own
        """Return the session; `rest` are further attributes of it."""
        return Session(
            harness=harness,
            name=name,
            wire="openai_chat",
            messages=tuple(self.messages),
            calls=tuple(self.calls),
            compactions=tuple(number for number in self.compactions if number < len(self.calls)),
            **rest,
        )


def checked(message: Json) -> Json:
    """Return a message if the wire's dialect can read it.

    Raises:
        ValueError: If it cannot.
    """
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    calls = message.get("tool_calls") or []
    if message.get("role") not in _ROLES:
        raise ValueError("a message has an unknown role")
    if not (content is None or isinstance(content, str | list)):
        raise ValueError("a message's content is neither text nor a list")
    if not all(isinstance(part, dict) for part in parts):
        raise ValueError("a part of a message's content is no object")
    if not isinstance(calls, list) or not all(map(_is_call, calls)):
        raise ValueError("a message's calls are no list of calls")
    return message


def _is_call(call: object) -> bool:
    return isinstance(call, dict) and isinstance(call.get("function"), dict)


def function_call(call_id: str, name: str, arguments: object) -> Json:
    """Return a call as this wire writes it; arguments that are no text are written as JSON."""
    text = arguments if isinstance(arguments, str) else encode(arguments).decode()
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def billed(counts: object) -> Usage | None:
    """Read a usage object as LiteLLM, OpenRouter and OpenAI write it; None where there is none.

    Its prompt tokens hold the cached ones and the written ones, for Anthropic's models too.
    """
    if not isinstance(counts, dict) or not ("prompt_tokens" in counts or "input_tokens" in counts):
        return None
    details = counts.get("prompt_tokens_details") or counts.get("input_tokens_details")
    details = details if isinstance(details, dict) else {}
    read = count(details.get("cached_tokens")) or count(counts.get("cache_read_input_tokens"))
    written = count(counts.get("cache_creation_input_tokens"))
    return split(
        count(counts.get("prompt_tokens")) or count(counts.get("input_tokens")),
        count(counts.get("completion_tokens")) or count(counts.get("output_tokens")),
        read,
        written,
    )


def split(prompt: int, output: int, read: int = 0, written: int = 0) -> Usage:
    """Divide a prompt that is billed in one number by its price classes."""
    read = min(read, prompt)
    written = min(written, prompt - read)
    return Usage(prompt - read - written, read, written, 0, output)


def hidden_thoughts(counts: object) -> int:
    """Return the tokens of a usage object that are thinking, by OpenAI's and LiteLLM's names."""
    if not isinstance(counts, dict):
        return 0
    details = counts.get("completion_tokens_details") or counts.get("output_tokens_details")
    return count(details.get("reasoning_tokens")) if isinstance(details, dict) else 0
