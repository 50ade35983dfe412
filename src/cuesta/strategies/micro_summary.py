"""Microcompaction first; where that is not enough, a summary.

The paper's section 6, after Claude Code's own scheme: results are cleared whenever W tokens of them
have piled up, and "when microcompaction is insufficient, an LLM summarizer rewrites the older
turns". Insufficient: what would be sent is past the threshold all the same.
"""

from __future__ import annotations

from cuesta.core.ledger import Cliff
from cuesta.strategies.base import Case, Decision
from cuesta.strategies.microcompaction import ClearingWalk
from cuesta.strategies.summary import SummaryWalk
from cuesta.strategies.walk import Walk


class MicroSummary:
    """The strategy that clears, and has the model write a summary at the threshold."""

    name = "micro_summary"

    def walk(self, case: Case) -> Walk:
        """Return the walk over a case, not yet taken."""
        return _TwoTiers(case, self.name)

    def decide(self, case: Case) -> Decision:
        """Walk, clear and sum up; see `Summary.decide`."""
        return self.walk(case).decide()


class _TwoTiers(SummaryWalk, ClearingWalk):
    def falls(
        self, cliffs: list[Cliff], border: int, size: int, threshold: int
    ) -> tuple[Cliff | None, str]:
        cleared, reason = self.clears(cliffs, border)
        if cleared is not None:
            size = self.size([cleared], border)
        if self.waits(border, size, threshold):
            return cleared, reason
        summary, why = super().falls(cliffs, border, size, threshold)
        return (cleared, reason) if summary is None and cleared is not None else (summary, why)

    def added(self, cliffs: list[Cliff], border: int) -> int:
        """Estimate what a summary would fold: a clearing in between folds nothing."""
        cut = cliffs[-1].cut if cliffs else 0
        return self.tokens[max(cut, self.cleared_at(border))] - self.tokens[cut]

    def forced_cut(self, cliffs: list[Cliff], threshold: int, why: str) -> int:
        """Fold what a summary would fold."""
        return Walk.forced_cut(self, cliffs, threshold, why)

    def _folds(self, cliffs: list[Cliff], threshold: int) -> bool:
        return Walk._folds(self, cliffs, threshold)  # noqa: SLF001 - this one's own base
