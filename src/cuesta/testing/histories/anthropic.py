"""Anthropic Messages, as Claude Code and its like speak it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from cuesta.core.models import checks_prefixes, read_model
from cuesta.testing.histories.features import Dice, Feature
from cuesta.testing.histories.material import Material
from cuesta.testing.histories.message import Message
from cuesta.testing.histories.style import Block, draw_style
from cuesta.testing.histories.tools import declare_tools
from cuesta.testing.histories.traits import Traits
from cuesta.testing.histories.wire import TITLE_SCHEMA, TITLE_TASK, SideCall, Wire, titled

_OTHER_WIRES = {
    Feature.CALL_KINDS,
    Feature.PART_OUTPUTS,
    Feature.PREVIOUS_RESPONSE,
    Feature.COMPACTION_ITEMS,
    Feature.KEPT_HISTORY,
}
_CHECKING = ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-1")
_OTHERS = ("claude-opus-4-8", "claude-sonnet-4-5", "claude-haiku-4-5")
_SYSTEM_FLOOR = {
    "opus": (4, 8),
    "sonnet": (5, 5),
    "haiku": (5, 5),
    "fable": (5, 0),
    "mythos": (5, 0),
}
_ADAPTIVE_FLOOR = {"opus": (4, 7), "sonnet": (5, 0)}
_MARKER = {"type": "ephemeral"}
_UNMARKABLE = frozenset({"thinking", "redacted_thinking", "future_block"})
_EDITS = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
_BETAS = (
    "claude-code-20250219",
    "interleaved-thinking-2025-05-14",
    "context-management-2025-06-27",
    "mid-conversation-system-2026-04-07",
    "mid-conversation-tool-changes-2026-07-01",
    "mid-conversation-output-config-2026-07-01",
)


class AnthropicWire(Wire):
    """A client on Anthropic's Messages; `Message` keeps this wire's own shapes."""

    features = frozenset(Feature) - _OTHER_WIRES
    path = "/v1/messages?beta=true"
    cut_notice = "<system-reminder>\nYour response above was cut off. Go on.\n</system-reminder>"

    def __init__(self, dice: Dice, material: Material, model: str | None) -> None:
        super().__init__(_draw_traits(dice, model), dice, material)
        deferred = self.traits.systems and Feature.TOOL_CHANGES in dice.drawn
        self.tools = declare_tools(
            material,
            deferred=deferred or dice.chance(0.2),
            searching=Feature.SERVER_TOOLS in dice.drawn,
        )
        self._system = _instructions(dice, material)
        self.style = draw_style(dice)

    @property
    def headers(self) -> dict[str, str]:
        """See `Wire.headers`."""
        named = {"x-claude-code-session-id": self.session} if self.named else {}
        return {
            "content-type": "application/json",
            "anthropic-version": "2023-06-01",
            "anthropic-beta": ",".join(_BETAS),
            **named,
        }

    def body(self, messages: Sequence[Message], since: str = "") -> bytes:
        """See `Wire.body`; the key order is Claude Code's, unless the style's."""
        del since
        model, *rest = self._encoded()
        return self.style.body([model, ("messages", self._array(messages)), *rest])

    def side_call(self, messages: Sequence[Message]) -> SideCall:
        """See `Wire.side_call`: a title, or a token count of everything or of one text."""
        kind = self._dice.rng.choice(("title", "count", "small count"))
        text = self._material.prose(300)
        if kind == "title":
            body = self.style.body(self.style.fields(self._title(text)))
            return SideCall(body, self.path, "side", titled)
        if kind == "count":
            kept = [pair for pair in self._encoded() if pair[0] in {"model", "system", "tools"}]
            fields = [*kept, ("messages", self._array(messages))]
        else:
            small: list[Block] = [{"role": "user", "content": text}]
            fields = self.style.fields({"model": self.traits.name, "messages": small, "tools": []})
        path = "/v1/messages/count_tokens?beta=true"
        body, whole = self.style.body(fields), kind == "count"
        return SideCall(body, path, "count_tokens", lambda _: None, whole=whole)

    def shown(self, message: Message) -> list[Block]:
        """See `Wire.shown`."""
        return list(message.blocks)

    def _title(self, text: str) -> Block:
        prompt = [{"type": "text", "text": f"<session>\n{text}\n</session>"}]
        return {
            "model": self.traits.name,
            "messages": [{"role": "user", "content": prompt}],
            "system": [{"type": "text", "text": TITLE_TASK}],
            "tools": [],
            "max_tokens": 512,
            "output_config": {"format": {"type": "json_schema", "schema": TITLE_SCHEMA}},
            "stream": True,
        }

    def _fields(self) -> Block:
        traits = self.traits
        user = json.dumps({"device_id": "d0", "account_uuid": "", "session_id": self.session})
        fields: Block = {
            "model": traits.name,
            "system": self._system,
            "tools": self.tools,
            "metadata": {"user_id": user},
            "max_tokens": 32_000,
        }
        if traits.thinking == "enabled":
            fields["thinking"] = {"type": "enabled", "budget_tokens": 31_999}
        elif traits.thinking == "adaptive":
            display = "omitted" if traits.omits else "summarized"
            shown = {"display": display} if traits.checks else {}
            fields["thinking"] = {"type": "adaptive", **shown}
        if traits.thinking != "off":
            fields["context_management"] = _EDITS
        if traits.systems:
            fields["output_config"] = {"effort": "high"}
        return {**fields, "stream": True}

    def _instruct(self, prompt: str) -> None:
        if isinstance(self._system, str):
            self._system = prompt
        else:
            self._system = [*self._system[:-1], {**self._system[-1], "text": prompt}]

    def _write(self, message: Message, *, marked: bool) -> bytes:
        """See `Wire._write`; a lone text is a string or a list, as the client likes."""
        content = _marked(message.blocks) if marked else self._unmarked(message)
        return self.style.encode({"role": message.role, "content": content, **message.extra})

    def _unmarked(self, message: Message) -> str | list[Block]:
        blocks = message.blocks
        lone_text = len(blocks) == 1 and blocks[0].keys() == {"type", "text"}
        return str(blocks[0]["text"]) if self.style.strings and lone_text else message.content


def _draw_traits(dice: Dice, name: str | None) -> Traits:
    """Draw a model, half of the time one that checks prefixes, and how it is configured.

    Source: Anthropic's models overview and its pages "Preserved thinking" and "Mid-conversation
    system messages" (which name Opus from 4.8, Sonnet and Haiku from 5.5 and Fable, but not
    Sonnet 5).
    """
    name = name or dice.rng.choice(_CHECKING if dice.chance(0.5) else _OTHERS)
    model = read_model(name)
    checks = checks_prefixes(model)
    adaptive = checks or model.generation >= _ADAPTIVE_FLOOR.get(model.family, (5, 0))
    off = dice.chance(0.2) and not checks
    return Traits(
        name=name,
        checks=checks,
        thinking="off" if off else "adaptive" if adaptive else "enabled",
        omits=dice.chance(0.4) and checks,
        systems=model.generation >= _SYSTEM_FLOOR.get(model.family, (5, 1)),
        pauses=True,
        removes_tools=True,
        lists_parts=True,
    )


def _instructions(dice: Dice, material: Material) -> str | list[Block]:
    prompt = material.prose(dice.rng.choice((700, 2_000, 4_000)))
    if dice.chance(0.3):
        return prompt
    version = f"2.1.332.{dice.rng.getrandbits(12):03x}"
    billing = f"x-anthropic-billing-header: cc_version={version}; cc_entrypoint=cli;"
    return [
        {"type": "text", "text": billing},
        {"type": "text", "text": "You are a coding agent.", "cache_control": _MARKER},
        {"type": "text", "text": prompt, "cache_control": _MARKER},
    ]


def _marked(blocks: list[Block]) -> list[Block]:
    if not blocks or blocks[-1]["type"] in _UNMARKABLE:
        return blocks
    return [*blocks[:-1], {**blocks[-1], "cache_control": _MARKER}]
