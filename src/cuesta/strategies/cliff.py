"""The cliff: let the context grow untouched, then drop it in one step.

The paper's own strategy (Algorithm 1). What is folded leaves a digest of literal pieces, made from
the original turns since the cliff before; `walk` says how its borders are found.
"""

from __future__ import annotations

from cuesta.core.ledger import Cliff
from cuesta.core.policy import TIGHT_MULTIPLE
from cuesta.strategies.walk import Walk, Walking, last_cut


class CliffWalk(Walk):
    """A cliff falls where the context passes the threshold, and folds all but the last K turns."""

    def falls(
        self, cliffs: list[Cliff], border: int, size: int, threshold: int
    ) -> tuple[Cliff | None, str]:
        """See `Walk.falls`."""
        waits = self.waits(border, size, threshold)
        if waits:
            return None, waits
        added, gap = self.added(cliffs, border), self.gap(threshold)
        if added < gap:
            return None, f"{added} of {gap} tokens since the last cliff"
        previous = cliffs[-1].cut if cliffs else 0
        wanted = last_cut(self.case.transcript, border - self.case.policy.keep_turns)
        if wanted <= previous:
            return None, "nothing to fold"
        cut = self.safe(wanted, border)
        if cut is None:
            return None, "the kept turns hold nothing but thinking"
        cliff = self.build(cut, border, previous, external=self.moved(cliffs))
        if self.size([cliff], border) >= size:
            return None, "folding would not make it smaller"
        return cliff, f"{size} over {threshold} tokens" + self._tight(cliff)

    def _tight(self, cliff: Cliff) -> str:
        """Warn of a threshold that head and tail nearly fill."""
        kept = self.head + self.kept(cliff.cut, cliff.border)
        return ", threshold is tight" if cliff.threshold < TIGHT_MULTIPLE * kept else ""


class CliffStrategy(Walking):
    """The paper's strategy."""

    name = "cliff"
    walks = CliffWalk
