"""Folding turns into a digest: Algorithm 1's block C, from original turns only.

Everything here reads the client's own messages. Nothing ever reads an earlier digest, so that no
compaction is a compaction of a compaction.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cuesta.core.digest import Digest, Part, PartKind, Quote
from cuesta.core.excerpts import ends, first, literal
from cuesta.core.meter import COMMON
from cuesta.core.policy import Policy
from cuesta.core.transcript import Block, BlockKind, Message, Role, Transcript
from cuesta.core.turns import Turn


@dataclass(frozen=True, slots=True)
class Voice:
    """A stretch of a message's text and who speaks in it.

    Attributes:
        text: The stretch.
        notice: What tells one kind of harness-made text from another, or empty: a person speaks.
    """

    text: str
    notice: str = ""


class Lexicon(Protocol):
    """What agent programs mean by their wire text; implemented in `protocols/`."""

    def signature(self, call: Block, limit: int) -> tuple[Quote, ...] | None:
        """Return what stands for a call, or None for one that leaves no trace."""

    def voices(self, text: str) -> tuple[Voice, ...]:
        """Tell a person's words in a user message from the harness's."""


class Shortened(dict[str, tuple[Part, int]]):
    """Human texts cut to one length, head and tail, with their estimates; each is cut once.

    By the common meter: a digest's text does not depend on the model.

    Args:
        limit: The length in characters.
    """

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def __missing__(self, text: str) -> tuple[Part, int]:
        """Cut a text."""
        short = ends(text, self._limit)
        found = self[text] = Part(PartKind.USER, (Quote(short),)), COMMON.text(short)
        return found


@dataclass(frozen=True, slots=True)
class Memo:
    """What the digests of one conversation have in common, found once.

    Attributes:
        said: What people said, by a turn's messages: each later digest holds it again.
        cuts: Human texts cut to a length, by length.
    """

    said: dict[tuple[int, int], list[Part]] = field(default_factory=dict)
    cuts: dict[int, Shortened] = field(default_factory=dict)

    def shortened(self, limit: int) -> Shortened:
        """Return human texts cut to a length."""
        if limit not in self.cuts:
            self.cuts[limit] = Shortened(limit)
        return self.cuts[limit]


@dataclass(frozen=True, slots=True)
class Source:
    """Where a digest's texts come from.

    Attributes:
        transcript: The conversation.
        message: Reads message `i` of it.
        lexicon: Names calls and voices.
        memo: What the digests of one conversation have in common.
    """

    transcript: Transcript
    message: Callable[[int], Message]
    lexicon: Lexicon
    memo: Memo = field(default_factory=Memo)

    def messages(self, first_turn: int, last_turn: int) -> Iterator[Message]:
        """Yield the messages of turns `first_turn` to `last_turn` (exclusive)."""
        turns = self.transcript.turns[first_turn:last_turn]
        if turns:
            yield from map(self.message, range(turns[0].start, turns[-1].stop))


def fold(source: Source, previous: int, cut: int, policy: Policy, threshold: int) -> Digest:
    """Fold turns `previous` to `cut` into a digest.

    Pinned turns stay whole and leave no trace here.

    Args:
        source: The conversation's own messages.
        previous: The last cliff's cut: the session folded now begins there.
        cut: The first turn that stays.
        policy: What is kept, cut and dropped.
        threshold: Of the epoch that opens, in tokens; human text may take a share of it.
    """
    earlier = _earlier_human(source, previous) if policy.human_for_ever else []
    steps: list[Part] = []
    for turn in source.transcript.turns[previous:cut]:
        if not turn.pinned:
            steps += _turn_parts(source, turn, policy)
    steps = _latest_notices(steps, policy)
    human = [p.quotes[0].text for p in (*earlier, *steps) if p.kind is PartKind.USER]
    budget = int(policy.human_share * threshold)
    limit = _human_limit(source, human, policy.human_chars, budget)
    cuts = source.memo.shortened(limit)
    return Digest(
        tuple([cuts[part.quotes[0].text][0] for part in earlier]),
        tuple([cuts[p.quotes[0].text][0] if p.kind is PartKind.USER else p for p in steps]),
    )


def _earlier_human(source: Source, before: int) -> list[Part]:
    """Return what people said in the turns before the folded session, read from the originals."""
    spoken = source.transcript.spoken
    numbers = spoken[: bisect_left(spoken, before)]
    return [part for number in numbers for part in _said(source, number)]


def _said(source: Source, number: int) -> list[Part]:
    """Return what people said in a turn; a pinned one stays whole."""
    turns, outlines = source.transcript.turns, source.transcript.outlines
    span = turns.span(number)
    said = source.memo.said.get(span)
    if said is None:
        human = [i for i in range(*span) if outlines[i].human and not turns[number].pinned]
        parts = (part for i in human for part in _user_parts(source, source.message(i)))
        said = [part for part in parts if part.kind is PartKind.USER]
        source.memo.said[span] = said
    return said


def _turn_parts(source: Source, turn: Turn, policy: Policy) -> Iterator[Part]:
    messages = [source.message(i) for i in range(turn.start, turn.stop)]
    results = _results_by_call(messages)
    for message in messages:
        if message.role is Role.ASSISTANT:
            yield from _assistant_parts(source, message, results, policy)
        else:
            yield from _user_parts(source, message)


def _results_by_call(messages: Sequence[Message]) -> dict[str, list[Block]]:
    """Collect a turn's results; where ids repeat, they pair by position."""
    results: dict[str, list[Block]] = {}
    for message in messages:
        for block in message.blocks:
            if block.kind is BlockKind.RESULT:
                results.setdefault(block.call_id, []).append(block)
    return results


