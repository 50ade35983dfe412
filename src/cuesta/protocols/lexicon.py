"""The lexicon that the core is given: signatures and voices of all harnesses."""

from __future__ import annotations

from cuesta.core.compact import Voice
from cuesta.core.digest import Quote
from cuesta.core.transcript import Block, BlockKind, Message, Role
from cuesta.protocols import signatures, voices


class HarnessLexicon:
    """One lexicon for all harnesses; it has no state."""

    def signature(self, call: Block, limit: int) -> tuple[Quote, ...] | None:
        """See `signatures.signature`."""
        return signatures.signature(call, limit)

    def voices(self, text: str) -> tuple[Voice, ...]:
        """See `voices.voices`."""
        return voices.voices(text)


def speaks_human(message: Message) -> bool:
    """Tell whether a person speaks in a message: in its texts or by an image of their own."""
    if message.role is not Role.USER:
        return False
    return any(
        block.kind is BlockKind.MEDIA
        or (block.kind is BlockKind.TEXT and any(map(voices.is_human, block.texts)))
        for block in message.blocks
    )
