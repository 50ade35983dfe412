"""OpenHands' histories: rows of an evaluation's `output.jsonl`, and saved trajectories.

A history is a list of events: actions and the observations that answer them. Which messages they
became is read from the sources of openhands-ai 0.59 (`conversation_memory.py`) and, for events with
a `kind`, of its SDK 1.58 (`openhands_events.py` reads those). Where the provider's response is
saved with an action, that is the answer; where it is not (no native calls, files of 2024), thought
and action are written as a call of the wire's own. Workspace notes, examples and tools that a
prompt template adds are hidden.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from cuesta.core.usage import Usage
from cuesta.harnesses.saved.base import (
    Json,
    Problems,
    encode,
    first_values,
    lines,
    moment,
    whole,
)
from cuesta.harnesses.saved.chat import Chat, billed, function_call, hidden_thoughts, split
from cuesta.harnesses.saved.openhands_events import SdkEvents, run_output, shortened, token_usage
from cuesta.trace.session import Call, Session

_ROWS = (
    {"instance_id", "test_result", "instruction"},
    {"issue", "issue_type", "instruction"},
)
_QUIET = frozenset({"recall", "change_agent_state", "agent_state_changed", "null", "pause"})
_TOOLS = {
    "run": ("execute_bash", ("command",)),
    "run_ipython": ("execute_ipython_cell", ("code",)),
    "browse": ("browser", ("url",)),
    "browse_interactive": ("browser", ("browser_actions",)),
    "read": ("str_replace_editor", ("path",)),
    "write": ("str_replace_editor", ("path", "content")),
    "edit": ("str_replace_editor", ("path", "content")),
    "finish": ("finish", ("outputs",)),
}


class OpenHands:
    """The format; it has no state."""

    harness = "openhands"

    def recognises(self, beginning: bytes) -> bool:
        """See `SavedFormat.recognises`."""
        values = first_values(beginning)
        value = values[0] if values else None
        if isinstance(value, dict) and any(row <= value.keys() for row in _ROWS):
            return True
        history = value.get("history") if isinstance(value, dict) else value
        return isinstance(history, list) and any(map(_is_event, _flat(history)[:8]))

    def read(self, content: bytes, problems: Problems) -> Iterator[Session]:
        """See `SavedFormat.read`."""
        for row in _rows(content, problems):
            history = row.get("history")
            if not isinstance(history, list):
                problems.note("no history")
                continue
            chat = Chat(problems)
            chat.each(_events(row, chat).event, _flat(history), "not an event")
            if chat.messages:
                yield chat.session(self.harness, _name(row), members=_members(history))


def _rows(content: bytes, problems: Problems) -> Iterator[Json]:
    """Yield the rows of a file: lines, or one document."""
    if b"\n{" in content.strip():
        yield from lines(content, problems)
        return
    value = whole(content, problems)
    if isinstance(value, dict | list):
        yield {"history": value} if isinstance(value, list) else value
    else:
        problems.note("not an object")


def _flat(history: Sequence[Any]) -> list[Any]:
    """Return the events in one list: older files pair an action with its observation."""
    pairs = (event if event and isinstance(event, list) else [event] for event in history)
    return [event for pair in pairs for event in pair]


def _is_event(event: object) -> bool:
    if not isinstance(event, dict) or "role" in event:
        return False
    if str(event.get("kind")).endswith("Event") and "source" in event:
        return True
    told = {"args", "extras", "wait_for_response", "thought", "exit_code", "cause"} & event.keys()
    return bool(told) and ("action" in event or "observation" in event)


def _events(row: Json, chat: Chat) -> SdkEvents | _Events:
    """Return the reader that fits a history's events."""
    bills = _bills(row)
    sdk = any(isinstance(e, dict) and "kind" in e for e in _flat(row["history"])[:8])
    return SdkEvents(chat, bills, _model(row)) if sdk else _Events(chat, bills, _model(row))


def _bills(row: Json) -> dict[str, Json]:
    """Return the bills of a row by the response that they are for."""
    metrics = row.get("metrics")
    usages = metrics.get("token_usages") if isinstance(metrics, dict) else None
    return {
        str(usage.get("response_id")): usage
        for usage in (usages if isinstance(usages, list) else ())
        if isinstance(usage, dict)
    }


def _model(row: Json) -> str:
    config: Any = row.get("metadata")
    for key in ("llm_config", "llm"):
        inner = config.get(key) if isinstance(config, dict) else None
        if isinstance(inner, dict):
            return str(inner.get("model") or "")
    return ""


def _name(row: Json) -> str:
    issue = row.get("issue")
    if isinstance(issue, dict):
        return f"{issue.get('owner')}/{issue.get('repo')}#{issue.get('number')}"
    return str(row.get("instance_id") or "")


def _members(history: Sequence[Any]) -> dict[str, bytes]:
    """Return the tools, where the system prompt's event lists them."""
    for event in _flat(history):
        args = event.get("args") if isinstance(event, dict) else None
        if isinstance(args, dict) and args.get("tools") and event.get("action") == "system":
            return {"tools": encode(args["tools"])}
    return {}


