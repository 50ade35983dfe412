"""Never drop anything: what every agent does without Cuesta."""

from __future__ import annotations

from cuesta.core.ledger import Cliff
from cuesta.strategies.base import Case, Decision, Keep
from cuesta.strategies.walk import Walk, Walking


class _Stay(Walk):
    def falls(
        self, cliffs: list[Cliff], border: int, size: int, threshold: int
    ) -> tuple[Cliff | None, str]:
        del cliffs, border, size, threshold
        return None, "strategy keep_all"

    def _why_billed(self, cliffs: list[Cliff], threshold: int) -> str:
        del cliffs, threshold
        return ""

    def forced_cut(self, cliffs: list[Cliff], threshold: int, why: str) -> int:
        """Drop no more than was dropped."""
        del threshold, why
        return cliffs[-1].cut if cliffs else 0


class KeepAll(Walking):
    """The strategy that keeps all.

    A conversation that another strategy has cut already keeps its cut: thinking was produced behind
    it, and the provider would refuse that behind the whole conversation.
    """

    name = "keep_all"
    walks = _Stay

    def decide(self, case: Case) -> Decision:
        """Keep all, or what is left."""
        if case.known is None or not (case.known.cliffs or case.known.foreign):
            return Keep("strategy keep_all")
        return super().decide(case)
