"""Replaying a session under a strategy: what each call's prompt would have held.

A replay keeps the recorded steps: the model answers as it did. The strategy is the proxy's own, and
is asked as the exchange asks it: once a call, with what it decided before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeAlias

from cuesta.core.compact import Memo, Source, fold
from cuesta.core.digest import NOTHING, RENDERER, Digest, Rendered, render
from cuesta.core.ledger import Cliff, Entry
from cuesta.core.meter import round_up
from cuesta.core.models import checks_prefixes, window_of
from cuesta.core.policy import AUTOMATIC_FLOOR, Policy
from cuesta.core.transcript import Transcript
from cuesta.exchange.summaries import LIMIT
from cuesta.lab.prepared import Prepared, meter_of
from cuesta.protocols.lexicon import HarnessLexicon
from cuesta.strategies.base import AskModel, Case, Replace, Strategy
from cuesta.trace.session import Call

_LEXICON = HarnessLexicon()
FIXED, DIGEST = -2, -1
"""What a piece is that stands for no message."""
CLEARED, STRIPPED = "cleared", "stripped"
"""What was done to a message: its results cut out, or its thinking."""
_QUESTION = 250
"""Tokens of the words that ask for a summary."""
_ROOM = 0.8
"""The part of a known window that they and the record may take."""
_LEAST_DROP = 0.1
"""A billed prompt that shrinks by less is no cliff: providers leave out old thinking themselves."""

Piece: TypeAlias = "tuple[tuple[int, str], int]"
"""What a stretch of a prompt is, and its tokens: (message, treatment), or (`DIGEST`, its hash)."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a replay. Sizes are in tokens.

    Attributes:
        call: The number of the session's call.
        model: The model's name.
        prompt: The whole prompt.
        common: How much of its model's previous prompt it begins with.
        answered: How much of that one's answer follows right behind, but for its last token: an
            engine never computes that one.
        output: What the model answers.
        fixed: System prompt and tools, with which every prompt begins.
        behind: How many places for a cache marker lie behind `common`.
        gap: Seconds since its model's call before it, 0 where nobody knows.
        cliff: Whether what stands before the newest turn changed: a cliff fell, a window moved.
        ours: Whether the call is the strategy's own (it asks for a summary).
    """

    call: int
    model: str
    prompt: int
    common: int
    answered: int
    output: int
    fixed: int = 0
    behind: int = 0
    gap: float = 0.0
    cliff: bool = False
    ours: bool = False


@dataclass(frozen=True, slots=True)
class Replay:
    """A session under one strategy.

    Attributes:
        steps: Its calls, in order.
        cliffs: In force at each step, or None: nothing was replaced.
        layouts: What the prompt was made of at each step where it did not just grow, by step.
        digests: What stands in place of folded turns, by hash.
    """

    steps: tuple[Step, ...]
    cliffs: tuple[Cliff | None, ...]
    layouts: Mapping[int, Sequence[Piece]] = field(default_factory=dict)
    digests: Mapping[str, Digest] = field(default_factory=dict)


def replay(prepared: Prepared, strategy: Strategy, policy: Policy) -> Replay:
    """Replay a session.

    Args:
        prepared: The session.
        strategy: When to drop, and from where.
        policy: What is kept, cut and dropped; its threshold counts anchored tokens.
    """
    return _Replayer(prepared, strategy, policy).run()


@dataclass(frozen=True, slots=True)
class _Now:
    """Where a replay stands: a call and its number, the transcript at it, the cliff in force."""

    number: int
    call: Call
    transcript: Transcript
    cliff: Cliff | None


_Sent: TypeAlias = "tuple[_Now, int]"
"""A call that was sent, and its prompt's tokens."""


def _grows(before: _Now, now: _Now) -> bool:
    """Tell whether a call's prompt is an earlier one and more."""
    return before.cliff == now.cliff and before.call.at <= now.call.at


