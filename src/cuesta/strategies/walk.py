"""Walking a conversation's borders: what all strategies that replace anything have in common.

Rule 1. A request is planned by walking the conversation's borders from the last known cliff to its
end. A proxy that saw every request and one that sees the conversation for the first time walk the
same borders, so both find the same cuts.
Rule 2. Where a cliff falls depends on the estimate over the client's history, the policy, and the
rounded fixed part. A cliff that anything else caused is `external`.
Rule 3. Between two cliffs nothing that was sent changes, and a request that was answered once is
sent again as it was: what the ledger holds is served as it is stored, whichever strategy made it.
Rule 4. On models that check prefixes, thinking that was produced behind another prefix is cut out
of the kept turns, all of it, at the cliff.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from dataclasses import replace
from operator import sub
from statistics import median

from cuesta.core.digest import Rendered
from cuesta.core.ledger import Cliff
from cuesta.core.policy import AUTOMATIC_FLOOR, automatic_threshold, ladder
from cuesta.core.readings import next_prompt
from cuesta.core.transcript import Role, Transcript
from cuesta.core.turns import Turn
from cuesta.strategies.base import Case, Decision, Keep, Replace

BILLED_SHARE = 0.8
"""Part of a known window past which a bill brings a cliff forward."""
_FOREIGN = "the last turn was answered behind other bytes"


class Walk(ABC):
    """One walk over one case. A strategy says what falls at a border, and what a forced one folds.

    Args:
        case: The request.
        name: The strategy's name.

    Attributes:
        fallen: Every cliff that fell on the way, in order.
    """

    def __init__(self, case: Case, name: str) -> None:
        self.case = case
        self.fallen: list[Cliff] = []
        self._name = name
        turns = case.transcript.turns
        self.now = len(turns)
        self.head = case.fixed + case.transcript.head_tokens
        self.tokens = case.transcript.turns.sums.tokens
        self.thinking = case.transcript.turns.sums.thinking
        self.pinned = case.transcript.turns.sums.pinned
        self.pinned_thinking = case.transcript.turns.sums.pinned_thinking

    @abstractmethod
    def falls(
        self, cliffs: list[Cliff], border: int, size: int, threshold: int
    ) -> tuple[Cliff | None, str]:
        """Let a cliff fall at a border if it may; else say why not.

        Args:
            cliffs: Those so far, the last one in force.
            border: How many turns there are.
            size: What would be sent under them, in estimated tokens.
            threshold: In force, in tokens; 0 where none is fixed yet.
        """

    def forced_cut(self, cliffs: list[Cliff], threshold: int, why: str) -> int:
        """Return the first turn that a cliff keeps which must fall at the end of the conversation.

        By default it folds what a cliff there would fold; but before the first one nothing for the
        sake of a foreign turn alone.
        """
        cut = cliffs[-1].cut if cliffs else 0
        over = threshold > 0 and self.size([], self.now) > threshold
        if cliffs or over or why != _FOREIGN:
            cut = max(cut, last_cut(self.case.transcript, self.now - self.case.policy.keep_turns))
        return cut

    def after(self, cliffs: list[Cliff], cliff: Cliff) -> list[Cliff]:
        """Return the cliffs that are remembered once another one has fallen."""
        return [*cliffs, cliff]

    def stands(self, previous: int, cut: int, threshold: int) -> Rendered:
        """Return what stands in place of the turns that a cliff folds away."""
        return self.case.render(previous, cut, threshold)

    def cleared_at(self, border: int) -> int:  # noqa: ARG002 - for strategies that clear
        """Return the first turn whose results a cliff at a border leaves."""
        return 0

    def decide(self) -> Decision:
        """Walk the borders that are new since the last cliff, then settle what forces one."""
        case = self.case
        if case.transcript.anchor < 0:
            return Keep("no user message before the first answer")
        if not case.transcript.turns:
            return Keep("no turn yet")
        cliffs = list(case.known.cliffs) if case.known else []
        if case.answered and not self._why_external(cliffs):
            return Replace(tuple(cliffs), new=False, reason="retry") if cliffs else Keep("retry")
        reason = ""
        threshold = self._threshold_of_epoch(cliffs)
        for border in range(cliffs[-1].border + 1 if cliffs else 1, self.now + 1):
            size = self.size(cliffs, border)
            if not threshold and size > AUTOMATIC_FLOOR:
                threshold = self._threshold_at(border)
            cliff, reason = self.falls(cliffs, border, size, threshold)
            if cliff is not None:
                cliffs = self.after(cliffs, cliff)
                self.fallen.append(cliff)
                threshold = cliff.threshold
        return self._settled(cliffs, threshold, reason)

    def _settled(self, cliffs: list[Cliff], threshold: int, reason: str) -> Decision:
        """Decide at the end of the walk."""
        why = self._why_external(cliffs) or self._why_billed(cliffs, threshold)
        if why:
            forced = self._force(cliffs, threshold, why)
            if forced is not None:
                return Replace(forced, new=True, reason=why)
        if not cliffs:
            return Keep(reason or "no border yet", threshold)
        return Replace(tuple(cliffs), new=bool(self.fallen), reason=reason or "no new turn")

    def _threshold_of_epoch(self, cliffs: list[Cliff]) -> int:
        """Return the threshold of the epoch that the walk starts in; 0: not fixed yet.

        A recorded threshold stands for its epoch; changed options count from the next request on
        and make the cliff that they cause external.
        """
        if not cliffs:
            return self.case.policy.threshold
        if self._same_options():
            return cliffs[-1].threshold
        return self._threshold_at(cliffs[-1].border)

    def _same_options(self) -> bool:
        known = self.case.known
        if known is None:
            return True
        return known.strategy == self._name and known.policy == ladder(self.case.policy)[known.rung]

    def _grew(self, cliffs: list[Cliff]) -> bool:
        """Tell whether the last cliff's newest turn has grown since: its threshold fits it less.

        Of an external cliff that is told already.
        """
        if not cliffs or cliffs[-1].external:
            return False
        last = cliffs[-1]
        return last.messages != self.case.transcript.turns[last.border - 1].stop

    def _threshold_at(self, border: int) -> int:
        """Fix the threshold of an epoch that opens at a border."""
        case = self.case
        if case.policy.threshold:
            return case.policy.threshold
        typical = median(map(sub, self.tokens[1 : border + 1], self.tokens))
        return automatic_threshold(self.head, typical, case.policy.keep_turns, case.window)

    def size(self, cliffs: list[Cliff], border: int) -> int:
        """Estimate what would be sent at a border under the cliffs so far."""
        if not cliffs:
            return self.head + self.tokens[border]
        last = cliffs[-1]
        gone = self.thought(last.cut, last.border) if last.strip else 0
        gone += self.case.transcript.turns.reclaimed(last.cut, last.cleared)
        return self.head + last.digest_tokens + self.kept(last.cut, border) - gone

    def waits(self, border: int, size: int, threshold: int) -> str:
        """Say why the threshold asks for no cliff at a border, or nothing: it does."""
        if not threshold or size <= threshold:
            return f"{size} of {threshold or AUTOMATIC_FLOOR} tokens"
        return "" if self.case.transcript.turns[border - 1].closed else "a call is still open"

    def kept(self, cut: int, border: int) -> int:
        """Estimate the turns before a border that a cut keeps."""
        return self.tokens[border] - self.tokens[cut] + self.pinned[cut]

    def thought(self, cut: int, border: int) -> int:
        """Estimate the thinking in them."""
        return self.thinking[border] - self.thinking[cut] + self.pinned_thinking[cut]

    def added(self, cliffs: list[Cliff], border: int) -> int:
        """Estimate the turns before a border that have come since the last cliff."""
        return self.tokens[border] - self.tokens[cliffs[-1].border if cliffs else 0]

    def gap(self, threshold: int) -> int:
        """Return the tokens that must have come since the last cliff before another one."""
        policy = self.case.policy
        return max(policy.gap_tokens, int(policy.gap_share * threshold))

    def safe(self, cut: int, border: int) -> int | None:
        """Return the first cut from `cut` on that thinking can go behind, if any of it must."""
        if not self._strips(cut, border):
            return cut
        return safe_cut(self.case.transcript, cut, border)

    def moved(self, cliffs: list[Cliff]) -> bool:
        """Tell whether something but the history decides where the next cliff falls."""
        options = not self._same_options() or self.case.otherwise
        return options or self._grew(cliffs) or self._other_model(cliffs)

    def _other_model(self, cliffs: list[Cliff]) -> bool:
        """Tell whether the last cliff fell for another model, whose meter may read otherwise."""
        return bool(cliffs) and cliffs[-1].family != self.case.model.key

    def _strips(self, cut: int, border: int) -> bool:
        """Tell whether the kept turns hold thinking that the model would refuse."""
        turns = self.case.transcript.kept(cut, border)
        return self.case.binds_thinking and any(turn.thinks for turn in turns)

    def build(self, cut: int, border: int, previous: int, *, external: bool) -> Cliff:
        """Return a cliff.

        Args:
            cut: The first turn that it keeps.
            border: Where it falls.
            previous: The cut of the cliff before it.
            external: See `Cliff`.
        """
        case = self.case
        threshold = self._threshold_at(border)
        digest = self.stands(previous, cut, threshold)
        return Cliff(
            cut=cut,
            border=border,
            messages=case.transcript.turns[border - 1].stop,
            threshold=threshold,
            fixed=case.fixed,
            family=case.model.key,
            strip=self._strips(cut, border),
            external=external,
            digest=digest.hash,
            digest_tokens=digest.tokens,
            cleared=self.cleared_at(border),
        )

    def again(self, cliffs: list[Cliff], border: int, *, external: bool) -> list[Cliff]:
        """Return the cliffs once another one has fallen that folds no more than the last.

        A summary that stands is not written again.
        """
        last, rest = (cliffs[-1], cliffs[:-1]) if cliffs else (None, cliffs)
        previous = rest[-1].cut if rest else 0
        cliff = self.build(last.cut if last else 0, border, previous, external=external)
        if last is not None and last.summary:
            tokens = last.digest_tokens
            cliff = replace(cliff, digest=last.digest, digest_tokens=tokens, summary=True)
        return self.after(rest, cliff)

    def _why_external(self, cliffs: list[Cliff]) -> str:
        """Say what else than the estimate demands a cliff now, or nothing."""
        case = self.case
        if case.demand:
            return case.demand
        if case.known is not None and case.known.foreign:
            return _FOREIGN
        if not self.fallen and self._other_model(cliffs):
            return f"the model changed from {cliffs[-1].family}"
        if self.fallen and cliffs[-1].border < self.now:
            strips = self._strips(cliffs[-1].border, self.now)
            return "thinking of unknown origin" if strips else ""
        return ""

    def _why_billed(self, cliffs: list[Cliff], threshold: int) -> str:
        """Say that by the last bill the prompt comes near to the window, or nothing.

        Only where a cliff would have a gap's new turns to fold, as any other must.
        """
        case = self.case
        if self.fallen or case.bill is None or not case.window:
            return ""
        expected = next_prompt(case.bill, self.size(cliffs, self.now)).tokens
        if expected <= BILLED_SHARE * case.window or not self._folds(cliffs, threshold):
            return ""
        return f"{expected} of {case.window} tokens by the bill"

    def _folds(self, cliffs: list[Cliff], threshold: int) -> bool:
        """Tell whether enough has come since the last cliff for another one at the end."""
        wanted = last_cut(self.case.transcript, self.now - self.case.policy.keep_turns)
        enough = self.added(cliffs, self.now) >= self.gap(threshold)
        return enough and wanted > (cliffs[-1].cut if cliffs else 0)

    def _force(self, cliffs: list[Cliff], threshold: int, why: str) -> tuple[Cliff, ...] | None:
        """Open a new epoch at the end of the conversation, whatever its size.

        Where nothing new is folded, the cut stays and only thinking goes. None where no cliff can
        stand here. An open turn at the end is no obstacle: it stays whole but for its thinking.
        """
        cut = self.safe(self.forced_cut(cliffs, threshold, why), self.now)
        if cut is None:
            return None
        if cut == (cliffs[-1].cut if cliffs else 0):
            cliffs = self.again(cliffs, self.now, external=True)
        else:
            previous = cliffs[-1].cut if cliffs else 0
            cliffs = self.after(cliffs, self.build(cut, self.now, previous, external=True))
        self.fallen.append(cliffs[-1])
        return tuple(cliffs)


class Walking:
    """A strategy whose walk says all that there is to it.

    Attributes:
        name: The strategy's name.
        walks: Its kind of walk.
    """

    name: str
    walks: type[Walk]

    def walk(self, case: Case) -> Walk:
        """Return the walk over a case's borders, not yet taken."""
        return self.walks(case, self.name)

    def decide(self, case: Case) -> Decision:
        """Walk the borders that are new since the last cliff, then settle what forces one."""
        return self.walk(case).decide()


