"""Codex: rollouts, JSON Lines under `~/.codex/sessions`, some compressed.

Sources: rollouts that Codex 0.171 wrote, and `codex-rs/protocol` and `codex-rs/rollout`:
- `response_item` lines are the items of the Responses wire, the model's and the client's. The
  system prompt stands in `session_meta`, the tools nowhere.
- What was billed stands in `token_usage_record` lines, behind a response's items; before there
  were such, in `token_count` events, behind its items or its results, and some of them twice.
- Where neither is there, a response ends at its results.
- `compacted` says what takes the history's place. The summary before it was asked for beside the
  conversation and is no part of it.
- A rollout of a fork begins with a copy of the other's lines, or, since 0.171, names the rollout
  and the line that it goes on from: whoever reads puts those lines in front.
- `thread_rolled_back` takes the last turns of the person back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from cuesta.core.errors import RequestError
from cuesta.core.usage import Usage
from cuesta.dialects.registry import DIALECTS
from cuesta.harnesses.saved.base import (
    Json,
    Problems,
    count,
    encode,
    first_values,
    guarded,
    kind_of,
    lines,
    moment,
)
from cuesta.harnesses.saved.tree import Step, Tree
from cuesta.trace.session import Call, Session

_LINES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_PASSED = "internal_chat_message_metadata_passthrough"
_WIRE = "openai_responses"
BASE = "history_base"
"""The member of `session_meta` that names the rollout which this one goes on from."""


class Codex:
    """The format; it has no state."""

    harness = "codex"

    def recognises(self, beginning: bytes) -> bool:
        """See `SavedFormat.recognises`."""
        return any(
            kind_of(value) in _LINES and "payload" in value for value in first_values(beginning)
        )

    def read(self, content: bytes, problems: Problems) -> Iterator[Session]:
        """See `SavedFormat.read`."""
        values = list(lines(content, problems))
        rollout = _Rollout(_billing(values))
        guarded(rollout.take, values, problems, "not as expected")
        yield from rollout.tree.sessions()


def _billing(values: list[Json]) -> str:
    """Tell which lines say what was billed; empty: none."""
    kinds = {str(value.get("type")) for value in values}
    if "token_usage_record" in kinds:
        return "token_usage_record"
    counts = (v.get("payload") for v in values if v.get("type") == "event_msg")
    told = any(isinstance(p, dict) and isinstance(p.get("info"), dict) for p in counts)
    return "token_count" if told else ""


@dataclass(slots=True)
class _Rollout:
    """What a rollout's lines have told.

    Attributes:
        billing: See `_billing`.
        tree: The conversation.
        model: The present model.
        response: The step of the response that is being saved, or None.
        total: The total that the last `token_count` told.
        turns: Where the conversation stood before each turn of the person.
    """

    billing: str
    tree: Tree = field(default_factory=lambda: Tree("codex", "", _WIRE))
    model: str = ""
    response: Step | None = None
    total: object = None
    turns: list[Step | None] = field(default_factory=list)

    def take(self, line: Json) -> None:
        """Read one line."""
        kind, payload = line["type"], line["payload"]
        if kind == "response_item":
            self._item(payload, moment(line.get("timestamp")))
        elif kind == "session_meta":
            self._meta(payload)
        elif kind == "turn_context":
            self.model = str(payload.get("model") or self.model)
        elif kind == "compacted":
            self._compacted(payload)
        elif kind == "token_usage_record":
            self._billed(payload["usage"])
        elif kind == "event_msg" and payload.get("type") == "token_count":
            self._counted(payload.get("info"))
        elif kind == "event_msg" and payload.get("type") == "thread_rolled_back":
            self._roll_back(count(payload.get("num_turns")))

    def _meta(self, meta: Json) -> None:
        """Take what the file tells of itself; of several the last rollout's own counts.

        A fork's copy holds the other's meta too, behind its own.
        """
        if self.tree.name and BASE not in meta:
            return
        self.tree.name = str(meta.get("id", ""))
        self.tree.parent = _parent(meta.get("source"))
        prompt = meta.get("base_instructions")
        text = prompt.get("text") if isinstance(prompt, dict) else meta.get("instructions")
        if isinstance(text, str):
            self.tree.members["instructions"] = encode(text)
        if BASE in meta and meta[BASE] is not None:
            self._go_on()

    def _go_on(self) -> None:
        """Leave what stands here to the rollout that it is from."""
        if not self.tree.steps:
            self.tree.tear()
        for step in self.tree.steps:
            step.taken = True

    def _item(self, given: Json, time: float) -> None:
        item = {key: value for key, value in given.items() if key != _PASSED}
        role = _role(item)
        if role == "user" and item.get("type", "message") == "message":
            if not _asks(self.tree.tip):
                self.turns.append(self.tree.tip)
            self.response = None
        elif role != "assistant" and not self.billing:
            self.response = None
        if role == "assistant" and self.response is None:
            self.response = self.tree.add(item, call=Call(0, self.model, time=time))
        else:
            self.tree.add(item)

    def _billed(self, counts: Json) -> None:
        """Take what a response was billed, with which it ends."""
        step = self.response
        if step is not None and step.call is not None:
            usage = _usage(counts)
            step.call = replace(step.call, usage=usage if usage.prompt else None)
        self.response = None

    def _counted(self, info: object) -> None:
        """Take a count that is told after each response, and told again at other times."""
        if not isinstance(info, dict) or self.billing != "token_count":
            return
        total, last = info.get("total_token_usage"), info.get("last_token_usage")
        if isinstance(last, dict) and total != self.total:
            self.total = total
            self._billed(last)

    def _compacted(self, payload: Json) -> None:
        """Take a compaction, and back the summary that was asked for it."""
        tip = self.tree.tip
        summary = "".join(_texts(tip.messages[0])) if tip and tip.call else ""
        if tip and summary and summary in str(payload.get("message")):
            self.tree.steps.remove(tip)
            self.tree.tip = tip.before
            if tip.before is not None:
                tip.before.left = True
        self.response = None
        self.tree.compact()

    def _roll_back(self, number: int) -> None:
        if number:
            back = max(0, len(self.turns) - number)
            self.tree.tip = self.turns[back] if back < len(self.turns) else self.tree.tip
            del self.turns[back:]
        self.response = None


def _parent(source: object) -> str:
    """Return the thread that spawned this one, or nothing."""
    agent = source.get("subagent") if isinstance(source, dict) else None
    spawn = agent.get("thread_spawn") if isinstance(agent, dict) else None
    return str(spawn.get("parent_thread_id") or "") if isinstance(spawn, dict) else ""


def _role(item: Json) -> str:
    """Return who speaks in an item.

    Raises:
        ValueError: If it is no item.
    """
    try:
        return DIALECTS[_WIRE].parse(encode(item))[0].role.value
    except RequestError as error:
        raise ValueError(str(error)) from None


def _asks(step: Step | None) -> bool:
    """Tell whether a step is a user's message, to which another one belongs."""
    return step is not None and step.messages[0].get("role") == "user"


def _texts(item: Json) -> list[str]:
    content = item.get("content") if item.get("type", "message") == "message" else None
    parts = content if isinstance(content, list) else []
    return [str(part.get("text", "")) for part in parts if isinstance(part, dict)]


def _usage(counts: Json) -> Usage:
    """Read counts whose prompt holds what was read from the cache and written to it."""
    prompt = count(counts.get("input_tokens"))
    read = min(count(counts.get("cached_input_tokens")), prompt)
    written = min(count(counts.get("cache_write_input_tokens")), prompt - read)
    return Usage(prompt - read - written, read, written, 0, count(counts.get("output_tokens")))
