"""Everything of a request but its messages: system, tools, thinking, headers, side calls."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cuesta.testing.histories.features import Dice, Feature
from cuesta.testing.histories.tools import declare_tools

if TYPE_CHECKING:
    from cuesta.testing.histories.material import Material
    from cuesta.testing.histories.model import Traits
    from cuesta.testing.histories.wire import Block, Style

_MARKER = {"type": "ephemeral"}
_EDITS = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
_BETAS = (
    "claude-code-20250219",
    "interleaved-thinking-2025-05-14",
    "context-management-2025-06-27",
    "mid-conversation-system-2026-04-07",
    "mid-conversation-tool-changes-2026-07-01",
    "mid-conversation-output-config-2026-07-01",
)


@dataclass(frozen=True, eq=False)
class Setup:
    """How one client is set up. A reload puts another in its place; nothing in it changes.

    Attributes:
        traits: The model that it talks to.
        session: Its session id.
        named: Whether it sends that id as a header.
        tools: The `tools` of its requests.
        system: The `system` of its requests.
    """

    traits: Traits
    session: str
    named: bool
    tools: list[Block]
    system: str | list[Block]
    _cache: dict[Style, list[tuple[str, bytes]]] = field(init=False, default_factory=dict)

    def reloaded(self, dice: Dice, material: Material) -> Setup:
        """Return the setup after a reload: a tool described anew, or other instructions."""
        if dice.chance(0.5):
            first, *rest = self.tools
            return replace(self, tools=[{**first, "description": material.prose(400)}, *rest])
        prompt = material.prose(1_500)
        if isinstance(self.system, str):
            return replace(self, system=prompt)
        return replace(self, system=[*self.system[:-1], {**self.system[-1], "text": prompt}])

    @property
    def headers(self) -> dict[str, str]:
        """The request headers, without credentials."""
        named = {"x-claude-code-session-id": self.session} if self.named else {}
        return {
            "content-type": "application/json",
            "anthropic-version": "2023-06-01",
            "anthropic-beta": ",".join(_BETAS),
            **named,
        }

    def main_body(self, messages: list[bytes], style: Style) -> bytes:
        """Write a request of the main loop; the key order is Claude Code's, unless the style's."""
        model, *rest = self._written(style)
        return style.body([model, ("messages", style.array(messages)), *rest])

    def count_body(self, messages: list[bytes], style: Style) -> bytes:
        """Write a token count of a whole history."""
        kept = [pair for pair in self._written(style) if pair[0] in {"model", "system", "tools"}]
        return style.body([*kept, ("messages", style.array(messages))])

    def small_count_body(self, text: str, style: Style) -> bytes:
        """Write a token count of one text, as clients do for a file or a tool."""
        fields: Block = {"messages": [{"role": "user", "content": text}], "tools": []}
        return _body({"model": self.traits.name, **fields}, style)

    def title_body(self, text: str, style: Style) -> bytes:
        """Write the request by which a client names its session."""
        prompt = [{"type": "text", "text": f"<session>\n{text}\n</session>"}]
        schema = {"type": "object", "properties": {"title": {"type": "string"}}}
        fields: Block = {
            "model": self.traits.name,
            "messages": [{"role": "user", "content": prompt}],
            "system": [{"type": "text", "text": "Name this session in a few words."}],
            "tools": [],
            "max_tokens": 512,
            "output_config": {"format": {"type": "json_schema", "schema": schema}},
            "stream": True,
        }
        return _body(fields, style)

    def _written(self, style: Style) -> list[tuple[str, bytes]]:
        if style not in self._cache:
            self._cache[style] = [(key, style.encode(value)) for key, value in self._fields.items()]
        return self._cache[style]

    @property
    def _fields(self) -> Block:
        user = json.dumps({"device_id": "d0", "account_uuid": "", "session_id": self.session})
        fields: Block = {
            "model": self.traits.name,
            "system": self.system,
            "tools": self.tools,
            "metadata": {"user_id": user},
            "max_tokens": 32_000,
        }
        if self.traits.thinking == "enabled":
            fields["thinking"] = {"type": "enabled", "budget_tokens": 31_999}
        elif self.traits.thinking == "adaptive":
            display = "omitted" if self.traits.omits else "summarized"
            shown = {"display": display} if self.traits.checks else {}
            fields["thinking"] = {"type": "adaptive", **shown}
        if self.traits.thinking != "off":
            fields["context_management"] = _EDITS
        if self.traits.systems:
            fields["output_config"] = {"effort": "high"}
        return {**fields, "stream": True}


def _body(fields: Block, style: Style) -> bytes:
    return style.body([(key, style.encode(value)) for key, value in fields.items()])


def draw_setup(traits: Traits, dice: Dice, material: Material) -> Setup:
    """Draw how a client is set up for a model."""
    deferred = traits.systems and Feature.TOOL_CHANGES in dice.drawn
    return Setup(
        traits=traits,
        session=f"{dice.rng.getrandbits(128):032x}",
        named=dice.chance(0.7),
        tools=declare_tools(
            material,
            deferred=deferred or dice.chance(0.2),
            searching=Feature.SERVER_TOOLS in dice.drawn,
        ),
        system=_instructions(dice, material),
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
