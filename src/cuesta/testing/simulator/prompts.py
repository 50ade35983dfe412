"""A prompt of one of OpenAI's wires, read once: entries behind a head, as a chain of hashes.

Each entry is kept as the model sees it. Two requests show the model the same prefix exactly when
their chains are equal: a string in place of one text part makes no difference, nor do members that
are null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from cuesta.core.models import Model
from cuesta.testing.simulator.canon import Json, digest, dump, fingerprint
from cuesta.testing.simulator.tokens import MESSAGE_OVERHEAD, TOOLS_OVERHEAD, count_text

if TYPE_CHECKING:
    from cuesta.testing.simulator.openai import Breach

SEPARATOR = "\x1e"
"""Stands between the parts of one entry's text."""
MEDIA_TOKENS = 1500

_MEMORY = 200_000


class Seen(NamedTuple):
    """One entry as the model sees it.

    Attributes:
        label: What it is: a role or a kind.
        text: Its text.
        rest: What else tells it from others: ids, pictures, unknown members.
        extra: Tokens beyond its text.
    """

    label: str
    text: str
    rest: str = ""
    extra: int = 0

    @property
    def tokens(self) -> int:
        """Its tokens, as the simulator counts them."""
        return MESSAGE_OVERHEAD + count_text(self.text) + self.extra

    @property
    def mark(self) -> bytes:
        """The hash of everything in it."""
        return digest(f"{self.label}\0{self.text}\0{self.rest}".encode(errors="surrogatepass"))


@dataclass(frozen=True, slots=True)
class Entry:
    """What one message or item tells, wherever it stands.

    Attributes:
        mark: The hash of it as the model sees it.
        tokens: Its tokens.
        size: The length of its JSON.
        fault: What is wrong with it by itself, or None.
        surrogate: Whether it holds half a surrogate pair.
    """

    mark: bytes
    tokens: int
    size: int
    fault: Breach | None
    surrogate: bool


EntryT_co = TypeVar("EntryT_co", bound=Entry, covariant=True)


@dataclass(frozen=True, slots=True)
class Prompt(Generic[EntryT_co]):
    """A request body, read.

    Attributes:
        body: The body as it came.
        model: The model that it names.
        head: What stands before all entries: tools, and instructions.
        given: The messages or items as they came.
        entries: What each of them tells.
    """

    body: Json
    model: Model
    head: tuple[Seen, ...]
    given: tuple[Json, ...]
    entries: tuple[EntryT_co, ...]

    @property
    def readable(self) -> bool:
        """Whether every entry is of known shape."""
        return all(entry.fault is None for entry in self.entries)

    @property
    def end(self) -> bytes:
        """The chain behind everything."""
        return self._states()[-1]

    def reached(self) -> set[bytes]:
        """Return every state of the chain that a shorter prompt of the same beginning ends in."""
        return set(self._states())

    def message_states(self) -> list[bytes]:
        """Return the chain behind each entry."""
        return self._states()[1:]

    def sizes(self) -> list[int]:
        """Return the size of each entry as JSON."""
        return [entry.size for entry in self.entries]

    def tokens(self) -> int:
        """Return the tokens of the whole prompt, as the simulator counts them."""
        head = sum(part.tokens for part in self.head)
        return head + sum(entry.tokens for entry in self.entries)

    def _states(self) -> list[bytes]:
        """Return the chain behind the head, then behind each entry. No rule needs it."""
        state = b""
        for part in self.head:
            state = digest(state + part.mark)
        states = [state]
        for entry in self.entries:
            state = digest(state + entry.mark)
            states.append(state)
        return states


class EntryReader(Generic[EntryT_co]):
    """Reads entries, remembering what each tells by the hash of its value.

    Args:
        read: Reads one entry, given with its JSON in ASCII.
    """

    def __init__(self, read: Callable[[object, str], EntryT_co]) -> None:
        self._read = read
        self._entries: dict[bytes, EntryT_co] = {}
        self._heads: dict[bytes, tuple[Seen, ...]] = {}

    def entries(self, given: Iterable[object]) -> tuple[EntryT_co, ...]:
        """Read entries of which every one may be wrong."""
        if len(self._entries) > _MEMORY:
            self._entries.clear()
        found: list[EntryT_co] = []
        for value in given:
            key = fingerprint(value)
            entry = self._entries.get(key)
            if entry is None:
                entry = self._entries[key] = self._read(value, dump(value))
            found.append(entry)
        return tuple(found)

    def head(self, body: Json) -> tuple[Seen, ...]:
        """Read what stands before all entries."""
        tools, instructions = body.get("tools") or None, body.get("instructions") or None
        key = fingerprint([tools, instructions])
        if key not in self._heads:
            parts = []
            if tools is not None:
                parts.append(Seen("tools", dump(tools), extra=TOOLS_OVERHEAD))
            if instructions is not None:
                parts.append(Seen("instructions", str(instructions)))
            self._heads[key] = tuple(parts)
        return self._heads[key]
