"""One conversation of a client: its messages, and the ways in which they stop being append-only."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cuesta.testing.histories.message import Message, is_thinking
from cuesta.testing.histories.style import Block

CLEARED = "[Old tool result content cleared]"
INTERRUPTED = "(interrupted)"


class Branch:
    """A conversation that grows.

    Attributes:
        number: 0 for the first, then one for each fork.
        messages: As the client keeps them.
        rewritten: Whether the next request does more than extend the last one and append text
            to its last message.
        refused: Whether the last request was not answered.
        response: The id of the answer that the messages `kept` end with, while the provider could
            go on from it; else empty.
        kept: How many messages that answer ends.
    """

    def __init__(self, number: int, messages: Sequence[Message]) -> None:
        self.number = number
        self.messages = list(messages)
        self.rewritten = False
        self.refused = False
        self.response = ""
        self.kept = 0
        self._stale = range(0)

    @property
    def last(self) -> Message:
        """The newest message."""
        return self.messages[-1]

    @property
    def open_call(self) -> str | None:
        """The id of the server tool call that a paused turn ends with."""
        block = self.last.blocks[-1] if self.last.blocks else {}
        return block["id"] if block.get("type") == "server_tool_use" else None

    @property
    def stale(self) -> bool:
        """Whether thinking stands behind a prefix that the client itself changed afterwards."""
        return any(
            message.thinks for message in self.messages[self._stale.start : self._stale.stop]
        )

    @property
    def orphaned(self) -> bool:
        """Whether an answer that was cut off holds nothing but thinking."""
        return any(message.orphaned for message in self.messages)

    @property
    def cut_short(self) -> bool:
        """Whether the newest message is such an answer."""
        return self.last.orphaned

    @property
    def prompts(self) -> list[int]:
        """Where a person's own messages stand; a client offers to go back to each."""
        return [place for place, message in enumerate(self.messages) if message.human]

    @property
    def checkpoints(self) -> list[int]:
        """Where an answer begins, so that all before it can be asked again."""
        pairs = zip(self.messages, self.messages[1:], strict=False)
        return [
            place
            for place, (before, here) in enumerate(pairs, start=1)
            if here.role == "assistant" and before.role != "assistant"
        ]

    @property
    def news(self) -> list[Message]:
        """What the client has added since an answer from which the provider could go on."""
        return self.messages[self.kept :] if self.response else []

    def fork(self, number: int, length: int) -> Branch:
        """Return a branch that shares the first `length` messages."""
        other = Branch(number, self.messages[:length])
        other._stale = range(self._stale.start, min(self._stale.stop, length))
        return other

    def keep(self, response: str) -> None:
        """Note that the provider keeps the answer that the messages end with."""
        self.response, self.kept = response, len(self.messages)

    def grow(self, blocks: Sequence[Block]) -> None:
        """Append blocks to the newest message, which has been sent already."""
        self.messages[-1] = self.last.saying([*self.last.blocks, *blocks])

    def cut(self, length: int) -> None:
        """Drop everything from a place on."""
        self.messages = self.messages[:length]
        self._stale = range(self._stale.start, min(self._stale.stop, length))
        self._rewrite()

    def touch(self, place: int) -> None:
        """Note that something at a place has changed, so that thinking behind it is stale."""
        start = min(place, self._stale.start) if self.stale else place
        self._stale = range(start, len(self.messages))

    def alter(self, place: int) -> None:
        """Change an old user message in place and keep what follows, as some clients do."""
        message = self.messages[place]
        self.messages[place] = message.saying([_altered(block) for block in message.blocks])
        self._rewrite()
        self.touch(place)

    def change_head(self, old: Sequence[Message], new: Sequence[Message]) -> None:
        """Put other instructions in the place of those that the messages begin with."""
        if old and self.messages[: len(old)] == list(old):
            self.messages[: len(old)] = new
            self._rewrite()

    def become(self, messages: Sequence[Message]) -> None:
        """Drop everything and go on from other messages."""
        self.messages = list(messages)
        self._stale = range(0)
        self._rewrite()

    def shorten(self, kept: Sequence[Message]) -> None:
        """Drop all but some messages, if there are others."""
        if len(kept) < len(self.messages):
            self.become(kept)

    def convert(self, change: Callable[[Message], Message]) -> None:
        """Put another message in the place of each; what the client sends stays equivalent."""
        self.messages = [change(message) for message in self.messages]

    def forget_thinking(self) -> None:
        """Take all thinking out, the vendor's remedy after a change of what stands before it."""
        self.become([_thoughtless(message) for message in self.messages])

    def forget_orphans(self) -> None:
        """Take out the thinking that answers ended with when their stream was cut."""
        shortened = [_finished(message) for message in self.messages]
        self.become([message for message in shortened if message.blocks or message.extra])

    def _rewrite(self) -> None:
        self.rewritten = True
        self.response = ""


def _altered(block: Block) -> Block:
    if block["type"] == "tool_result":
        return {**block, "content": CLEARED}
    if block["type"] == "text":
        return {**block, "text": f"{block['text']} (edited)"}
    return block


def _thoughtless(message: Message) -> Message:
    if not message.thinks:
        return message
    kept = [block for block in message.blocks if not is_thinking(block)]
    return Message(message.role, kept or [{"type": "text", "text": INTERRUPTED}], message.extra)


def _finished(message: Message) -> Message:
    if not message.orphaned:
        return message
    blocks = list(message.blocks)
    while blocks and is_thinking(blocks[-1]):
        blocks.pop()
    return message.saying(blocks)
