"""OpenAI Responses over HTTP, as Codex, OpenCode and Pi speak it.

Source: the field notes on these clients. Codex sends its instructions as the first items, gives an
id to every item, keeps reasoning that a cut stream left behind, and adds `"content": null` to old
reasoning when it resumes; OpenCode's items have no ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cuesta.testing.histories.branch import Branch
from cuesta.testing.histories.call_kinds import declare_kinds
from cuesta.testing.histories.features import Dice, Feature
from cuesta.testing.histories.items import answer_items, client_items
from cuesta.testing.histories.material import Material
from cuesta.testing.histories.message import Message, is_thinking
from cuesta.testing.histories.model import Answer, Mint, compaction
from cuesta.testing.histories.openai_parts import COMMON, functions
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
)

_MODELS = ("gpt-5.5-codex", "gpt-5.5")
_STATELESS = frozenset({"message", "function_call", "custom_tool_call"})
"""Items whose status a client may leave out."""
_SERVED = (
    {"type": "web_search"},
    {"type": "code_interpreter", "container": {"type": "auto"}},
    {"type": "file_search", "vector_store_ids": ["vs_1"]},
    {
        "type": "mcp",
        "server_label": "tracker",
        "server_url": "https://example.com/mcp",
        "require_approval": "never",
    },
)


@dataclass(frozen=True, slots=True)
class _Habits:
    """How one client writes what the wire leaves open.

    Attributes:
        names: Which items carry ids: all, those that the provider made, or none.
        instructs: Whether the instructions stand in the body, not among the items.
        typed: Whether messages without an id say their type.
        states: Whether messages and calls keep the status that the provider gave them.
        apart: What texts begin with that are items of their own.
        marks_loaded: Whether old reasoning gains a field when a session is resumed.
        headers: The names under which the session's id is sent.
    """

    names: Literal["all", "given", "none"]
    instructs: bool
    typed: bool
    states: bool
    apart: str
    marks_loaded: bool
    headers: tuple[str, ...]


_CODEX = _Habits(
    names="all",
    instructs=False,
    typed=True,
    states=False,
    apart="<",
    marks_loaded=True,
    headers=("session-id", "thread-id", "x-client-request-id"),
)
_OPENCODE = _Habits(
    names="none",
    instructs=False,
    typed=False,
    states=False,
    apart="",
    marks_loaded=False,
    headers=("x-session-id", "x-session-affinity"),
)
_PI = _Habits(
    names="given",
    instructs=True,
    typed=False,
    states=True,
    apart="",
    marks_loaded=False,
    headers=("session-id",),
)


class OpenAIResponsesWire(Wire):
    """A client on OpenAI's Responses."""

    features = COMMON | {
        Feature.INTERLEAVED_THINKING,
        Feature.REDACTED_THINKING,
        Feature.ORPHAN_THINKING,
        Feature.SERVER_TOOLS,
        Feature.TOOL_CHANGES,
        Feature.CALL_KINDS,
        Feature.PREVIOUS_RESPONSE,
        Feature.COMPACTION_ITEMS,
        Feature.KEPT_HISTORY,
    }
    path = "/v1/responses"
    tag = "environment_context"
    cut_notice = "The connection dropped. Go on from where you stopped."
    retries_cuts = True

    def __init__(self, dice: Dice, material: Material, model: str | None) -> None:
        traits = Traits(name=model or dice.rng.choice(_MODELS), thinking="adaptive")
        super().__init__(traits, dice, material)
        self.tools = declare_tools(
            material, deferred=Feature.TOOL_CHANGES in dice.drawn, searching=False
        )
        self._other_tools = [
            *(_SERVED if Feature.SERVER_TOOLS in dice.drawn else ()),
            *(declare_kinds(material) if Feature.CALL_KINDS in dice.drawn else ()),
        ]
        self.style = draw_style(dice)
        self._habits = dice.rng.choice((_CODEX, _CODEX, _OPENCODE, _PI))
        self._marks_loaded = self._habits.marks_loaded and dice.chance(0.6)
        self._instructions = ""
        self._instruct(material.prose(dice.rng.choice((700, 2_000, 4_000))))

    @property
    def headers(self) -> dict[str, str]:
        """See `Wire.headers`."""
        named = dict.fromkeys(self._habits.headers, self.session) if self.named else {}
        return {"content-type": "application/json", **named}

    def body(self, messages: Sequence[Message], since: str = "") -> bytes:
        """See `Wire.body`."""
        model, *rest = self._encoded()
        going = self.style.fields({"previous_response_id": since}) if since else []
        return self.style.body([model, ("input", self._array(messages)), *going, *rest])

    def side_call(self, messages: Sequence[Message]) -> SideCall:
        """See `Wire.side_call`: a title, a summary, or a compaction that the client throws away."""
        kind = self._dice.rng.choice(("title", "summary", "compaction"))
        if kind == "title":
            body = self._title(self._material.prose(300))
            return SideCall(body, self.path, "side", titled)
        if kind == "summary":
            asked = Message("user", [{"type": "text", "text": SUMMARY_TASK}])
            body = self._whole([*messages, asked], {"tools": []})
            return SideCall(body, self.path, "side", summarised(self._material), whole=True)
        return self.compaction(messages)

    def shown(self, message: Message) -> list[Block]:
        """See `Wire.shown`."""
        return list(answer_items(message, self._material.name))

    def response_id(self) -> str:
        """See `Wire.response_id`."""
        return self._material.name("resp")

    def compaction(self, messages: Sequence[Message]) -> SideCall:
        """See `Wire.compaction`: by an item that asks for it, or at an endpoint of its own."""

        def answer(mint: Mint) -> Answer:
            return Answer([compaction(self._material, mint)], "end_turn")

        if self._dice.chance(0.5):
            offered: Block = {} if self._dice.chance(0.5) else {"tools": []}
            body = self._whole(messages, offered, trigger=True)
            return SideCall(body, self.path, "side", answer, whole=True)
        small = [pair for pair in self._encoded() if pair[0] in {"model", "instructions", "tools"}]
        body = self.style.body([*small, ("input", self._array(messages))])
        return SideCall(body, f"{self.path}/compact", "side", answer, whole=True)

    def mend(self, branch: Branch) -> None:
        """See `Wire.mend`; calls need the reasoning before them, so the rest of it stays."""
        branch.forget_orphans()

    def loaded(self, message: Message) -> Message:
        """See `Wire.loaded`: Codex adds a field to reasoning; not every client is restarted."""
        if not self._marks_loaded or not message.thinks:
            return message
        marked = [{**b, "loaded": True} if is_thinking(b) else b for b in message.blocks]
        return message.saying(marked)

    def _title(self, text: str) -> bytes:
        wanted = {"type": "json_schema", "name": "title", "schema": TITLE_SCHEMA, "strict": True}
        fields = {
            "model": self.traits.name,
            "instructions": TITLE_TASK,
            "input": text if self._dice.chance(0.5) else [{"role": "user", "content": text}],
            "text": {"format": wanted},
            "store": False,
            "stream": True,
        }
        return self.style.body(self.style.fields(fields))

    def _whole(self, messages: Sequence[Message], other: Block, *, trigger: bool = False) -> bytes:
        """Write a request with all of a history and other fields than those of the main loop."""
        fields = dict(self._encoded()) | dict(self.style.fields(other))
        items = self._array(messages)
        if trigger:
            last = self.style.encode({"type": "compaction_trigger"})
            items = self.style.array([items[1:-1], last])
        return self.style.body([*fields.items(), ("input", items)])

    def _fields(self) -> Block:
        kept = Feature.PREVIOUS_RESPONSE in self._dice.drawn
        offered = [_offer(tool) for tool in functions(self.tools)]
        fields: Block = {
            "model": self.traits.name,
            "tools": [*offered, *self._other_tools],
            "tool_choice": "auto",
            "parallel_tool_calls": True,
            "reasoning": {"effort": "medium", "summary": "auto"},
            "store": kept,
            "stream": True,
            "include": ["reasoning.encrypted_content"],
            "prompt_cache_key": self.session,
            "text": {"verbosity": "low"},
        }
        if self._habits.instructs:
            fields["instructions"] = self._instructions
        if self._dice.drawn & {Feature.COMPACTION_ITEMS, Feature.KEPT_HISTORY}:
            compacts = {"type": "compaction", "compact_threshold": 200_000}
            fields["context_management"] = [compacts]
        return fields

    def _instruct(self, prompt: str) -> None:
        self._instructions = prompt
        if not self._habits.instructs:
            texts = [prompt, self._material.prose(200)] if self._habits.apart else [prompt]
            self.head = [Message("system", text) for text in texts]

    def _write(self, message: Message, *, marked: bool) -> bytes:
        del marked
        if message.role == "assistant":
            items = list(answer_items(message, self._material.name))
        else:
            give, apart = self._material.name, self._habits.apart
            items = list(client_items(message, give, self.tools, apart))
        return self.style.items([self._sent(item) for item in items])

    def _sent(self, item: Block) -> Block:
        """Return an item as this client sends it."""
        habits, kind = self._habits, item["type"]
        made_here = item.get("role") in {"user", "developer"} or kind.endswith("_output")
        nameless = habits.names == "none" or (habits.names == "given" and made_here)
        dropped = {"id"} if nameless and kind != "future_block" else set()
        if kind in _STATELESS and not habits.states:
            dropped.add("status")
        if kind == "message":
            short = nameless and not habits.typed
            dropped |= {"type"} if short else set()
            item = {**item, "content": self._content(item["content"], short=short)}
        return {key: value for key, value in item.items() if key not in dropped}

    def _content(self, parts: list[Block], *, short: bool) -> str | list[Block]:
        """Return a message's content as this client sends it: without probabilities."""
        lone_text = len(parts) == 1 and "text" in parts[0]
        if short and lone_text and self.style.strings:
            return str(parts[0]["text"])
        return [{key: value for key, value in p.items() if key != "logprobs"} for p in parts]


def _offer(tool: Block) -> Block:
    return {"type": "function", **tool, "strict": False}
