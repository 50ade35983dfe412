"""What a replay's model could no longer have seen: probes that need no model.

A use is a string that a step writes in its calls (`words` says which ones count) and that stood
somewhere in the transcript before. It is lost where it stands nowhere in the prompt of that step:
not in the head, not in the digest, not in the messages that are left. A lost use is no proof of
harm: the agent may look again, or never have needed to know. It is the same measure for all
strategies.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from cuesta.core.digest import render
from cuesta.core.meter import COMMON
from cuesta.core.transcript import BlockKind, Role
from cuesta.lab.prepared import Prepared
from cuesta.lab.replay import DIGEST, Replay
from cuesta.lab.words import Concordance, Kind, stands, texts_of, words

HIDES: Mapping[str, frozenset[BlockKind]] = MappingProxyType(
    {
        "": frozenset(),
        "stripped": frozenset({BlockKind.THINKING}),
        "cleared": frozenset({BlockKind.RESULT}),
    }
)
"""What a message no longer holds, by the treatment that `pieces` names."""
_FIXED = -1
"""Stands for system prompt and tools where a place is a message number."""


class Origin(Enum):
    """Where a string first stood."""

    HEAD = "head"
    RESULT = "result"
    CALL = "call"
    THOUGHT = "thought"
    HUMAN = "human"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True)
class Use:
    """One string that one step uses.

    Attributes:
        call: The number of the step's call.
        word: The string.
        kind: What form it has.
        origin: Where it first stood.
        distance: How many calls ago it last came into the prompt; 1: with this one's.
    """

    call: int
    word: str
    kind: Kind
    origin: Origin
    distance: int


@dataclass(frozen=True, slots=True)
class View:
    """What prompts show until the next cliff.

    Attributes:
        hidden: What is hidden of each message that was left when the view was taken, by number.
        since: All messages from this one on are there whole.
        text: What stands in place of the others.
    """

    hidden: Mapping[int, frozenset[BlockKind]]
    since: int
    text: str = ""


class Probe:
    """The uses of one session, found once, and which of them a replay loses.

    Args:
        prepared: The session.
        said: Whether strings count that a step only says, beside its calls.
    """

    def __init__(self, prepared: Prepared, *, said: bool = False) -> None:
        self.prepared = prepared
        self._kinds = {BlockKind.CALL, BlockKind.TEXT} if said else {BlockKind.CALL}
        self._ats = [call.at for call in prepared.calls]
        self._places: dict[str, tuple[tuple[int, BlockKind], ...]] = {}
        self._concordance = Concordance(prepared.read)
        self._fixed = "\0".join(
            raw.decode("utf-8", "replace") for raw in prepared.session.members.values()
        )
        self.uses = tuple(self._uses())

    def lost(self, replay: Replay) -> list[Use]:
        """Return the uses that a replay's prompts no longer show."""
        return self._lost(Views(self.prepared, replay))

    def lost_blindly(self, replay: Replay) -> list[Use]:
        """Return what would be lost if each digest were as long a piece of every folded block."""
        return self._lost(BlindViews(self.prepared, replay))

    def lost_at_most(self, keep_turns: int) -> list[Use]:
        """Return what is lost where each prompt holds the head and the last turns only."""
        return self._lost(lambda call: _bare(self.prepared, call, keep_turns))

    def lost_in(self, other: Prepared) -> list[Use]:
        """Return the uses that another session's prompts do not show, as far into it as here."""
        concordance = Concordance(other.read)
        places: dict[str, tuple[tuple[int, BlockKind], ...]] = {}
        lost = []
        for use in self.uses:
            number = use.call * len(other.calls) // len(self.prepared.calls)
            found = places.get(use.word)
            if found is None:
                found = places[use.word] = concordance.places(use.word)
            if not found or found[0][0] >= other.calls[number].at:
                lost.append(use)
        return lost

    def lost_shuffled(self, replay: Replay, draw: Callable[[int], int]) -> list[Use]:
        """Return what is lost where each string is used at any step behind the one that it is in.

        Args:
            replay: The replay.
            draw: Draws a number from 0 up to the given one, exclusive.
        """
        views = Views(self.prepared, replay)
        count = len(self._ats)
        moved = []
        for use in self.uses:
            first = bisect_right(self._ats, self._places[use.word][0][0])
            moved.append((first + draw(count - first), use))
        moved.sort(key=lambda pair: pair[0])
        return [
            use for call, use in moved if not self._shows(views(call), use.word, self._ats[call])
        ]

    def _uses(self) -> Iterator[Use]:
        for number, at in enumerate(self._ats):
            for word, kind in self._written(at).items():
                places = self._where(word)
                if not places or places[0][0] >= at:
                    continue
                yield Use(
                    number, word, kind, self._origin(*places[0]), self._distance(word, number)
                )

    def _written(self, at: int) -> dict[str, Kind]:
        """Return the strings of the answer that stands at a message."""
        found: dict[str, Kind] = {}
        read = self.prepared.read
        while at < len(read) and read[at].role is Role.ASSISTANT:
            for block in read[at].blocks:
                if block.kind in self._kinds:
                    found.update(words("\n".join(texts_of(block))))
            at += 1
        return found

    def _where(self, word: str) -> tuple[tuple[int, BlockKind], ...]:
        places = self._places.get(word)
        if places is None:
            places = self._concordance.places(word)
            if stands(word, self._fixed) >= 0:
                places = ((_FIXED, BlockKind.OPAQUE), *places)
            self._places[word] = places
        return places

    def _distance(self, word: str, number: int) -> int:
        last = max(m for m, _ in self._places[word] if m < self._ats[number])
        return number - bisect_right(self._ats, last) + 1

    def _origin(self, message: int, kind: BlockKind) -> Origin:
        transcript = self.prepared.transcript
        if message < transcript.head:
            return Origin.HEAD
        if kind is BlockKind.RESULT:
            return Origin.RESULT
        if kind is BlockKind.CALL:
            return Origin.CALL
        outline = transcript.outlines[message]
        if outline.role is Role.ASSISTANT:
            return Origin.THOUGHT
        return Origin.HUMAN if outline.human else Origin.NOTICE

    def _lost(self, views: Callable[[int], View]) -> list[Use]:
        return [
            use
            for use in self.uses
            if not self._shows(views(use.call), use.word, self._ats[use.call])
        ]

    def _shows(self, view: View, word: str, at: int) -> bool:
        for message, kind in self._places[word]:
            if message >= at:
                break
            if message == _FIXED or message >= view.since:
                return True
            hidden = view.hidden.get(message)
            if hidden is not None and kind not in hidden:
                return True
        return stands(word, view.text) >= 0


