"""The scripted agent: a client of the Anthropic Messages API that behaves like Claude Code.

It knows nothing of the script. It sends its whole history, carries out the calls that come back,
and appends both, until the model calls no more tools. What it sends follows what Claude Code was
seen to send: three system blocks, reminders before the task, a system message after it, and cache
markers that move along.

Rule 1: the history only grows. What differs between a message's first sending and its later ones
is its marker, and the array that a lone text stands in while it bears one.
Rule 2: thinking goes back as it came, signature and all.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from cuesta.core.errors import CuestaError
from cuesta.core.models import read_model
from cuesta.core.usage import Usage
from cuesta.testing.briefing import ENVIRONMENT, REMINDERS, system_blocks, tools
from cuesta.testing.stream import ACCEPTED_ENCODINGS, Answer, EventReader, decoder_for
from cuesta.testing.workspace import Workspace

MODEL = "claude-opus-5-5"

_RETRIED = frozenset({429, 529})
_RETRIES = 3
_FIRST_DELAY = 0.6
_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=120)
_MARKER = {"type": "ephemeral"}
_ADAPTIVE_FLOOR = (4, 6)
_SYSTEM_ROLE_FLOOR = (4, 8)
_TURN_LIMIT = 1000
_BETAS = (
    "claude-code-20250219",
    "interleaved-thinking-2025-05-14",
    "context-management-2025-06-27",
    "effort-2025-11-24",
)
_SYSTEM_ROLE_BETA = "per-turn-control-2026-07-01"


class AgentError(CuestaError):
    """The provider refused a request, or its answer could not be used.

    Args:
        message: The provider's own words where it gave any.
        status: The HTTP status of the answer; 200 where the fault lay in the stream, 0 where no
            answer came.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(f"{message} (status {status})" if status else message)
        self.message = message
        self.status = status


@dataclass(frozen=True, slots=True)
class TurnReport:
    """One answer, as it is told while the agent works.

    Attributes:
        turn: Its number, from 1 on.
        tools: The names of the tools that it called.
        usage: What the provider billed for it.
        note: The `x-cuesta` header of the answer, or None.
    """

    turn: int
    tools: tuple[str, ...]
    usage: Usage
    note: str | None

    @property
    def prompt_tokens(self) -> int:
        """How many tokens the model read for this answer."""
        return self.usage.prompt


@dataclass(frozen=True, slots=True)
class AgentResult:
    """A run that came to its end.

    Attributes:
        turns: How many answers it took.
        usages: What each was billed, in order.
        errors: Status and message of each answer that was not 200; all of them were retried.
        finished: Whether the workspace's tests pass.
    """

    turns: int
    usages: tuple[Usage, ...]
    errors: tuple[tuple[int, str], ...]
    finished: bool


