"""Summarisation: the model sums the older turns up, and its words stand in their place.

The paper's section 6: it "replaces the older turns with an LLM-generated summary". Where it falls
is the cliff's rule; the summary before goes into the next one, as summarisers do: what was lost in
one is lost in all that follow. How long a summary will be nobody knows before, so a walk over
several borders takes a length of its own for those that were never written.
"""

from __future__ import annotations

from dataclasses import replace

from cuesta.core.digest import NOTHING, Rendered
from cuesta.core.ledger import Cliff
from cuesta.strategies.base import AskModel, Decision, Replace
from cuesta.strategies.cliff import CliffWalk
from cuesta.strategies.walk import Walking

SUMMARY_TOKENS = 1_500
"""What a summary is taken to weigh before it is written: the length model of replays."""


class SummaryWalk(CliffWalk):
    """A cliff's walk whose digests are yet to be written."""

    def stands(self, previous: int, cut: int, threshold: int) -> Rendered:
        """Guess the size of a summary."""
        del threshold
        return Rendered("", SUMMARY_TOKENS, "") if cut > previous else NOTHING

    def build(self, cut: int, border: int, previous: int, *, external: bool) -> Cliff:
        """See `Walk.build`."""
        cliff = super().build(cut, border, previous, external=external)
        return replace(cliff, summary=cliff.digest_tokens > 0)

    def decide(self) -> Decision:
        """Ask for the last summary alone: those that the walk only guessed at were never sent."""
        decision = super().decide()
        if not isinstance(decision, Replace) or not decision.new:
            return decision
        *before, last = decision.cliffs
        if not _is_unwritten(last):
            return decision
        sent = [cliff for cliff in before if not _is_unwritten(cliff)]
        late = len(sent) < len(before) or last.border < self.now
        last = replace(last, external=last.external or late)
        return AskModel((*sent, last), decision.reason)


def _is_unwritten(cliff: Cliff) -> bool:
    return cliff.summary and not cliff.digest


class Summary(Walking):
    """The strategy that has the model write a summary at the threshold. It costs a call."""

    name = "summary"
    walks = SummaryWalk
