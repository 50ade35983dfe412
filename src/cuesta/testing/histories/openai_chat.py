"""OpenAI Chat Completions, as OpenCode, Pi, Qwen Code and OpenHands speak it.

Unless a feature says so, histories suit the chat templates of open models: one system message, the
first, and no user message where another stands already, the messages of tools not counted.
Source: the field notes on Qwen's and Mistral's templates, and DeepSeek's guide to its thinking mode
(`reasoning_content` goes back to it).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from cuesta.testing.histories.features import Dice, Feature
from cuesta.testing.histories.material import Material
from cuesta.testing.histories.message import Message
from cuesta.testing.histories.model import Mint
from cuesta.testing.histories.openai_parts import COMMON, data_url, functions, joined
from cuesta.testing.histories.style import Block, draw_style
from cuesta.testing.histories.tools import declare_tools
from cuesta.testing.histories.traits import Traits
from cuesta.testing.histories.wire import (
    SUMMARY_TASK,
    TITLE_SCHEMA,
    TITLE_TASK,
    SideCall,
    Wire,
    summarised,
    titled,
    transcript,
)

_MODELS = ("gpt-5.5", "deepseek-chat-v4", "qwen3-coder", "mistral-large")
_NO_CONTENT: tuple[Block, ...] = ({"content": None}, {"content": ""}, {})
_UNKNOWN = "future_field"


@dataclass(frozen=True, slots=True)
class _Habits:
    """How one client writes what the wire leaves open.

    Attributes:
        system: The role of the instructions.
        lists: Whether the content of system and user messages is always a list of parts.
        no_content: What an assistant message holds in the place of content.
        echoes: Whether reasoning goes back.
        limit: The name of the answer's limit.
        session: How the session's id is sent.
    """

    system: Literal["system", "developer"]
    lists: bool
    no_content: Block
    echoes: bool
    limit: str
    session: Literal["x-session-id", "x-litellm-session-id"]


class OpenAIChatWire(Wire):
    """A client on OpenAI's Chat Completions, or on a server that speaks it."""

    features = COMMON | {Feature.MARKER_FLIPS}
    path = "/v1/chat/completions"
    cut_notice = "The connection dropped mid-response. Go on from where it stopped."

    def __init__(self, dice: Dice, material: Material, model: str | None) -> None:
        super().__init__(_draw_traits(dice, model), dice, material)
        self.speaks_twice = Feature.HUMAN_MESSAGES in dice.drawn
        self.tools = declare_tools(material, deferred=False, searching=False)
        self.style = draw_style(dice)
        self._habits = _draw_habits(self.traits, dice)
        self._instruct(material.prose(dice.rng.choice((700, 2_000, 4_000))))

    @property
    def headers(self) -> dict[str, str]:
        """See `Wire.headers`."""
        named: dict[str, str] = {self._habits.session: self.session} if self.named else {}
        return {"content-type": "application/json", **named}

    def body(self, messages: Sequence[Message], since: str = "") -> bytes:
        """See `Wire.body`."""
        del since
        model, *rest = self._encoded()
        return self.style.body([model, ("messages", self._array(messages)), *rest])

    def side_call(self, messages: Sequence[Message]) -> SideCall:
        """See `Wire.side_call`: a title, or a summary; neither offers tools."""
        if self._dice.chance(0.5):
            schema = {"name": "title", "schema": TITLE_SCHEMA, "strict": True}
            wanted = {"response_format": {"type": "json_schema", "json_schema": schema}}
            body = self._ask(TITLE_TASK, self._material.prose(300), {**wanted, "stream": False})
            return SideCall(body, self.path, "side", titled)
        body = self._ask(SUMMARY_TASK, transcript(messages), {"stream": True})
        return SideCall(body, self.path, "side", summarised(self._material))

    def shown(self, message: Message) -> list[Block]:
        """See `Wire.shown`."""
        return [self._assistant(message.blocks, {"content": None}, echoes=True)]

    def seal(self, mint: Mint, names: dict[int, str]) -> Mint:
        """See `Wire.seal`; nothing is sealed on this wire."""
        del mint, names
        return lambda _text, _before: ""

    def _ask(self, task: str, text: str, rest: Block) -> bytes:
        asked = [{"role": "system", "content": task}, {"role": "user", "content": text}]
        fields = {"model": self.traits.name, "messages": asked, **rest}
        return self.style.body(self.style.fields(fields))

    def _fields(self) -> Block:
        fields: Block = {
            "model": self.traits.name,
            "tools": [{"type": "function", "function": tool} for tool in functions(self.tools)],
            "tool_choice": "auto",
            "stream": True,
            "stream_options": {"include_usage": True},
            self._habits.limit: 8_000,
        }
        if self._habits.session == "x-litellm-session-id":
            fields["prompt_cache_key"] = self.session
        return fields

    def _instruct(self, prompt: str) -> None:
        self.head = [Message("system", prompt)]

    def _write(self, message: Message, *, marked: bool) -> bytes:
        sent = list(self._sent(message))
        return self.style.items([*sent[:-1], _marked(sent[-1])] if marked else sent)

    def _sent(self, message: Message) -> Iterator[Block]:
        if message.role == "assistant":
            habits = self._habits
            yield self._assistant(message.blocks, habits.no_content, echoes=habits.echoes)
        elif message.role == "system":
            content = self._content(message.blocks)
            yield {"role": self._habits.system, "content": content}
        else:
            yield from self._answers(message.blocks)

    def _answers(self, blocks: list[Block]) -> Iterator[Block]:
        """Write a user message: what tools returned as messages of their own, then the rest."""
        parts = [block for block in blocks if block["type"] in {"text", "image"}]
        unknown = _unknown(blocks)
        results = [block for block in blocks if block["type"] == "tool_result"]
        for number, block in enumerate(results, start=1):
            yield {
                "role": "tool",
                "tool_call_id": self._call_id(block["tool_use_id"]),
                "content": _returned(block.get("content", "")),
                **(unknown if number == len(results) else {}),
            }
        if parts:
            yield {"role": "user", "content": self._content(parts)}

    def _content(self, blocks: list[Block]) -> str | list[Block]:
        if len(blocks) == 1 and blocks[0]["type"] == "text" and not self._habits.lists:
            return str(blocks[0]["text"])
        return list(map(_part, blocks))

    def _assistant(self, blocks: list[Block], no_content: Block, *, echoes: bool) -> Block:
        """Write an answer: its texts in one, its reasoning beside them, then its calls."""
        kinds = {block["type"] for block in blocks}
        message: Block = {"role": "assistant"}
        message |= {"content": joined(blocks)} if "text" in kinds else no_content
        if echoes and "thinking" in kinds:
            thoughts = [block["thinking"] for block in blocks if block["type"] == "thinking"]
            message["reasoning_content"] = "\n\n".join(thoughts)
        message |= _unknown(blocks)
        calls = [self._call(block) for block in blocks if block["type"] == "tool_use"]
        return {**message, "tool_calls": calls} if calls else message

    def _call(self, block: Block) -> Block:
        arguments = json.dumps(block["input"], ensure_ascii=False)
        made = {"name": block["name"].lower(), "arguments": arguments}
        return {"id": self._call_id(block["id"]), "type": "function", "function": made}

    def _call_id(self, name: str) -> str:
        """Return the id of a call; Mistral's have nine characters."""
        number = name.removeprefix("toolu_")
        return number[:9] if self.traits.name.startswith("mistral") else f"call_{number}"


