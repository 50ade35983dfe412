"""Microcompaction: calls stay and so do the latest results; older results are cleared in batches.

The paper's section 6, after Anthropic's `clear_tool_uses`: it "clears the contents of old tool
observations while preserving the corresponding tool calls and the most recent observations
verbatim", and "fires whenever at least W tokens of reclaimable observation content have
accumulated". So the threshold has no part in it. The results of the last K turns stay.
"""

from __future__ import annotations

from cuesta.core.ledger import Cliff
from cuesta.strategies.walk import Walk, Walking


class Clearing(Walk):
    """A clearing is a cliff that cuts nothing more: what was sent changes at it, and then grows."""

    def clears(self, cliffs: list[Cliff], border: int) -> tuple[Cliff | None, str]:
        """Clear at a border if enough has piled up; else say why not."""
        piled, wanted = self._piled(cliffs, border), max(1, self.case.policy.reclaim_tokens)
        if piled < wanted:
            return None, f"{max(0, piled)} of {wanted} tokens of results to clear"
        if not self.case.transcript.turns[border - 1].closed:
            return None, "a call is still open"
        cut = cliffs[-1].cut if cliffs else 0
        if self.safe(cut, border) != cut:
            return None, "taking thinking out would break the list"
        cliff = self.again(cliffs, border, external=self.moved(cliffs))[-1]
        if self.size([cliff], border) >= self.size(cliffs, border):
            return None, "clearing would not make it smaller"
        return cliff, f"{piled} tokens of results cleared"

    def after(self, cliffs: list[Cliff], cliff: Cliff) -> list[Cliff]:
        """Remember of several clearings behind one cut the last only."""
        rest = cliffs[:-1] if cliffs and cliffs[-1].cut == cliff.cut else cliffs
        return [*rest, cliff]

    def cleared_at(self, border: int) -> int:
        """Return the first of the last K turns."""
        return max(0, border - self.case.policy.keep_turns)

    def _piled(self, cliffs: list[Cliff], border: int) -> int:
        """Estimate what a clearing at a border would save beyond the one in force."""
        cut, cleared = (cliffs[-1].cut, cliffs[-1].cleared) if cliffs else (0, 0)
        turns = self.case.transcript.turns
        now = turns.reclaimed(cut, self.cleared_at(border))
        return now - turns.reclaimed(cut, cleared)


class ClearingWalk(Clearing):
    """Clearings, and nothing else."""

    def falls(
        self, cliffs: list[Cliff], border: int, size: int, threshold: int
    ) -> tuple[Cliff | None, str]:
        """See `Walk.falls`."""
        del size, threshold
        return self.clears(cliffs, border)

    def forced_cut(self, cliffs: list[Cliff], threshold: int, why: str) -> int:
        """Drop no more than was dropped."""
        del threshold, why
        return cliffs[-1].cut if cliffs else 0

    def _folds(self, cliffs: list[Cliff], threshold: int) -> bool:
        """Let no bill bring a clearing forward: what it could save has been cleared."""
        del cliffs, threshold
        return False


class Microcompaction(Walking):
    """The strategy that clears old results and drops no turn."""

    name = "microcompaction"
    walks = ClearingWalk
