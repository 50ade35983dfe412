"""One message of a client's history, as every wire keeps it before it is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cuesta.testing.histories.style import Block


@dataclass(slots=True, eq=False)
class Message:
    """One message of a client's history. It never changes; an edit puts another in its place.

    Its blocks have the shapes of Anthropic's wire, which tell an answer's thinking, texts and calls
    apart and keep their order; the other wires write them in shapes of their own.

    Attributes:
        role: `user`, `assistant` or `system`.
        content: A string or blocks, as the client keeps it.
        extra: Further fields of the message, such as `output_config`.
        human: Whether a person typed it, so that a client offers to go back to it.
        names: The ids under which a wire that has items sent them, by the place of the first block
            in each; they stay when the message grows.
        thinks: Whether a thinking block stands in it.
        orphaned: Whether it ends with one, as an answer does that was cut off.
        forms: What a wire wrote of it, with and without the marker of a request's last message.
    """

    role: str
    content: str | list[Block]
    extra: Block = field(default_factory=dict)
    human: bool = False
    names: dict[int, str] = field(default_factory=dict)
    thinks: bool = field(init=False)
    orphaned: bool = field(init=False)
    forms: dict[bool, bytes] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        blocks = self.blocks if self.role == "assistant" else []
        self.thinks = any(map(is_thinking, blocks))
        self.orphaned = bool(blocks) and is_thinking(blocks[-1])

    @property
    def blocks(self) -> list[Block]:
        """The content as blocks, whichever way it is kept."""
        if isinstance(self.content, str):
            return [{"type": "text", "text": self.content}]
        return self.content

    def saying(self, blocks: list[Block]) -> Message:
        """Return the same message with other blocks."""
        return Message(self.role, blocks, self.extra, self.human, dict(self.names))

    def name(self, place: int, give: Callable[[], str]) -> str:
        """Return the id of the item that begins at a block; it is given once."""
        if place not in self.names:
            self.names[place] = give()
        return self.names[place]


def is_thinking(block: Block) -> bool:
    """Tell whether a block holds a model's thinking, sealed by its provider."""
    return block["type"] in {"thinking", "redacted_thinking"}
