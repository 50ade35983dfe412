"""The prefix cache of OpenAI's wires, which needs no markers, and the bill that follows from it.

Source: OpenAI, "Prompt caching": the longest prefix seen before is read, from 1,024 tokens in steps
of 128; entries live for some minutes after their last use. Nothing is billed for writing.
"""

from __future__ import annotations

import time
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from cuesta.core.usage import Usage
from cuesta.testing.simulator.tokens import MESSAGE_OVERHEAD, cut_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cuesta.testing.simulator.canon import Json
    from cuesta.testing.simulator.prompts import Entry, Prompt, Seen

LEAST = 1024
STEP = 128
LIFETIME = 600.0


class _Mark(NamedTuple):
    """One place at which a prefix may end: its tokens as billed, and the hash of what is before."""

    tokens: int
    state: bytes


class AutoCache:
    """The cache of one account, kept per model.

    Args:
        see: Returns an entry of a prompt as the model sees it.
        clock: Returns seconds; entries expire by it.
        bill_factor: What the simulator's own token count is multiplied with.
    """

    def __init__(
        self,
        see: Callable[[Json], Seen],
        clock: Callable[[], float] = time.monotonic,
        bill_factor: float = 1.0,
    ) -> None:
        self._see = see
        self._clock = clock
        self._factor = bill_factor
        self._expires: dict[tuple[str, bytes], float] = {}

    def charge(self, prompt: Prompt[Entry]) -> Usage:
        """Read and write the cache for one answered prompt.

        Returns:
            The prompt's tokens by class, `output` left at 0: what was read, and the rest as input.
        """
        now = self._clock()
        marks = list(self._marks(prompt))
        keys = [(prompt.model.key, mark.state) for mark in marks]
        hits = [self._expires.get(key, 0.0) > now for key in keys]
        read = max((m.tokens for m, hit in zip(marks, hits, strict=True) if hit), default=0)
        self._expires.update(dict.fromkeys(keys, now + LIFETIME))
        total = round(prompt.tokens() * self._factor)
        return Usage(input=total - read, cache_read=read)

    def _marks(self, prompt: Prompt[Entry]) -> Iterator[_Mark]:
        """Yield every place at which a prefix may end."""
        state, before, billed = b"", 0, LEAST
        seen = (*prompt.head, *map(self._see, prompt.given))
        for part in seen:
            here = part.tokens
            while int(billed / self._factor) <= before + here:
                yield _Mark(billed, _inside(state, part, int(billed / self._factor) - before))
                billed += STEP
            before += here
            state = blake2b(state + part.mark, digest_size=16).digest()


def _inside(state: bytes, part: Seen, tokens: int) -> bytes:
    """Return the hash of a prefix that ends so many tokens into a part."""
    text = cut_tokens(part.text, max(0, tokens - MESSAGE_OVERHEAD))
    whole = len(text) == len(part.text) and tokens > part.tokens - part.extra
    rest = part.rest if whole else ""
    data = f"{tokens}\0{part.label}\0{text}\0{rest}"
    return blake2b(state + data.encode(errors="surrogatepass"), digest_size=16).digest()
