"""Never drop anything: what every agent does without Cuesta."""

from __future__ import annotations

from cuesta.strategies.base import Case, Decision, Keep


class KeepAll:
    """The strategy that keeps all."""

    name = "keep_all"

    def decide(self, case: Case) -> Decision:  # noqa: ARG002 - the interface of all strategies
        """Keep."""
        return Keep("strategy keep_all")