def _assistant_parts(
    source: Source, message: Message, results: dict[str, list[Block]], policy: Policy
) -> Iterator[Part]:
    for block in message.blocks:
        if block.kind is BlockKind.CALL:
            waiting = results.get(block.call_id)
            result = waiting.pop(0) if waiting else None
            yield from _call_parts(source, block, result, policy)
        elif block.kind is BlockKind.TEXT or (
            block.kind is BlockKind.THINKING and policy.reasoning
        ):
            yield from _quoted(
                PartKind.ASSISTANT, first("".join(block.texts), policy.thought_chars)
            )


def _call_parts(
    source: Source, call: Block, result: Block | None, policy: Policy
) -> Iterator[Part]:
    signature = source.lexicon.signature(call, policy.signature_chars)
    if signature is None:
        return
    yield Part(PartKind.CALL, signature, literal(call.name))
    if result is None:
        return
    text = "\n".join(result.texts).strip()
    kind = PartKind.ERROR if result.error else PartKind.RESULT
    if len(text) <= policy.result_chars:
        yield from _quoted(kind, literal(text))
    elif result.error and policy.error_chars > policy.result_chars:
        yield from _quoted(kind, ends(text, policy.error_chars))
    if result.media:
        yield from _quoted(PartKind.MEDIA, _media_note(result.media))


def _media_note(count: int) -> str:
    return "1 image or document" if count == 1 else f"{count} images or documents"


def _user_parts(source: Source, message: Message) -> Iterator[Part]:
    """Yield what people and the harness said in a message; a system message is the harness's."""
    for block in message.blocks:
        if block.kind is BlockKind.TEXT:
            text = "".join(block.texts)
            voices = (
                (Voice(text, notice=_gist(text)),)
                if message.role is Role.SYSTEM
                else source.lexicon.voices(text)
            )
            for voice in voices:
                if not voice.notice:
                    yield from _quoted(PartKind.USER, literal(voice.text))
                else:
                    yield from _quoted(PartKind.NOTICE, literal(voice.text), voice.notice)
        elif block.kind is BlockKind.MEDIA:
            yield from _quoted(PartKind.MEDIA, _media_note(1))


def _gist(text: str) -> str:
    """Name a kind of notice by how it begins: its figures and lists come later."""
    return " ".join(text.split())[:60] or "-"


def _quoted(kind: PartKind, text: str, tool: str = "") -> Iterator[Part]:
    if text:
        yield Part(kind, (Quote(text),), tool)


def _latest_notices(parts: Sequence[Part], policy: Policy) -> list[Part]:
    """Keep each kind of harness-made text once, the latest, at its own place."""
    last = {part.tool: i for i, part in enumerate(parts) if part.kind is PartKind.NOTICE}
    kept = []
    for i, part in enumerate(parts):
        if part.kind is not PartKind.NOTICE:
            kept.append(part)
        elif policy.notice_chars and last[part.tool] == i:
            text = ends(part.quotes[0].text, policy.notice_chars)
            kept.append(Part(PartKind.NOTICE, (Quote(text),)))
    return kept


def _human_limit(source: Source, texts: Sequence[str], limit: int, budget: int) -> int:
    """Return the largest length at which all human text fits the budget, at most `limit`.

    One length for all shortens the longest first and never drops the oldest.
    """
    if _human_tokens(source, texts, limit) <= budget:
        return limit
    low, high = min(40, limit), limit
    while low < high:
        middle = (low + high + 1) // 2
        if _human_tokens(source, texts, middle) <= budget:
            low = middle
        else:
            high = middle - 1
    return low


def _human_tokens(source: Source, texts: Sequence[str], limit: int) -> int:
    cuts = source.memo.shortened(limit)
    return sum([cuts[text][1] for text in texts])