def _marked(message: Block) -> Block:
    """Mark a message for a cache, as gateways to other providers want it: on its last part."""
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if parts[-1].get("text") == "":
        return message
    marked = [*parts[:-1], {**parts[-1], "cache_control": {"type": "ephemeral"}}]
    return {**message, "content": marked}


def _returned(content: str | list[Block]) -> str | list[Block]:
    """Return what a tool returned; a list has one part at least, be it empty."""
    if isinstance(content, str):
        return content
    return list(map(_part, content)) or [{"type": "text", "text": ""}]


def _unknown(blocks: list[Block]) -> Block:
    """Return what no one knows yet as a field of a message."""
    return dict([(_UNKNOWN, b) for b in blocks if b["type"] == "future_block"][:1])


def _part(block: Block) -> Block:
    if block["type"] == "image":
        return {"type": "image_url", "image_url": {"url": data_url(block), "detail": "auto"}}
    return {"type": "text", "text": block["text"]}


def _draw_traits(dice: Dice, name: str | None) -> Traits:
    """Draw a model; OpenAI's hide their reasoning here, DeepSeek's always show it."""
    name = name or dice.rng.choice(_MODELS)
    hidden = name.startswith(("gpt", "mistral"))
    return Traits(
        name=name,
        thinking="enabled" if "deepseek" in name else "off" if hidden else "adaptive",
        shows_pictures=False,
    )


def _draw_habits(traits: Traits, dice: Dice) -> _Habits:
    gpt = traits.name.startswith("gpt")
    return _Habits(
        system="developer" if gpt and dice.chance(0.5) else "system",
        lists=dice.chance(0.25),
        no_content=dice.rng.choice(_NO_CONTENT),
        echoes=traits.thinking == "enabled" or dice.chance(0.8),
        limit="max_completion_tokens" if gpt else "max_tokens",
        session="x-session-id" if dice.chance(0.5) else "x-litellm-session-id",
    )
