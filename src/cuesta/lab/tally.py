"""What a saved session holds, counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from cuesta.core.transcript import BlockKind
from cuesta.core.usage import Usage
from cuesta.lab.activity import activity
from cuesta.lab.prepared import Prepared
from cuesta.lab.tariff import Prices, Tariff


@dataclass(frozen=True, slots=True)
class Tally:
    """A session, counted. What an earlier session of the same file holds too is not.

    Attributes:
        path: The file, with the member's name behind `::` in an archive.
        harness: The agent program.
        session: The session's name in its file.
        model: The model of its first call, or empty.
        time: When it began, in seconds since the Unix epoch; 0: not known.
        calls: Model calls.
        billed_calls: Those of them whose bill the file tells.
        turns: Turns: a model step and what answers it.
        human: Messages in which a person speaks.
        tool_calls: Tool calls.
        peak: The largest billed prompt, in tokens; without bills the largest estimated one.
        usage: The sum of the bills.
        cost: What that cost at list prices, in US dollars; None where nothing was billed or a
            model has no price.
        activity: What it did, one letter a call (see `activity`).
        compactions: The numbers of the calls before which its harness compacted its history.
    """

    path: str
    harness: str
    session: str
    model: str
    time: float
    calls: int
    billed_calls: int
    turns: int
    human: int
    tool_calls: int
    peak: int
    usage: Usage
    cost: float | None
    activity: str = ""
    compactions: tuple[int, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the tally as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Tally:
        """Read what `to_dict` wrote."""
        usage, compactions = Usage(**values["usage"]), tuple(values["compactions"])
        return cls(**{**values, "usage": usage, "compactions": compactions})


def tally(path: str, prepared: Prepared, prices: Prices) -> Tally:
    """Count a session.

    Args:
        path: Where it was read from.
        prepared: The session.
        prices: What tokens cost.
    """
    session, calls = prepared.session, prepared.calls
    asked = [(call.model, call.usage) for call in calls if call.usage is not None]
    models, bills = [model for model, _ in asked], [bill for _, bill in asked]
    account = Tariff(prices, models).account(models, bills)
    prompts = [bill.prompt for bill in bills] or [prepared.prompt(call) for call in calls]
    outlines = prepared.transcript.outlines
    return Tally(
        path=path,
        harness=session.harness,
        session=session.name,
        model=calls[0].model if calls else "",
        time=next((call.time for call in calls if call.time), 0.0),
        calls=len(calls),
        billed_calls=len(bills),
        turns=sum(turn.start >= session.shared for turn in prepared.transcript.turns),
        human=sum(outline.human for outline in outlines[session.shared :]),
        tool_calls=sum(
            block.kind is BlockKind.CALL
            for message in prepared.read[session.shared :]
            for block in message.blocks
        ),
        peak=max(prompts, default=0),
        usage=account.usage,
        cost=account.cost if bills else None,
        activity=activity(prepared),
        compactions=session.compactions,
    )
