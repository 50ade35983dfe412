"""What an agent program and the person before it add to a history after each answer."""

from __future__ import annotations

from collections.abc import Sequence

from cuesta.testing.histories.features import Dice, Feature
from cuesta.testing.histories.material import Material
from cuesta.testing.histories.message import Message, is_thinking
from cuesta.testing.histories.model import unknown_block
from cuesta.testing.histories.style import Block
from cuesta.testing.histories.tools import absent_tools, add_tool, answer_call, change_of_tools
from cuesta.testing.histories.wire import Wire


class Harness:
    """Writes user and system messages, as often in each form as the drawn features allow.

    System messages follow the strictest placement rules: those with content stand after a user
    message and before an assistant's or at the end, never side by side, never between a call and
    its result. Source: Anthropic, "Mid-conversation system messages" and "Per-message effort".
    """

    def __init__(self, wire: Wire, dice: Dice, material: Material) -> None:
        self._wire = wire
        self._traits = wire.traits
        self._dice = dice
        self._material = material

    def opening(self) -> list[Message]:
        """Return what stands before the first answer, the wire's own head first."""
        words = self.words()
        if self._dice.chance(0.4):
            first = words
        else:
            reminders = [self._reminder() for _ in range(2)]
            first = Message("user", [*reminders, *words.blocks], human=True)
        if self._traits.systems and self._dice.happens(Feature.MID_SYSTEM, 0.6):
            return [*self._wire.head, first, self._notice([self.text(400)])]
        return [*self._wire.head, first]

    def words(self) -> Message:
        """Return what a person types."""
        dice = self._dice
        text = self.text(dice.rng.choice((15, 120, 600, 2_600)))
        if dice.happens(Feature.IMAGES, 0.15 if self._traits.shows_pictures else 0.3):
            return Message("user", [self._material.picture(), text], human=True)
        return Message("user", text["text"] if dice.chance(0.4) else [text], human=True)

    def next_prompt(self) -> list[Message]:
        """Return what follows a finished turn."""
        if self._traits.systems and self._dice.happens(Feature.EFFORT_CHANGES, 0.4):
            return [self._effort(), self.words()]
        return [self.words()]

    def results(self, blocks: Sequence[Block]) -> list[Message]:
        """Return the results of all calls among an answer's blocks, and what comes with them."""
        dice, material = self._dice, self._material
        calls = [block for block in blocks if block["type"] == "tool_use"]
        results = [answer_call(call, self._traits, material, dice) for call in calls]
        if dice.chance(0.3):
            dice.rng.shuffle(results)
        after: list[Block] = []
        if dice.happens(Feature.REMINDERS, 0.2):
            after += [self._reminder() for _ in range(dice.rng.randint(1, 2))]
        if dice.happens(Feature.HUMAN_MESSAGES, 0.08):
            after.append(self.text(dice.rng.choice((20, 300, 3_500))))
        if dice.happens(Feature.UNKNOWN_BLOCKS, 0.05):
            after.append(unknown_block(material))
        messages = [Message("user", results + after)]
        if dice.happens(Feature.HUMAN_MESSAGES, 0.05):
            messages.append(self.words())
        return messages

    def after_cut(self, blocks: Sequence[Block]) -> list[Message]:
        """Return what a client says after a stream broke off."""
        if is_thinking(blocks[-1]) and self._wire.retries_cuts:
            return []
        return [Message("user", [{"type": "text", "text": self._wire.cut_notice}])]

    def notices(self, messages: Sequence[Message]) -> list[Message]:
        """Return at most one system message for the end of a history."""
        dice, tools = self._dice, self._wire.tools
        if not self._traits.systems:
            return []
        if dice.happens(Feature.MID_SYSTEM, 0.12):
            return [self._notice([self.text(250)])]
        if self._traits.removes_tools and dice.happens(Feature.TOOL_CHANGES, 0.1):
            said = [self.text(80)] if dice.chance(0.4) else []
            return [self._notice([*said, change_of_tools(tools, messages, dice)])]
        absent = absent_tools(tools, messages)
        if absent and not self._traits.removes_tools and dice.happens(Feature.TOOL_CHANGES, 0.15):
            return [self._notice([add_tool(dice.rng.choice(absent))])]
        return [self._effort()] if dice.happens(Feature.EFFORT_CHANGES, 0.08) else []

    def text(self, chars: int) -> Block:
        """Return a text block of about `chars` characters."""
        return {"type": "text", "text": self._material.prose(chars)}

    def _notice(self, blocks: list[Block]) -> Message:
        if self._dice.happens(Feature.EFFORT_CHANGES, 0.1):
            return Message("system", blocks, self._effort().extra)
        return Message("system", blocks)

    def _effort(self) -> Message:
        level = self._dice.rng.choice(("low", "medium", "high"))
        return Message("system", [], {"output_config": {"effort": level}})

    def _reminder(self) -> Block:
        text = self._material.prose(self._dice.rng.choice((60, 300)))
        return {"type": "text", "text": f"<{self._wire.tag}>\n{text}\n</{self._wire.tag}>"}