class _Replayer:
    def __init__(self, prepared: Prepared, strategy: Strategy, policy: Policy) -> None:
        self._prepared = prepared
        self._strategy = strategy
        self._policy = policy
        self._meter = meter_of(prepared.session)
        self._memo = Memo()
        self._rendered: dict[tuple[int, int, int], Rendered] = {}
        self._digests: dict[str, Digest] = {}
        self._layouts: dict[int, Sequence[Piece]] = {}
        self._known: Entry | None = None
        self._own: list[Step] = []

    def run(self) -> Replay:
        steps: list[Step] = []
        cliffs: list[Cliff | None] = []
        sent: dict[str, _Sent] = {}
        last: _Sent | None = None
        for number, call in enumerate(self._prepared.calls):
            transcript = self._transcript(call)
            now = _Now(number, call, transcript, self._decide(number, call, transcript))
            steps += self._own
            cliffs += [now.cliff] * len(self._own)
            place = len(steps)
            prompt = self._prompt(place, now, last)
            steps.append(self._step(place, now, prompt, sent.get(call.model)))
            cliffs.append(now.cliff)
            last = sent[call.model] = now, prompt
        return Replay(tuple(steps), tuple(cliffs), self._layouts, self._digests)

    def _transcript(self, call: Call) -> Transcript:
        transcript = self._prepared.until(call.at)
        return transcript.to_first_human() if self._policy.head_to_first_human else transcript

    def _decide(self, number: int, call: Call, transcript: Transcript) -> Cliff | None:
        """Ask the strategy; return the cliff in force, or None. What it asks itself is noted."""
        prepared, policy = self._prepared, self._policy
        model = prepared.model(call)
        fixed = prepared.fixed
        case = Case(
            transcript=transcript,
            fixed=round_up(fixed) if policy.round_fixed else fixed,
            model=model,
            window=window_of(model),
            policy=policy,
            known=self._known,
            answered=False,
            render=lambda previous, cut, threshold: self._render(
                transcript, (previous, cut, threshold)
            ),
            binds_thinking=checks_prefixes(model),
        )
        decision = self._strategy.decide(case)
        self._own = []
        if isinstance(decision, AskModel):
            self._own = [self._asked(number, call, case, decision.cliffs)]
            decision = self._written(number, case, decision)
        if not isinstance(decision, Replace):
            return None
        if decision.new or self._known is None:
            self._known = Entry(policy, self._strategy.name, RENDERER, decision.cliffs)
        return self._known.cliffs[-1]

    def _asked(self, number: int, call: Call, case: Case, cliffs: Sequence[Cliff]) -> Step:
        """Return the call that has a summary written: a question of its own, cached nowhere.

        It holds all that the cliff folds, with the summary before it, as far as there is room (see
        `exchange.summaries`); the answer is as long as summaries are taken to be.
        """
        *before, cliff = cliffs
        earlier = [c for c in before if c.summary]
        sums, since = case.transcript.turns.sums.tokens, earlier[-1].cut if earlier else 0
        record = sums[cliff.cut] - sums[since] + (earlier[-1].digest_tokens if earlier else 0)
        window = case.window
        room = (
            int(_ROOM * window) - LIMIT if window else max(case.policy.threshold, AUTOMATIC_FLOOR)
        )
        prompt = _QUESTION + min(record, room)
        return Step(number, call.model, prompt, 0, 0, cliff.digest_tokens, ours=True)

    def _written(self, number: int, case: Case, wanted: AskModel) -> Replace:
        """Put a summary in its place; where it saves nothing, a digest, as the exchange does."""
        *before, cliff = wanted.cliffs
        previous = before[-1].cut if before else 0
        sums = case.transcript.turns.sums.tokens
        if cliff.digest_tokens < sums[cliff.cut] - sums[previous]:
            cliff = replace(cliff, digest=f"summary {number}")
            self._digests[cliff.digest] = Digest((), ())
        else:
            text = case.render(previous, cliff.cut, cliff.threshold)
            cliff = replace(cliff, digest=text.hash, digest_tokens=text.tokens, summary=False)
        return Replace((*before, cliff), new=True, reason=wanted.reason)

    def _render(self, transcript: Transcript, what: tuple[int, int, int]) -> Rendered:
        """Render a digest, its size anchored as messages of the session are."""
        previous, cut, threshold = what
        if cut <= previous:
            return NOTHING
        known = self._rendered.get(what)
        if known is None:
            source = Source(transcript, self._prepared.read.__getitem__, _LEXICON, self._memo)
            digest = fold(source, previous, cut, self._policy, threshold)
            text = render(digest, self._meter)
            known = replace(text, tokens=round(text.tokens * self._prepared.scale))
            self._rendered[what] = known
            self._digests[known.hash] = digest
        return known

    def _prompt(self, place: int, now: _Now, last: _Sent | None) -> int:
        """Size the prompt of the step at `place`, and lay it out unless it only grew."""
        if last is not None and _grows(last[0], now):
            sums = self._prepared.sums
            return last[1] + sums[now.call.at] - sums[last[0].call.at]
        return _size(self._laid_out(place, now))

    def _step(self, place: int, now: _Now, prompt: int, sent: _Sent | None) -> Step:
        """Put a step together; caches are kept by model, so what was sent is the same model's."""
        prepared, call = self._prepared, now.call
        common, answered, behind, gap = 0, 0, 0, 0.0
        if sent is not None:
            before, size = sent
            last = before.call
            gap = call.time - last.time if call.time and last.time else 0.0
            if _grows(before, now):
                common, answered = size, min(prepared.echo(last), prompt - size)
                behind = prepared.places[call.at] - prepared.places[last.at]
            else:
                common, behind = self._shared(before, place, now)
        return Step(
            now.number, call.model, prompt, common, answered, prepared.output(call),
            prepared.fixed, behind, gap, cliff=now.number > 0 and place in self._layouts,
        )  # fmt: skip

    def _shared(self, before: _Now, place: int, now: _Now) -> tuple[int, int]:
        """Return the tokens that two prompts begin with alike, and the places behind them."""
        old = pieces(self._prepared, before.transcript, before.cliff)
        new = self._layouts.get(place) or pieces(self._prepared, now.transcript, now.cliff)
        alike = _alike(old, new)
        return _size(new[:alike]), sum(map(self._places, new[alike:]))

    def _places(self, piece: Piece) -> int:
        (i, _), _ = piece
        places = self._prepared.places
        return places[i + 1] - places[i] if i >= 0 else 1

    def _laid_out(self, place: int, now: _Now) -> list[Piece]:
        self._layouts[place] = laid_out = pieces(self._prepared, now.transcript, now.cliff)
        return laid_out


