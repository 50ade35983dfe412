"""Events of the OpenHands SDK, which name their class in `kind`. Read from the source of 1.58.2.

Its thinking goes back to Anthropic's models alone, as blocks; a chat wire never sees it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cuesta.core.usage import Usage
from cuesta.harnesses.saved.base import Json, count, moment
from cuesta.harnesses.saved.chat import Chat, function_call, split
from cuesta.trace.session import Call

_LIMIT = 30_000
"""Characters of an observation that OpenHands sends unless told otherwise."""


@dataclass(slots=True)
class SdkEvents:
    """Reads events of the SDK.

    Attributes:
        chat: What they are written to.
        bills: Bills by response.
        model: The model's name where a bill does not tell.
        last: The latest message with calls.
        response: The response that it is part of.
    """

    chat: Chat
    bills: dict[str, Json]
    model: str
    last: Json = field(default_factory=dict)
    response: str = ""

    def event(self, event: Json) -> None:
        """Take the next event."""
        read = _READERS.get(str(event["kind"]))
        if read:
            read(self, event)

    def system(self, event: Json) -> None:
        """Take the system prompt."""
        blocks = (event["system_prompt"], event.get("dynamic_context"))
        self.chat.say({"role": "system", "content": _parts([b for b in blocks if b])})

    def message(self, event: Json) -> None:
        """Take a message of a person or of the model."""
        said = event["llm_message"]
        content = [*(said.get("content") or ()), *(event.get("extended_content") or ())]
        message: Json = {"role": said["role"], "content": _parts(content), **_thinking(said)}
        if said.get("tool_calls"):
            message["tool_calls"] = [_call(call) for call in said["tool_calls"]]
        made = said["role"] == "assistant"
        self.chat.say(message, self._bill(event, said) if made else None)

    def action(self, event: Json) -> None:
        """Take a call; further ones of the same response join the message of the first."""
        call = _call(event["tool_call"])
        response = str(event.get("llm_response_id", ""))
        if response and self._joins(response, call):
            return
        message = {
            "role": "assistant",
            "content": _parts([t for t in event.get("thought") or () if t.get("text")]),
            "tool_calls": [call],
            **_thinking(event),
        }
        self.chat.say(message, self._bill(event, event))
        self.last, self.response = message, response

    def _joins(self, response: str, call: Json) -> bool:
        """Add a call to the message before if it is of the same response, with nothing between."""
        calls = self.last.get("tool_calls") or []
        if response != self.response or len(self.chat.waiting) != len(calls):
            return False
        self.last = {**self.last, "tool_calls": [*calls, call]}
        self.chat.replace(self.last)
        return True

    def result(self, event: Json) -> None:
        """Take what came of a call: an output, a refusal or an error."""
        observation = event.get("observation")
        if observation is not None:
            parts = _observed(observation)
        elif "rejection_reason" in event:
            parts = _parts([f"Action rejected: {event['rejection_reason']}"])
        else:
            parts = _parts([event["error"]])
        self.chat.result(
            str(event["tool_call_id"]), parts + _parts(event.get("extended_content") or ())
        )

    def condensation(self, _event: Json) -> None:
        """Take note that the history was condensed."""
        self.chat.compacted()

    def _bill(self, event: Json, message: Json) -> Call:
        bill = self.bills.get(str(event.get("llm_response_id"))) or {}
        return Call(
            at=0,
            model=str(bill.get("model") or self.model),
            usage=token_usage(bill) if bill else None,
            thoughts=0 if _thinking(message) else count(bill.get("reasoning_tokens")),
            time=moment(event.get("timestamp")),
        )


def run_output(text: str, about: object) -> str:
    """Return a command's output with what OpenHands says around it.

    Args:
        text: The output.
        about: What is known of the command's end: `exit_code`, `working_dir` and more.
    """
    if not isinstance(about, dict):
        return text
    text = f"{about.get('prefix') or ''}{text}{about.get('suffix') or ''}"
    if about.get("working_dir"):
        text += f"\n[Current working directory: {about['working_dir']}]"
    if about.get("py_interpreter_path"):
        text += f"\n[Python interpreter: {about['py_interpreter_path']}]"
    if about.get("exit_code", -1) != -1:
        text += f"\n[Command finished with exit code {about['exit_code']}]"
    return text


def shortened(text: str) -> str:
    """Return head and tail of an observation that is longer than OpenHands sends it."""
    if len(text) <= _LIMIT:
        return text
    half = _LIMIT // 2
    return f"{text[:half]}\n[... Observation truncated due to length ...]\n{text[-half:]}"


def token_usage(bill: Json) -> Usage:
    """Read a bill as OpenHands keeps it."""
    return split(
        count(bill.get("prompt_tokens")),
        count(bill.get("completion_tokens")),
        count(bill.get("cache_read_tokens")),
        count(bill.get("cache_write_tokens")),
    )


def _call(call: Json) -> Json:
    return function_call(str(call["id"]), str(call["name"]), call["arguments"])


def _thinking(message: Json) -> Json:
    """Return the thinking that is sent again: blocks, never the plain reasoning."""
    blocks = message.get("thinking_blocks") or ()
    texts = [block["thinking"] for block in blocks if block.get("thinking")]
    return {"reasoning_content": "\n".join(texts)} if texts else {}


def _observed(observation: Json) -> list[Json]:
    """Return what the model is shown of an observation: its parts, or the text of its command."""
    parts = observation.get("content")
    parts = [parts] if isinstance(parts, str) else parts or [observation.get("output") or ""]
    if "metadata" in observation:
        texts = "".join(str(part["text"]) for part in _parts(parts) if "text" in part)
        parts = [shortened(run_output(texts, observation["metadata"]))]
    error = ["[An error occurred during execution.]\n"] if observation.get("is_error") else []
    return _parts([*error, *parts])


def _parts(parts: Sequence[Any]) -> list[Json]:
    """Return texts and images as the chat wire writes them."""
    written: list[Json] = []
    for part in parts:
        if isinstance(part, str):
            written.append({"type": "text", "text": part})
        elif part.get("image_urls"):
            images = ({"url": str(url)} for url in part["image_urls"])
            written += [{"type": "image_url", "image_url": image} for image in images]
        else:
            written.append({"type": "text", "text": str(part["text"])})
    return written


_READERS = {
    "SystemPromptEvent": SdkEvents.system,
    "MessageEvent": SdkEvents.message,
    "ActionEvent": SdkEvents.action,
    "ObservationEvent": SdkEvents.result,
    "UserRejectObservation": SdkEvents.result,
    "AgentErrorEvent": SdkEvents.result,
    "Condensation": SdkEvents.condensation,
}
