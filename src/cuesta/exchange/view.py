"""A request's messages as they are sent under a cliff.

Head, digest, kept turns. Kept messages are the client's own bytes but for whole thinking blocks cut
out of the turns that stood when the cliff fell, messages that this empties, and results that the
cliff cleared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cuesta.core.ledger import Cliff, Entry
from cuesta.core.transcript import Transcript
from cuesta.dialects.base import Dialect
from cuesta.exchange.memory import Frozen


@dataclass(frozen=True, slots=True)
class View:
    """What is sent.

    Attributes:
        pieces: Raw messages, each with the index of the client's message that it stands with.
    """

    pieces: Sequence[tuple[int, bytes]]

    @property
    def messages(self) -> list[bytes]:
        """The raw messages."""
        return [piece for _, piece in self.pieces]

    def frozen(self, messages: int, entry: Entry) -> Frozen:
        """Return what stands for the client's first `messages` messages in an entry's epoch."""
        sent = b",".join(piece for i, piece in self.pieces if i < messages)
        return Frozen.of(messages, sent, entry)


def view(
    dialect: Dialect, raw: Sequence[bytes], transcript: Transcript, cliff: Cliff, digest: str
) -> View:
    """Build what is sent under a cliff.

    Args:
        dialect: The wire API.
        raw: The client's raw messages.
        transcript: The same messages, divided into head and turns.
        cliff: The cliff in force.
        digest: The rendered digest; empty where nothing was folded.
    """
    anchor = transcript.anchor
    pieces = [(i, raw[i]) for i in range(anchor)]
    behind = dialect.with_digest(raw[anchor], digest) if digest else [raw[anchor]]
    pieces += [(anchor, piece) for piece in behind]
    pieces += [(i, raw[i]) for i in range(anchor + 1, transcript.head)]
    cleared = transcript.turns[cliff.cleared - 1].stop if cliff.cleared else 0
    for turn in transcript.kept(cliff.cut, len(transcript.turns)):
        for i in range(turn.start, turn.stop):
            thinks = cliff.strip and i < cliff.messages and transcript.outlines[i].thinks
            piece = dialect.without_thinking(raw[i]) if thinks else raw[i]
            if i < cleared and not turn.pinned and transcript.outlines[i].reclaim:
                piece = dialect.cleared(raw[i])
            if piece is not None:
                pieces.append((i, piece))
    return View(pieces)


def sent_tokens(transcript: Transcript, cliff: Cliff) -> int:
    """Estimate the messages that are sent under a cliff."""
    kept = transcript.kept(cliff.cut, len(transcript.turns))
    stripped = transcript.kept(cliff.cut, cliff.border) if cliff.strip else ()
    return (
        transcript.head_tokens
        + cliff.digest_tokens
        + sum(turn.tokens for turn in kept)
        - sum(turn.thinking for turn in stripped)
        - transcript.turns.reclaimed(cliff.cut, cliff.cleared)
    )
