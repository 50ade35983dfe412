"""The sliding window: the head and the most recent turns that fit, at the ceiling on every step.

The paper's section 6: it "drops the oldest turns, keeping a fixed system/task prefix plus the most
recent turns that fit within the context budget". Nothing stands in place of what is dropped, the
last turn always stays, and there is no gap between one drop and the next: that is what it costs.
"""

from __future__ import annotations

from cuesta.core.digest import NOTHING, Rendered
from cuesta.core.ledger import Cliff
from cuesta.strategies.walk import Walk, Walking


class _Slide(Walk):
    def falls(
        self, cliffs: list[Cliff], border: int, size: int, threshold: int
    ) -> tuple[Cliff | None, str]:
        waits = self.waits(border, size, threshold)
        if waits:
            return None, waits
        previous = cliffs[-1].cut if cliffs else 0
        cut = self.safe(self._fitting(previous, border, threshold), border)
        if cut is None:
            return None, "the kept turns hold nothing but thinking"
        if cut <= previous:
            return None, "nothing to drop"
        cliff = self.build(cut, border, previous, external=self.moved(cliffs))
        if self.size([cliff], border) >= size:
            return None, "dropping would not make it smaller"
        return cliff, f"{size} over {threshold} tokens"

    def forced_cut(self, cliffs: list[Cliff], threshold: int, why: str) -> int:
        """Fit the window; drop all but the last K turns where the estimate is not to be trusted."""
        last = super().forced_cut(cliffs, threshold, why)
        if self.case.demand or "by the bill" in why:
            return last
        previous = cliffs[-1].cut if cliffs else 0
        over = threshold > 0 and self.size(cliffs, self.now) > threshold
        return self._fitting(previous, self.now, threshold) if over else previous

    def after(self, cliffs: list[Cliff], cliff: Cliff) -> list[Cliff]:
        """Remember the last one only: there is one at nearly every step."""
        del cliffs
        return [cliff]

    def stands(self, previous: int, cut: int, threshold: int) -> Rendered:
        """Let nothing stand in place of what is dropped."""
        del previous, cut, threshold
        return NOTHING

    def _fitting(self, previous: int, border: int, threshold: int) -> int:
        """Return the first cut behind which all fits, or the last one that may be."""
        turns, barriers = self.case.transcript.turns, self.case.transcript.turns.sums.barriers
        found = previous
        for cut in range(previous + 1, border):
            if barriers[cut]:
                break
            if not turns[cut - 1].closed:
                continue
            found = cut
            if self._bare(cut, border) <= threshold:
                break
        return found

    def _bare(self, cut: int, border: int) -> int:
        """Estimate what a cut at a border leaves to send."""
        gone = self.thought(cut, border) if self.case.binds_thinking else 0
        return self.head + self.kept(cut, border) - gone


class SlidingWindow(Walking):
    """The strategy that drops the oldest turns, as few as it takes, whenever it takes any."""

    name = "sliding_window"
    walks = _Slide
