"""A made-up model: what each family may do on the wire, and answers that do it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from cuesta.core.models import checks_prefixes, read_model
from cuesta.testing.histories.features import Dice, Feature
from cuesta.testing.histories.tools import call_tool
from cuesta.testing.histories.wire import Block, is_thinking

if TYPE_CHECKING:
    from cuesta.testing.histories.material import Material

Mint = Callable[[str, list[Block]], str]
"""Gives a thinking block its signature, from the whole thinking, whether or not it is shown, and
the blocks before it in the answer."""

Stop = Literal["tool_use", "end_turn", "pause_turn", "cut"]

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


@dataclass(frozen=True, slots=True)
class Traits:
    """What a model does and allows.

    Attributes:
        name: As it stands in the body.
        checks: Whether it refuses thinking that was produced behind another prefix.
        thinking: `adaptive`, `enabled` (each answer starts with thinking) or `off`.
        omits: Whether thinking comes back with an empty text and its signature only.
        systems: Whether it takes system messages inside `messages`.
    """

    name: str
    checks: bool
    thinking: Literal["adaptive", "enabled", "off"]
    omits: bool
    systems: bool


def draw_traits(dice: Dice, name: str | None) -> Traits:
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
    )


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered, and why it stopped there; `cut` when the stream broke."""

    blocks: list[Block]
    stop: Stop


class FakeModel:
    """Answers requests with blocks of every kind that its traits allow."""

    def __init__(self, traits: Traits, dice: Dice, material: Material) -> None:
        self._traits = traits
        self._dice = dice
        self._material = material

    def answer(self, tools: list[str], mint: Mint, paused: str | None) -> Answer:
        """Answer one request.

        Args:
            tools: The names of the client's tools that may be called.
            mint: Called for each thinking block, in order.
            paused: The id of a server tool call that waits for its result, when the request
                continues a paused turn.
        """
        dice = self._dice
        blocks: list[Block] = [self._found(paused)] if paused else []
        thinks = self._traits.thinking == "enabled" or (
            self._traits.thinking == "adaptive" and dice.chance(0.8)
        )
        if thinks:
            self._think(blocks, mint)
            if dice.happens(Feature.ORPHAN_THINKING, 0.04):
                return Answer(blocks, "cut")
        if dice.happens(Feature.PARTIAL_TURNS, 0.05):
            self._say(blocks, 120)
            return Answer(blocks, "cut")
        if dice.chance(0.5):
            self._say(blocks, dice.rng.choice((40, 200, 700)))
        if dice.happens(Feature.UNKNOWN_BLOCKS, 0.08):
            blocks.append(unknown_block(self._material))
        if dice.happens(Feature.SERVER_TOOLS, 0.1):
            self._search(blocks)
            if dice.chance(0.3):
                if dice.chance(0.5):
                    blocks.pop()
                return Answer(blocks, "pause_turn")
            self._cite(blocks)
        if dice.happens(Feature.RESUME, 0.1):
            self._say(blocks, dice.rng.choice((60, 500, 1_500)))
            return Answer(blocks, "end_turn")
        self._call(blocks, tools, mint)
        return Answer(blocks, "tool_use")

    def _think(self, blocks: list[Block], mint: Mint) -> None:
        text = self._material.prose(self._dice.rng.choice((80, 300, 900)))
        if self._dice.happens(Feature.REDACTED_THINKING, 0.12):
            blocks.append({"type": "redacted_thinking", "data": mint(text, list(blocks))})
            return
        signature = mint(text, list(blocks))
        shown = "" if self._traits.omits else text
        blocks.append({"type": "thinking", "thinking": shown, "signature": signature})

    def _say(self, blocks: list[Block], chars: int) -> None:
        blocks.append({"type": "text", "text": self._material.prose(chars)})

    def _search(self, blocks: list[Block]) -> None:
        material, dice = self._material, self._dice
        for _ in range(dice.rng.randint(1, 2)):
            name = material.name("srvtoolu")
            query = {"query": material.prose(40)}
            call = {"type": "server_tool_use", "id": name, "name": "web_search", "input": query}
            blocks += [call, self._found(name)]

    def _found(self, call: str) -> Block:
        found: Block | list[Block] = [
            _page(self._material) for _ in range(self._dice.rng.randint(0, 3))
        ]
        if self._dice.chance(0.1):
            found = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
        return {"type": "web_search_tool_result", "tool_use_id": call, "content": found}

    def _cite(self, blocks: list[Block]) -> None:
        material = self._material
        source = {
            "type": "web_search_result_location",
            "url": f"https://example.com{material.path()}",
            "title": material.prose(30),
            "encrypted_index": material.run(120),
            "cited_text": material.prose(90),
        }
        blocks.append({"type": "text", "text": material.prose(200), "citations": [source]})

    def _call(self, blocks: list[Block], tools: list[str], mint: Mint) -> None:
        dice = self._dice
        calls = 1
        if dice.happens(Feature.PARALLEL_CALLS, 0.35):
            calls = dice.rng.randint(2, 5)
        thinks = any(is_thinking(block) for block in blocks)
        interleaved = thinks and dice.happens(Feature.INTERLEAVED_THINKING, 0.3)
        calls = max(calls, 2) if interleaved else calls
        for number in range(calls):
            if interleaved and number:
                self._think(blocks, mint)
            blocks.append(call_tool(dice.rng.choice(tools), self._material, dice))


def unknown_block(material: Material) -> Block:
    """Build a block of a type that is not known yet; its inside looks like everything else."""
    inside = {"type": "text", "text": material.prose(40), "tool_use_id": material.name("toolu")}
    return {"type": "future_block", "id": material.name("fut"), "parts": [inside, []], "n": 1.5e3}


def _page(material: Material) -> Block:
    return {
        "type": "web_search_result",
        "url": f"https://example.com{material.path()}",
        "title": material.prose(40),
        "encrypted_content": material.run(400),
        "page_age": None,
    }
