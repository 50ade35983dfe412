"""The OpenHands SDK: a condenser that folds a conversation's events into a digest.

    agent = Agent(llm=llm, tools=tools, condenser=CuestaCondenser(threshold=32_000))

The log of events stays whole, and so does the view that the SDK keeps of it: no event is ever
forgotten, so that each digest is made from the original events and the conversation may be resumed
anywhere. What the model sees is a shorter view, made anew before each request. Each cliff is noted
in the log, as a `Condensation` that forgets nothing and holds the digest.

Source: 1.58.2, `context/condenser/base.py`, `context/view/view.py`, `event/condenser.py`. A
condenser may return a view instead of a condensation; a condensation would take the events out of
all later views, and with them what the next digest is made from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from openhands.sdk.context.condenser.base import CondenserBase, NoCondensationAvailableException
from openhands.sdk.context.view import View
from openhands.sdk.event import Condensation, CondensationSummaryEvent, SystemPromptEvent
from openhands.sdk.event.base import LLMConvertibleEvent
from openhands.sdk.llm import LLM
from pydantic import PrivateAttr

from cuesta.core.models import read_model
from cuesta.exchange.options import CompactionOptions
from cuesta.exchange.planner import Plan
from cuesta.integrations.base import Adapter
from cuesta.integrations.cuts import Cut

Events = Sequence[LLMConvertibleEvent]


class CuestaCondenser(CondenserBase):
    """A condenser in place of the SDK's own.

    Attributes:
        threshold: Drop above this many tokens, tools and system prompt included; 0 chooses by the
            conversation.
        window: The model's context window in tokens; 0 goes by the model's name.
        profile: `default` or `paper`.
        strategy: When to drop, and from where.

    Raises:
        ConfigError: If a number makes no sense.
    """

    threshold: int = 0
    window: int = 0
    profile: Literal["default", "paper"] = "default"
    strategy: Literal["cliff", "sliding_window", "keep_all"] = "cliff"
    _adapter: Adapter = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:  # noqa: ANN401 - pydantic's
        """Make what compacts."""
        super().model_post_init(context)
        self._adapter = Adapter(
            CompactionOptions(
                threshold=self.threshold,
                window=self.window,
                profile=self.profile,
                strategy=self.strategy,
                harness="none",
            )
        )

    @property
    def adapter(self) -> Adapter:
        """What compacts, with what it counted."""
        return self._adapter

    def handles_condensation_requests(self) -> bool:
        """Tell that a prompt which did not fit is made shorter."""
        return True

    def condense(self, view: View, agent_llm: LLM | None = None) -> View | Condensation:
        """Return the view to send in place of the whole one, or the note of a new cliff.

        Args:
            view: All events of the conversation; left as it is.
            agent_llm: The agent's model; without one nothing is folded.

        Raises:
            NoCondensationAvailableException: If a shorter form is demanded and there is none.
        """
        if agent_llm is None:
            return view
        request = _request(view.events, agent_llm)
        wanted = view.unhandled_condensation_request
        wire = "anthropic" if read_model(agent_llm.model).claude else "openai_chat"
        cut = self._adapter.cut(request, wire, refused=wanted)
        if cut is None and wanted:
            raise NoCondensationAvailableException("Cuesta has no shorter form of this history")
        if cut is None:
            return view
        if wanted or _falls_now(self._adapter.plan):
            named = f"cuesta-{len(request['messages'])}"
            return Condensation(summary=cut.digest, llm_response_id=named)
        return View(events=_shown(view.events, cut))


def _falls_now(plan: Plan | None) -> bool:
    """Tell whether the cliff in force falls with this very request; else it was derived again."""
    return plan is not None and plan.new and plan.cliffs[-1].messages == len(plan.links)


def _request(events: Events, llm: LLM) -> dict[str, Any]:
    """Return what the SDK would send for events, as Chat Completions."""
    messages = llm.format_messages_for_llm(LLMConvertibleEvent.events_to_messages(list(events)))
    tools = [
        tool.to_openai_tool(add_security_risk_prediction=True)
        for event in events
        if isinstance(event, SystemPromptEvent)
        for tool in event.tools
    ]
    return {"model": llm.model, "messages": messages, "tools": tools}


def _shown(events: Events, cut: Cut) -> list[LLMConvertibleEvent]:
    """Return the events that the model sees: those of the messages that stay, and the digest."""
    begins = [*_beginnings(events), len(events)]
    shown: list[LLMConvertibleEvent] = []
    for place in cut.kept:
        kept = events[begins[place] : begins[place + 1]]
        shown += map(_without_thinking, kept) if place < cut.bare else kept
        if place == cut.anchor:
            shown.append(CondensationSummaryEvent(summary=cut.digest, source="environment"))
    return shown


def _beginnings(events: Events) -> list[int]:
    """Return the first event of each message: the SDK joins some with the one before."""
    join = LLMConvertibleEvent.events_to_messages
    return [i for i in range(len(events)) if not i or len(join(list(events[i - 1 : i + 1]))) > 1]


def _without_thinking(event: LLMConvertibleEvent) -> LLMConvertibleEvent:
    """Return an event without the thinking that was produced behind another prefix."""
    if getattr(event, "thinking_blocks", None):
        return event.model_copy(update={"thinking_blocks": []})
    return event
