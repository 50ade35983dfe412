"""Microcompaction first; where that is not enough, a summary.

The paper's section 6, after Claude Code's own scheme: results are cleared whenever W tokens of them
have piled up, and "when microcompaction is insufficient, an LLM summarizer rewrites the older
turns". Insufficient: what would be sent is past the threshold all the same.
"""

from __future__ import annotations

from cuesta.core.ledger import Cliff
from cuesta.strategies.microcompaction import Clearing
from cuesta.strategies.summary import SummaryWalk
from cuesta.strategies.walk import Walking


class _TwoTiers(SummaryWalk, Clearing):
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


class MicroSummary(Walking):
    """The strategy that clears, and has the model write a summary at the threshold."""

    name = "micro_summary"
    walks = _TwoTiers
