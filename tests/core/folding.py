"""Conversations to fold, and what of them stands in a digest."""

from __future__ import annotations

from collections.abc import Iterator

from cuesta.core.compact import Source, fold
from cuesta.core.digest import Digest, Part, PartKind
from cuesta.core.meter import COMMON
from cuesta.core.policy import Policy, profile
from cuesta.core.transcript import Block, BlockKind, Message, Role, outline, read_transcript
from cuesta.protocols.lexicon import HarnessLexicon, speaks_human


def said(text: str) -> Message:
    """A user message of one text."""
    return Message(Role.USER, (Block(BlockKind.TEXT, (text,)),))


def called(call_id: str, name: str, arguments: dict[str, object], words: str = "") -> Message:
    """An assistant message with one call, perhaps with words before it."""
    text = (Block(BlockKind.TEXT, (words,)),) if words else ()
    call = Block(BlockKind.CALL, name=name, call_id=call_id, arguments=arguments)
    return Message(Role.ASSISTANT, (*text, call))


def answered(call_id: str, *texts: str, error: bool = False, media: int = 0) -> Message:
    """A user message with one result."""
    return Message(Role.USER, (result(call_id, *texts, error=error, media=media),))


def result(call_id: str, *texts: str, error: bool = False, media: int = 0) -> Block:
    """A result block."""
    return Block(BlockKind.RESULT, texts, call_id=call_id, error=error, media=media)


def source(*messages: Message, to_human: bool = False) -> Source:
    """A source over messages; the first one is the task."""
    outlines = [
        outline(message, bytes([i % 256]), COMMON, human=speaks_human(message))
        for i, message in enumerate(messages)
    ]
    transcript = read_transcript(outlines, head_to_first_human=to_human)
    return Source(transcript, messages.__getitem__, HarnessLexicon())


def folded(
    *messages: Message,
    policy: Policy | None = None,
    previous: int = 0,
    cut: int | None = None,
    threshold: int = 32_000,
) -> Digest:
    """Fold turns of a conversation: the task is put before the given messages."""
    over = source(said("the task"), *messages)
    stop = len(over.transcript.turns) if cut is None else cut
    return fold(over, previous, stop, policy or profile("default"), threshold)


def quotes(parts: tuple[Part, ...], *kinds: PartKind) -> list[str]:
    """The quoted texts of some kinds of parts, in order."""
    return [quote.text for part in parts if part.kind in kinds for quote in part.quotes]


def all_quotes(digest: Digest) -> Iterator[str]:
    """Every quoted text of a digest."""
    for part in (*digest.earlier, *digest.steps):
        for quote in part.quotes:
            yield quote.text