@dataclass
class ScriptedAgent:
    """An agent that works on one task in one workspace.

    Attributes:
        url: The provider's base URL, or that of a proxy before it.
        workspace: Where the calls are carried out.
        task: The person's first message.
        interjections: Number of turns taken -> what the person says then.
        api_key: Sent as `x-api-key`.
        model: Named in each request; decides how thinking is asked for and where the environment
            is told.
    """

    url: str
    workspace: Workspace
    task: str
    interjections: Mapping[int, str] = field(default_factory=dict)
    api_key: str = field(default="sk-demo", repr=False)
    model: str = MODEL
    _history: list[dict[str, Any]] = field(default_factory=list, init=False, repr=False)
    _errors: list[tuple[int, str]] = field(default_factory=list, init=False, repr=False)
    _session_id: str = field(default_factory=lambda: str(uuid.uuid4()), init=False, repr=False)

    async def run(self, on_turn: Callable[[TurnReport], None] = lambda _: None) -> AgentResult:
        """Work until the model calls no more tools.

        Args:
            on_turn: Told of each answer before its calls are carried out.

        Raises:
            AgentError: If a request is refused (429 and 529 only after three more tries), or an
                answer is broken off, or ends for another reason than a call or the end of the turn.
        """
        self._history = _opening(self.task, system_role=self._at_least(_SYSTEM_ROLE_FLOOR))
        self._errors = []
        usages: list[Usage] = []
        async with aiohttp.ClientSession(timeout=_TIMEOUT, auto_decompress=False) as session:
            for turn in range(1, _TURN_LIMIT + 1):
                answer, note = await self._ask(session)
                usages.append(answer.usage)
                names = tuple(call["name"] for call in answer.calls)
                on_turn(TurnReport(turn, names, answer.usage, note))
                self._history.append({"role": "assistant", "content": answer.content})
                if not answer.calls:
                    break
                results = await asyncio.to_thread(self._carry_out, answer.calls)
                said = self.interjections.get(turn)
                self._history.append({"role": "user", "content": results + _texts(said)})
            else:
                raise AgentError(f"no end after {_TURN_LIMIT} turns", 200)
        finished = await asyncio.to_thread(self.workspace.tests_pass)
        return AgentResult(len(usages), tuple(usages), tuple(self._errors), finished)

    def _carry_out(self, calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Carry out calls in their order; return their results for one user message."""
        results = []
        for call in calls:
            result = self.workspace.call(call["name"], call["input"])
            results.append(
                {
                    "tool_use_id": call["id"],
                    "type": "tool_result",
                    "content": result.text,
                    "is_error": result.is_error,
                }
            )
        return results

    async def _ask(self, session: aiohttp.ClientSession) -> tuple[Answer, str | None]:
        """Send the history, again where the provider is busy; return answer and Cuesta's note."""
        url = f"{self.url.rstrip('/')}/v1/messages?beta=true"
        body = json.dumps(self._body(), ensure_ascii=False, separators=(",", ":")).encode()
        for attempt in range(_RETRIES + 1):
            try:
                async with session.post(url, data=body, headers=self._headers()) as response:
                    if response.status == 200:
                        return await _read(response), response.headers.get("x-cuesta")
                    error = AgentError(await _refusal(response), response.status)
                    wanted = response.headers.get("retry-after", "")
            except aiohttp.ClientError as failure:
                raise AgentError(f"the connection failed: {failure}", 0) from failure
            self._errors.append((error.status, error.message))
            if error.status not in _RETRIED or attempt == _RETRIES:
                break
            await asyncio.sleep(int(wanted) if wanted.isdecimal() else _FIRST_DELAY * 2**attempt)
        raise error

    def _body(self) -> dict[str, Any]:
        *earlier, last = self._history
        adaptive = self._at_least(_ADAPTIVE_FLOOR)
        identity = {"device_id": "0" * 64, "account_uuid": "", "session_id": self._session_id}
        return {
            "model": self.model,
            "messages": [*map(_unmarked, earlier), _marked(last)],
            "system": system_blocks(),
            "tools": tools(),
            "metadata": {"user_id": json.dumps(identity, separators=(",", ":"))},
            "max_tokens": 64_000 if adaptive else 32_000,
            "thinking": {"type": "adaptive", "display": "omitted"}
            if adaptive
            else {"type": "enabled", "budget_tokens": 31_999},
            "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
            **({"output_config": {"effort": "medium"}} if adaptive else {}),
            "stream": True,
        }

    def _headers(self) -> dict[str, str]:
        system_role = (_SYSTEM_ROLE_BETA,) if self._at_least(_SYSTEM_ROLE_FLOOR) else ()
        return {
            "accept": "application/json",
            "accept-encoding": ACCEPTED_ENCODINGS,
            "anthropic-beta": ",".join((*_BETAS, *system_role)),
            "anthropic-version": "2023-06-01",
            "content-type": "application/json",
            "user-agent": "cuesta-scripted-agent",
            "x-api-key": self.api_key,
            "x-claude-code-session-id": self._session_id,
        }

    def _at_least(self, generation: tuple[int, int]) -> bool:
        return read_model(self.model).generation >= generation


def _opening(task: str, *, system_role: bool) -> list[dict[str, Any]]:
    """Return the messages before the first answer.

    Source: Claude Code 2.1.332 on the wire; models before Opus 4.8 refuse a system role in
    `messages`, and are told the same by one more reminder.
    """
    if system_role:
        first = {"role": "user", "content": _texts(*REMINDERS, task)}
        environment = {
            "role": "system",
            "content": _texts(ENVIRONMENT),
            "output_config": {"effort": "medium"},
        }
        return [first, environment]
    reminder = f"<system-reminder>\n{ENVIRONMENT}\n</system-reminder>"
    return [{"role": "user", "content": _texts(reminder, *REMINDERS, task)}]


def _texts(*texts: str | None) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text} for text in texts if text]


def _marked(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message with a cache marker on its last block."""
    *blocks, last = message["content"]
    return {**message, "content": [*blocks, {**last, "cache_control": _MARKER}]}


def _unmarked(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message as it is sent once it is not the last: a lone text as a string."""
    content = message["content"]
    if message["role"] != "assistant" and len(content) == 1 and content[0]["type"] == "text":
        return {**message, "content": content[0]["text"]}
    return message


async def _read(response: aiohttp.ClientResponse) -> Answer:
    """Read a stream to its end."""
    decoder = decoder_for(response.headers.get("content-encoding", ""))
    reader, answer = EventReader(), Answer()
    async for data in response.content.iter_any():
        for event in reader.feed(decoder.decompress(data)):
            answer.add(event)
    if answer.error or not answer.complete:
        raise AgentError(answer.error or "the answer broke off", response.status)
    if answer.stop_reason not in {"tool_use", "end_turn"}:
        raise AgentError(f"the model stopped because of `{answer.stop_reason}`", response.status)
    return answer


async def _refusal(response: aiohttp.ClientResponse) -> str:
    """Return what a refusal says, in the provider's words where it has any."""
    decoder = decoder_for(response.headers.get("content-encoding", ""))
    body = decoder.decompress(await response.read())
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return body[:500].decode(errors="replace") or "the answer has no body"