class Views:
    """What each prompt of a replay shows; calls are asked for in order.

    Args:
        prepared: The session.
        replay: The replay.
    """

    def __init__(self, prepared: Prepared, replay: Replay) -> None:
        self.prepared = prepared
        self.replay = replay
        self._numbers = {
            step.call: number for number, step in enumerate(replay.steps) if not step.ours
        }
        self._layouts = sorted(replay.layouts)
        self._taken = -1
        self._view = View({}, 0)

    def __call__(self, call: int) -> View:
        """Return what a call's prompt shows."""
        latest = self._layouts[bisect_right(self._layouts, self._numbers[call]) - 1]
        if latest != self._taken:
            self._taken = latest
            self._view = self._take(latest)
        return self._view

    def _take(self, number: int) -> View:
        layout = self.replay.layouts[number]
        hidden = {message: HIDES[treatment] for (message, treatment), _ in layout if message >= 0}
        at = self.prepared.calls[self.replay.steps[number].call].at
        digests = (name for (piece, name), _ in layout if piece == DIGEST)
        return View(hidden, at, "\0".join(self.text(number, name) for name in digests))

    def text(self, number: int, digest: str) -> str:  # noqa: ARG002 - for other views
        """Return the text of the digest that a step's prompt holds."""
        return render(self.replay.digests[digest], COMMON).text


class BlindViews(Views):
    """The same, with as many tokens of each digest spent on the first part of every block."""

    def text(self, number: int, digest: str) -> str:  # noqa: ARG002 - as in `Views`
        """Return the same share of every block of the folded turns."""
        cliff, before = self.replay.cliffs[number], self.replay.cliffs[max(number - 1, 0)]
        if cliff is None:
            return ""
        turns = self.prepared.transcript.turns[before.cut if before else 0 : cliff.cut]
        tokens = sum(turn.tokens for turn in turns)
        share = min(1.0, cliff.digest_tokens / tokens) if tokens else 0.0
        texts = (
            "\n".join(texts_of(block))
            for turn in turns
            for message in self.prepared.read[turn.start : turn.stop]
            for block in message.blocks
        )
        return "\0".join(text[: int(share * len(text))] for text in texts)


def _bare(prepared: Prepared, call: int, keep_turns: int) -> View:
    transcript = prepared.until(prepared.calls[call].at).to_first_human()
    turns = transcript.turns
    hidden = dict.fromkeys(range(transcript.head), HIDES[""])
    for turn in turns[max(0, len(turns) - keep_turns) :]:
        hidden.update(dict.fromkeys(range(turn.start, turn.stop), HIDES["stripped"]))
    return View(hidden, prepared.calls[call].at)
