"""How large a prompt is, and how that is known.

An estimate is computed from what a client sends. A bill is what the provider charged, and holds
what no client sees as well: words the provider adds, thinking that is sealed or told only as a
summary. The difference between the two moves slowly, so one bill makes the next reading a good
one. Readings are for people, for windows and for the laboratory; where a cliff falls is the
estimate's to decide, alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Basis(Enum):
    """How a reading is known."""

    ESTIMATED = "estimated"
    CALIBRATED = "calibrated"
    BILLED = "billed"


@dataclass(frozen=True, slots=True)
class Reading:
    """The size of one prompt.

    Attributes:
        tokens: The size.
        basis: How it is known.
    """

    tokens: int
    basis: Basis


@dataclass(frozen=True, slots=True)
class Bill:
    """What was billed for a prompt that was estimated.

    Attributes:
        prompt: Billed prompt tokens, cached and uncached.
        estimate: What the meter had said of that prompt.
    """

    prompt: int
    estimate: int

    @property
    def reading(self) -> Reading:
        """The bill itself."""
        return Reading(self.prompt, Basis.BILLED)


def next_prompt(bill: Bill | None, estimate: int) -> Reading:
    """Foretell what a prompt will be billed from the bill of an earlier one of its conversation.

    A prompt that grew is the old bill and the estimate of what came on top. Of one that shrank (a
    cliff fell, a tool went) the bill keeps the share that the estimate kept: what the estimate
    missed may have gone with what was dropped. Where the model changed there is no bill to go by.

    Args:
        bill: The last bill of the same conversation on the same model, or None.
        estimate: The meter's figure for the prompt to be sent, in tokens.
    """
    if bill is None or bill.prompt <= 0:
        return Reading(estimate, Basis.ESTIMATED)
    if estimate >= bill.estimate:
        return Reading(bill.prompt + estimate - bill.estimate, Basis.CALIBRATED)
    return Reading(bill.prompt * max(estimate, 0) // bill.estimate, Basis.CALIBRATED)
