"""Harbor's trajectories in the Agent Trajectory Interchange Format (ATIF 1.0 to 1.8).

A step is a message of a person, of the system or of the agent; an agent's step holds its calls, and
the observations that answer them. Read from the models and agents of Harbor 0.26:
- Terminus-2 talks in plain text. Its steps hold what was parsed out of an answer, unless told to
  keep the text; the answer is written again as it asks for them, and is the whole prompt.
- A step that is copied from another trajectory, or that no model made, is no call.
- Its summaries are a step of the system and the hand-over behind it; the history goes on. The
  trajectories of those who summarise leave out the last steps that they were sent.
- Sub-agents stand in files of their own, or inside the parent's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from cuesta.core.meter import COMMON
from cuesta.core.usage import Usage
from cuesta.harnesses.saved.base import (
    Json,
    Problems,
    count,
    document,
    encode,
    first_values,
    moment,
)
from cuesta.harnesses.saved.chat import Chat, function_call, split
from cuesta.trace.session import Call, Session

_SCHEMA = "ATIF-"
_TERMINUS = "terminus"
_SUMMARISER = "-summarization"
_PROTOCOL = "terminus-2"


class Atif:
    """The format; it has no state."""

    harness = "harbor"

    def recognises(self, beginning: bytes) -> bool:
        """See `SavedFormat.recognises`."""
        values = first_values(beginning)
        value = values[0] if len(values) == 1 and isinstance(values[0], dict) else {}
        return str(value.get("schema_version")).startswith(_SCHEMA)

    def read(self, content: bytes, problems: Problems) -> Iterator[Session]:
        """See `SavedFormat.read`."""
        value = document(content, problems)
        if value:
            yield from _trajectory(value, "", problems)


def _trajectory(value: Json, parent: str, problems: Problems) -> Iterator[Session]:
    """Yield a trajectory's session and those of the sub-agents inside it."""
    agent = value["agent"] if isinstance(value.get("agent"), dict) else {}
    extra = agent["extra"] if isinstance(agent.get("extra"), dict) else {}
    name = str(value.get("trajectory_id") or value.get("session_id") or "")
    harness, summarises, _ = str(agent.get("name") or Atif.harness).partition(_SUMMARISER)
    text = harness.startswith(_TERMINUS)
    steps = value.get("steps")
    if not isinstance(steps, list):
        problems.note("no steps")
        steps = []
    chat = Chat(problems, lost=bool(summarises))
    model = str(agent.get("model_name") or "")
    reading = _Steps(chat, model, str(extra.get("parser") or "json") if text else None)
    chat.each(reading.step, steps, "not a step")
    if chat.messages:
        tools = agent.get("tool_definitions")
        yield chat.session(
            harness,
            name,
            members={"tools": encode(tools)} if tools else {},
            whole=text,
            protocol=_PROTOCOL if text else "",
            parent=str(extra.get("parent_session_id") or parent),
        )
    children = value.get("subagent_trajectories")
    for child in children if isinstance(children, list) else ():
        if isinstance(child, dict):
            yield from _trajectory(child, name, problems)
        else:
            problems.note("not a trajectory")