@dataclass(slots=True)
class _Events:
    """Reads events of OpenHands up to 0.x.

    Attributes:
        chat: What they are written to.
        bills: Bills by response.
        model: The model's name where a response does not tell.
        responses: The responses that were written already.
        total: What was billed up to the latest event that tells.
        number: How many events there were.
    """

    chat: Chat
    bills: dict[str, Json]
    model: str
    responses: set[str] = field(default_factory=set)
    total: Usage = field(default_factory=Usage)
    number: int = 0

    def event(self, event: Json) -> None:
        """Take the next event."""
        self.number += 1
        kind = event.get("action") or event["observation"]
        if kind in _QUIET:
            return
        if "observation" in event and "action" not in event:
            self._observation(event)
        elif kind == "condensation":
            self.chat.compacted()
        elif kind == "system":
            self.chat.say({"role": "system", "content": _text(_args(event), "content")})
        elif _role(event) == "user":
            self._person(event)
        else:
            self._answer(event)

    def _person(self, event: Json) -> None:
        args = _args(event)
        if event["action"] == "run":
            text = f"User executed the command:\n{_text(args, 'command')}"
        else:
            text = _text(args, "content" if event["action"] == "message" else "thought")
        images = args.get("image_urls") or []
        shown = [{"type": "image_url", "image_url": {"url": str(url)}} for url in images]
        content = [{"type": "text", "text": text}, *shown] if shown else text
        self.chat.say({"role": "user", "content": content})

    def _answer(self, event: Json) -> None:
        """Take an action of the model: parallel ones came in one response."""
        meta = event.get("tool_call_metadata")
        response = meta["model_response"] if meta else {}
        response_id = str(response.get("id", ""))
        if response_id and response_id in self.responses:
            return
        message = response["choices"][0]["message"] if response else self._written(event)
        sent = {
            key: message[key]
            for key in ("content", "tool_calls", "reasoning_content")
            if message.get(key)
        }
        counts = response.get("usage")
        usage = billed(counts) or self._bill(response_id, event)
        call = Call(
            at=0,
            model=str(response.get("model") or self.model),
            usage=usage,
            thoughts=0 if "reasoning_content" in sent else hidden_thoughts(counts),
            time=moment(event.get("timestamp")),
        )
        self.chat.say({"role": "assistant", "content": None, **sent}, call)
        self.responses.add(response_id)
        self.total = _total(event) or self.total

    def _written(self, event: Json) -> Json:
        """Write an action whose response is not saved as a call of the wire's own."""
        args = _args(event)
        if event["action"] == "message":
            return {"content": _text(args, "content")}
        name, keys = _TOOLS.get(event["action"], (str(event["action"]), ("content",)))
        made = {key: args[key] for key in keys if args.get(key)}
        call = function_call(f"call_{self.number}", name, made)
        return {"content": args.get("thought") or "", "tool_calls": [call]}

    def _bill(self, response_id: str, event: Json) -> Usage | None:
        """Return the bill of a response that is not saved: by its id, or as what came on top."""
        if response_id in self.bills:
            return token_usage(self.bills[response_id])
        total = _total(event)
        if total is None:
            return None
        before = self.total
        return split(
            max(total.prompt - before.prompt, 0),
            max(total.output - before.output, 0),
            max(total.cache_read - before.cache_read, 0),
            max(total.cache_write - before.cache_write, 0),
        )

    def _observation(self, event: Json) -> None:
        meta = event.get("tool_call_metadata")
        text = _observed(event)
        if meta:
            self.chat.result(str(meta["tool_call_id"]), text)
        elif self.chat.waiting and "extras" not in event:
            self.chat.result(self.chat.waiting[0], text)
        else:
            self.chat.say({"role": "user", "content": text})


def _total(event: Json) -> Usage | None:
    metrics = event.get("llm_metrics")
    total = metrics.get("accumulated_token_usage") if isinstance(metrics, dict) else None
    return token_usage(total) if isinstance(total, dict) else None


def _args(event: Json) -> Json:
    """Return an action's arguments: older files keep them beside its name."""
    args = event.get("args", event)
    if not isinstance(args, dict):
        raise TypeError("an action's arguments are no object")
    return args


def _role(event: Json) -> str:
    """Tell who acts; where a file does not say, a message that waits for an answer is the model's.

    The very first is the task all the same: it never waits.
    """
    source = event.get("source")
    if source:
        return str(source)
    says = event["action"] == "message" and not event.get("wait_for_response")
    return "user" if says else "agent"


def _text(args: Json, key: str) -> str:
    text = args.get(key) or ""
    if not isinstance(text, str):
        raise TypeError("a text is none")
    return text


def _observed(event: Json) -> str:
    """Return what the model is shown of an observation."""
    kind = event["observation"]
    text = _text(event, "content")
    extras = event.get("extras")
    if kind == "run" and isinstance(extras, dict):
        text = run_output(text, extras.get("metadata"))
    text = shortened(text)
    if kind == "error":
        text += "\n[Error occurred in processing last action]"
    if kind == "user_rejected":
        text = f"OBSERVATION:\n{text}\n[Last action has been rejected by the user]"
    return text