def last_cut(transcript: Transcript, wanted: int) -> int:
    """Return the last cut up to `wanted` that crosses no barrier and parts no call from its result.

    0 where there is none.
    """
    turns, barriers = transcript.turns, transcript.turns.sums.barriers
    cut = max(wanted, 0)
    if barriers[cut]:
        cut = bisect_left(barriers, 1) - 1
    while cut > 0 and not turns[cut - 1].closed:
        cut -= 1
    return cut


def safe_cut(transcript: Transcript, cut: int, border: int) -> int | None:
    """Return the first cut from `cut` on behind which thinking can go out of the kept turns.

    A message that holds nothing but thinking is left out whole. Where a system message would then
    stand before anything but an assistant message, the provider would refuse the list (Anthropic,
    "Mid-conversation system messages"), so the cut moves behind it.

    Returns:
        The cut, or None if there is none before `border`.
    """
    while cut < border:
        stranded = _stranded(transcript, cut, border)
        if stranded is None:
            return cut
        cut = max(cut, transcript.turns.index(stranded)) + 1
    return None


def _stranded(transcript: Transcript, cut: int, border: int) -> Turn | None:
    """Return the last kept turn whose emptied message would strand a system message."""
    found = None
    outlines = transcript.outlines
    before = outlines[transcript.head - 1]
    for turn in transcript.kept(cut, border):
        for i in range(turn.start, turn.stop):
            if not outlines[i].only_thinks:
                before = outlines[i]
                continue
            after = outlines[i + 1] if i + 1 < len(outlines) else None
            follows = after is not None and after.role is not Role.ASSISTANT
            if before.role is Role.SYSTEM and not before.empty and follows:
                found = turn
    return found
