"""What every wire has in common: a client that is set up for it, and writes what it holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from cuesta.testing.histories.branch import Branch
from cuesta.testing.histories.features import Dice, Feature
from cuesta.testing.histories.material import Material
from cuesta.testing.histories.message import Message
from cuesta.testing.histories.model import Answer, Mint
from cuesta.testing.histories.style import Block, Style
from cuesta.testing.histories.traits import Traits

SideKind = Literal["side", "count_tokens"]

_TITLE = '{"title": "Fix the cache"}'
TITLE_SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}}
TITLE_TASK = "Name this session in a few words."
SUMMARY_TASK = "Write a summary of this session for another model that goes on with it."


@dataclass(frozen=True, slots=True)
class SideCall:
    """A request beside the main loop.

    Attributes:
        body: Its body.
        path: Where it goes.
        kind: What it is for.
        answer: Gives the answer, or nothing where no message comes back.
        whole: Whether the provider judges a whole history in it.
    """

    body: bytes
    path: str
    kind: SideKind
    answer: Callable[[Mint], Answer | None]
    whole: bool = False


class Wire(ABC):
    """A client set up for one wire, whose bodies it writes.

    Attributes:
        features: What can occur on this wire.
        path: Where its main requests go.
        tag: Around what the harness says in a person's place.
        cut_notice: What the client says after an answer whose stream broke.
        retries_cuts: Whether it says nothing when only thinking had come, and asks again behind it.
        speaks_twice: Whether a person may speak behind what stands in a person's place already.
        traits: The model that it talks to.
        style: How it writes JSON.
        tools: What it offers, in Anthropic's shapes; other wires write them in their own.
        head: The system messages that its histories begin with.
        session: Its session id.
        named: Whether it sends that id as a header.
    """

    features: ClassVar[frozenset[Feature]]
    path: ClassVar[str]
    tag: ClassVar[str] = "system-reminder"
    cut_notice: ClassVar[str]
    retries_cuts: ClassVar[bool] = False
    speaks_twice: bool = True
    style: Style
    tools: list[Block]

    def __init__(self, traits: Traits, dice: Dice, material: Material) -> None:
        self.traits = traits
        self._dice = dice
        self._material = material
        self.head: list[Message] = []
        self.session = f"{dice.rng.getrandbits(128):032x}"
        self.named = dice.chance(0.7)
        self._fixed: list[tuple[str, bytes]] = []

    @property
    @abstractmethod
    def headers(self) -> dict[str, str]:
        """The request headers, without credentials."""

    @abstractmethod
    def body(self, messages: Sequence[Message], since: str = "") -> bytes:
        """Write a request of the main loop.

        Args:
            messages: The history, or what is new in it.
            since: The id of the response that the provider goes on from; only with what is new.
        """

    @abstractmethod
    def side_call(self, messages: Sequence[Message]) -> SideCall:
        """Make one of the requests that the client makes beside a history."""

    @abstractmethod
    def shown(self, message: Message) -> list[Block]:
        """Return an answer in this wire's own shape, as the provider gives it."""

    @abstractmethod
    def _fields(self) -> Block:
        """Return all of a main request but its messages, the model first."""

    @abstractmethod
    def _instruct(self, prompt: str) -> None:
        """Take other instructions."""

    @abstractmethod
    def _write(self, message: Message, *, marked: bool) -> bytes:
        """Write a message: one JSON value or several, or nothing.

        Args:
            message: It is written once in each form.
            marked: Whether it carries the marker of a request's last message.
        """

    def reload(self) -> None:
        """Describe a tool anew, or take other instructions."""
        self._fixed = []
        if self._dice.chance(0.5):
            first, *rest = self.tools
            described = {**first, "description": self._material.prose(400)}
            self.tools = [described, *rest]
        else:
            self._instruct(self._material.prose(1_500))

    def seal(self, mint: Mint, names: dict[int, str]) -> Mint:
        """Return a mint that a made-up model can call with blocks as `Message` keeps them.

        Args:
            mint: The driver's.
            names: The ids of the answer's items, filled as they are given.
        """

        def sealed(text: str, before: list[Block]) -> str:
            return mint(text, self.shown(Message("assistant", before, names=names)))

        return sealed

    def response_id(self) -> str:
        """Return an id for an answer, or nothing where answers are not kept."""
        return ""

    def compaction(self, messages: Sequence[Message]) -> SideCall:
        """Ask the provider to stand for a history; only where compactions can occur."""
        raise RuntimeError(f"nothing stands for {len(messages)} messages on this wire")

    def mend(self, branch: Branch) -> None:
        """Take out of a history what its provider may have refused."""
        branch.forget_thinking()

    def loaded(self, message: Message) -> Message:
        """Return a message as saving and loading a history leaves it."""
        return message

    def _encoded(self) -> list[tuple[str, bytes]]:
        if not self._fixed:
            self._fixed = self.style.fields(self._fields())
        return self._fixed

    def _array(self, messages: Sequence[Message]) -> bytes:
        *before, last = messages
        for message in before:
            self._ensure(message, marked=False)
        marked = self.style.markers
        self._ensure(last, marked=marked)
        written = [message.forms[False] for message in before]
        return self.style.array(filter(None, [*written, last.forms[marked]]))

    def _ensure(self, message: Message, *, marked: bool) -> None:
        if marked not in message.forms:
            message.forms[marked] = self._write(message, marked=marked)


def titled(_: Mint) -> Answer:
    """Answer the request for a title."""
    return Answer([{"type": "text", "text": _TITLE}], "end_turn")


def summarised(material: Material) -> Callable[[Mint], Answer]:
    """Answer the request for a summary."""
    text = material.prose(900)
    return lambda _: Answer([{"type": "text", "text": text}], "end_turn")


def transcript(messages: Sequence[Message]) -> str:
    """Flatten the end of a history, as clients do that let a model summarise it."""
    lines = [
        f"{message.role}: {block['text']}"
        for message in messages[-12:]
        for block in message.blocks
        if block["type"] == "text"
    ]
    return "<conversation>\n" + "\n".join(lines)[:6_000] + "\n</conversation>"
