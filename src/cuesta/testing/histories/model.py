"""A made-up model: answers of every kind that its traits allow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from cuesta.testing.histories.call_kinds import call_specially
from cuesta.testing.histories.features import Dice, Feature
from cuesta.testing.histories.material import Material
from cuesta.testing.histories.message import is_thinking
from cuesta.testing.histories.style import Block
from cuesta.testing.histories.tools import call_tool
from cuesta.testing.histories.traits import Traits

Mint = Callable[[str, list[Block]], str]
"""Seals a piece of thinking, or what a compaction stands for, from all of its text, whether or not
it is shown, and what stands before it in the answer, in the wire's own shape."""

Stop = Literal["tool_use", "end_turn", "pause_turn", "cut"]


@dataclass(frozen=True, slots=True)
class Ask:
    """What an answer depends on.

    Attributes:
        tools: The names of the client's tools that may be called.
        paused: The id of a server tool call that waits for its result, when the request continues
            a paused turn.
        cut_short: Whether the answer before broke off in its thinking.
        compacts: Whether the provider compacts the history with this answer.
    """

    tools: list[str]
    paused: str | None = None
    cut_short: bool = False
    compacts: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered.

    Attributes:
        blocks: In the shapes that `Message` keeps.
        stop: Why it stopped there; `cut` when the stream broke.
        names: The ids under which they were sent, as in `Message`.
        response: The id of the whole, on wires that have one.
    """

    blocks: list[Block]
    stop: Stop
    names: dict[int, str] = field(default_factory=dict)
    response: str = ""


class FakeModel:
    """Answers requests with blocks of every kind that its traits allow."""

    def __init__(self, traits: Traits, dice: Dice, material: Material) -> None:
        self._traits = traits
        self._dice = dice
        self._material = material

    def answer(self, ask: Ask, mint: Mint) -> Answer:
        """Answer one request; `mint` is called for each sealed block, in order."""
        dice = self._dice
        blocks: list[Block] = [self._found(ask.paused)] if ask.paused else []
        if ask.compacts:
            blocks.append(compaction(self._material, mint))
        if self._thinks(ask):
            self._think(blocks, mint)
            if dice.happens(Feature.ORPHAN_THINKING, 0.5 if ask.cut_short else 0.04):
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
            if self._pauses(blocks):
                return Answer(blocks, "pause_turn")
            self._cite(blocks)
        if dice.happens(Feature.RESUME, 0.1):
            self._say(blocks, dice.rng.choice((60, 500, 1_500)))
            return Answer(blocks, "end_turn")
        self._call(blocks, ask.tools, mint)
        return Answer(blocks, "tool_use")

    def _thinks(self, ask: Ask) -> bool:
        """Tell whether an answer starts with thinking; one tried again does, as it did before."""
        if self._traits.thinking == "enabled" or ask.cut_short:
            return True
        return self._traits.thinking == "adaptive" and self._dice.chance(0.8)

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

    def _pauses(self, blocks: list[Block]) -> bool:
        """Stop after a search, half of the time before its result."""
        if not (self._traits.pauses and self._dice.chance(0.3)):
            return False
        if self._dice.chance(0.5):
            blocks.pop()
        return True

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
            if dice.happens(Feature.CALL_KINDS, 0.3):
                blocks.append(call_specially(self._material, dice))
            else:
                blocks.append(call_tool(dice.rng.choice(tools), self._material, dice))


def compaction(material: Material, mint: Mint) -> Block:
    """Build the block by which a provider stands for all that came before."""
    return {"type": "compaction", "encrypted_content": mint(material.prose(600), [])}


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