@dataclass(slots=True)
class _Steps:
    """Reads the steps of one trajectory.

    Attributes:
        chat: What they are written to.
        model: The agent's model.
        parser: How a text agent's answers were parsed (`json`, `xml`), or None: it calls tools.
        handover: Whether the next step hands over to the model that goes on after a summary.
    """

    chat: Chat
    model: str
    parser: str | None
    handover: bool = False

    def step(self, step: Json) -> None:
        """Take the next step."""
        source = step["source"]
        content = _content(step.get("message"))
        if source == "system" and _summarises(step):
            self.chat.compacted()
            self.handover = True
        elif source in {"user", "system"}:
            if not self.handover:
                self.chat.say({"role": source, "content": content})
            self.handover = False
        elif self.parser:
            self._text(step, content if isinstance(content, str) else "")
        else:
            self._tools(step, content)

    def _text(self, step: Json, text: str) -> None:
        """Take a step of an agent that talks in plain text."""
        answer = _answer(text, step.get("tool_calls") or [], self.parser)
        results = [_content(result.get("content")) for result in _results(step)]
        self.chat.say({"role": "assistant", "content": answer}, self._call(step))
        for content in results:
            if content:
                self.chat.say({"role": "user", "content": content})

    def _tools(self, step: Json, content: object) -> None:
        """Take a step of an agent that calls tools."""
        calls = [
            function_call(str(call["tool_call_id"]), str(call["function_name"]), call["arguments"])
            for call in step.get("tool_calls") or ()
        ]
        thought = step.get("reasoning_content")
        message: Json = {"role": "assistant", "content": content}
        if calls:
            message["tool_calls"] = calls
        if thought:
            message["reasoning_content"] = str(thought)
        results = [(r.get("source_call_id"), _content(r.get("content"))) for r in _results(step)]
        self.chat.say(message, self._call(step))
        for call_id, told in results:
            if call_id:
                self.chat.result(str(call_id), told)
        self._answer_together([told for call_id, told in results if not call_id and told])

    def _answer_together(self, contents: list[str | list[Json]]) -> None:
        """Take observations that name no call: one for all of them stands behind the last."""
        for number, content in enumerate(contents, 1):
            waiting = self.chat.waiting
            for call_id in waiting[:-1] if number == len(contents) else ():
                self.chat.result(call_id, "")
            if waiting:
                self.chat.result(self.chat.waiting[0], content)
            else:
                self.chat.say({"role": "user", "content": content})

    def _call(self, step: Json) -> Call | None:
        """Return the model call of a step, if a model made it here."""
        if step.get("is_copied_context") or step.get("llm_call_count") == 0:
            return None
        metrics = step["metrics"] if isinstance(step.get("metrics"), dict) else {}
        extra = metrics["extra"] if isinstance(metrics.get("extra"), dict) else {}
        thoughts = count(extra.get("reasoning_tokens"))
        if self.parser and not thoughts:
            thoughts = COMMON.text(str(step.get("reasoning_content") or ""))
        return Call(
            at=0,
            model=str(step.get("model_name") or self.model),
            usage=_usage(metrics, extra),
            thoughts=thoughts,
            time=moment(step.get("timestamp")),
            hole=count(step.get("llm_call_count")) > 1,
        )


def _usage(metrics: Json, extra: Json) -> Usage | None:
    if not count(metrics.get("prompt_tokens")):
        return None
    return split(
        count(metrics.get("prompt_tokens")),
        count(metrics.get("completion_tokens")),
        count(metrics.get("cached_tokens")),
        count(extra.get("cache_creation_input_tokens")),
    )


def _results(step: Json) -> list[Json]:
    """Return what a step observed, without what its sub-agents did."""
    observation = step.get("observation") or {}
    return [r for r in observation.get("results") or () if not r.get("subagent_trajectory_ref")]


def _summarises(step: Json) -> bool:
    """Tell whether a step of the system reports that the history was summarised."""
    results = (step.get("observation") or {}).get("results") or ()
    refs = any(result.get("subagent_trajectory_ref") for result in results)
    return refs and "summariz" in str(step.get("message"))


def _content(content: object) -> str | list[Json]:
    """Return a message's content as the chat wire writes it."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise TypeError("a content is neither text nor a list")
    return [_part(part) for part in content]


def _part(part: Json) -> Json:
    if part["type"] == "text":
        return {"type": "text", "text": str(part["text"])}
    path = str(part["source"]["path"])
    if part["type"] == "image":
        return {"type": "image_url", "image_url": {"url": path}}
    return {"type": "file", "file": {"file_id": path}}


def _answer(text: str, calls: list[Json], parser: str | None) -> str:
    """Return a text agent's answer as it was written, or as it is asked for."""
    said = _said(text)
    if said is None and not calls:
        return text
    analysis, plan = said or (text, "")
    commands = [dict(call["arguments"]) for call in calls if "keystrokes" in call["arguments"]]
    done = any(call["function_name"] == "mark_task_complete" for call in calls)
    if parser == "xml":
        return _xml(analysis, plan, commands, done=done)
    members: Json = {"analysis": analysis, "plan": plan, "commands": commands}
    members |= {"task_complete": True} if done else {}
    return json.dumps(members, indent=2, ensure_ascii=False)


def _said(text: str) -> tuple[str, str] | None:
    """Divide what was parsed out of an answer, or return None for the answer itself."""
    if text.startswith("Plan: "):
        return "", text.removeprefix("Plan: ")
    if not text.startswith("Analysis: "):
        return None
    analysis, _, plan = text.removeprefix("Analysis: ").partition("\nPlan: ")
    return analysis, plan


def _xml(analysis: str, plan: str, commands: list[Json], *, done: bool) -> str:
    keys = "".join(
        f'<keystrokes duration="{command.get("duration", 1.0)}">{command["keystrokes"]}'
        "</keystrokes>\n"
        for command in commands
    )
    complete = "<task_complete>true</task_complete>\n" if done else ""
    return (
        f"<response>\n<analysis>\n{analysis}\n</analysis>\n<plan>\n{plan}\n</plan>\n"
        f"<commands>\n{keys}</commands>\n{complete}</response>"
    )