def pieces(prepared: Prepared, transcript: Transcript, cliff: Cliff | None) -> list[Piece]:
    """Return what a prompt is made of under a cliff, in order, as `exchange.view` puts it together.

    Args:
        prepared: The session.
        transcript: As it was at the call, divided as the policy says.
        cliff: In force, or None: the session's own messages.
    """
    outlines = transcript.outlines
    laid_out: list[Piece] = [((FIXED, ""), prepared.fixed)]
    if cliff is None:
        return laid_out + [((i, ""), outline.tokens) for i, outline in enumerate(outlines)]
    anchor = transcript.anchor
    laid_out += [((i, ""), outlines[i].tokens) for i in range(anchor + 1)]
    if cliff.digest:
        laid_out.append(((DIGEST, cliff.digest), cliff.digest_tokens))
    laid_out += [((i, ""), outlines[i].tokens) for i in range(anchor + 1, transcript.head)]
    cleared = _cleared(transcript, cliff)
    for i in _kept(transcript, cliff.cut):
        treatment, tokens = "", outlines[i].tokens
        if i in cleared:
            treatment, tokens = CLEARED, tokens - outlines[i].reclaim
        elif cliff.strip and i < cliff.messages and outlines[i].thinks:
            treatment, tokens = STRIPPED, tokens - outlines[i].thinking
        laid_out.append(((i, treatment), tokens))
    return laid_out


def _cleared(transcript: Transcript, cliff: Cliff) -> frozenset[int]:
    """Return the messages whose results a cliff cleared."""
    turns = transcript.turns[cliff.cut : cliff.cleared] if cliff.cleared else ()
    messages = (i for turn in turns if not turn.pinned for i in range(turn.start, turn.stop))
    return frozenset(i for i in messages if transcript.outlines[i].reclaim)


def _kept(transcript: Transcript, cut: int) -> Iterator[int]:
    """Yield the messages of the turns that a cut keeps: those behind it, and pinned ones."""
    for turn in transcript.kept(cut, cut):
        yield from range(turn.start, turn.stop)
    stops = transcript.turns.stops
    yield from range(stops[cut - 1] if cut else transcript.turns.head, len(transcript.outlines))


def _size(prompt: Iterable[Piece]) -> int:
    return sum(tokens for _, tokens in prompt)


def _alike(old: Sequence[Piece], new: Sequence[Piece]) -> int:
    """Return how many pieces two prompts begin with alike."""
    return next(
        (n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a[0] != b[0]),
        min(len(old), len(new)),
    )


def recorded(prepared: Prepared) -> Replay:
    """Return the session as its harness ran it, by its bills; calls without one are left out."""
    steps: list[Step] = []
    billed = [(n, c) for n, c in enumerate(prepared.calls) if c.usage is not None]
    for number, call in billed:
        if call.usage is None:
            continue
        prompt = call.usage.prompt
        steps.append(Step(number, call.model, prompt, 0, 0, call.usage.output))
    for i, (before, step) in enumerate(pairwise(steps), 1):
        grown = step.prompt >= before.prompt and step.model == before.model
        times = [prepared.calls[s.call].time for s in (before, step)]
        gap = times[1] - times[0] if all(times) else 0.0
        cliff = step.prompt < before.prompt * (1 - _LEAST_DROP)
        steps[i] = replace(step, common=before.prompt if grown else 0, gap=gap, cliff=cliff)
    return Replay(tuple(steps), (None,) * len(steps))
