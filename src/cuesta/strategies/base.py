"""What a strategy is asked and what it may answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from cuesta.core.digest import Rendered
from cuesta.core.ledger import Cliff, Entry
from cuesta.core.models import Model
from cuesta.core.policy import Policy
from cuesta.core.readings import Bill
from cuesta.core.transcript import Transcript

if TYPE_CHECKING:
    from cuesta.strategies.walk import Walk

Renderer: TypeAlias = Callable[[int, int, int], Rendered]
"""(previous cut, cut, threshold in tokens) -> the digest of the turns between the two cuts."""


@dataclass(frozen=True, slots=True)
class Case:
    """One request, as a strategy sees it.

    Attributes:
        transcript: The client's own conversation, whole.
        fixed: Estimated tokens of system prompt and tools, rounded as the policy says.
        model: The model that is asked.
        window: Its context window in tokens, or None where it is not known.
        policy: The knobs in force for a new cliff.
        known: What the ledger holds for the longest prefix of this conversation, or None.
        answered: Whether that prefix is the whole conversation: the same request came before.
        render: Renders the digest of a stretch of turns under `policy`.
        binds_thinking: Whether the model refuses thinking produced behind another prefix.
        demand: Why what the ledger holds cannot be served as it stands, or empty.
        bill: What the conversation's last request was billed on this model, or None.
        otherwise: Whether its beginning would now be read in another text protocol.
    """

    transcript: Transcript
    fixed: int
    model: Model
    window: int | None
    policy: Policy
    known: Entry | None
    answered: bool
    render: Renderer
    binds_thinking: bool
    demand: str = ""
    bill: Bill | None = None
    otherwise: bool = False


@dataclass(frozen=True, slots=True)
class Keep:
    """Send the client's own bytes.

    Attributes:
        reason: Why, in a few words.
        threshold: The threshold that was looked at, in tokens; 0 where none was fixed yet.
    """

    reason: str
    threshold: int = 0


@dataclass(frozen=True, slots=True)
class Replace:
    """Send a compacted form.

    Attributes:
        cliffs: All cliffs, the last one in force.
        new: Whether the last one falls with this request.
        reason: Why, in a few words.
    """

    cliffs: tuple[Cliff, ...]
    new: bool
    reason: str


@dataclass(frozen=True, slots=True)
class AskModel:
    """Send a compacted form in which a summary stands that the model has yet to write.

    Attributes:
        cliffs: All cliffs, the last one falling with this request: its `digest` is empty, and its
            `digest_tokens` a guess.
        reason: Why, in a few words.
    """

    cliffs: tuple[Cliff, ...]
    reason: str


Decision: TypeAlias = Keep | Replace | AskModel


class Strategy(Protocol):
    """When to drop, and from where. Pure: the same case gives the same decision."""

    name: str

    def walk(self, case: Case) -> Walk:
        """Return the walk over a case's borders, not yet taken."""

    def decide(self, case: Case) -> Decision:
        """Decide what is sent for a request."""
