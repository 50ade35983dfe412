"""One request from arrival to record: claim, plan, send, settle.

The engine decides and never acts: `Engine.exchange` yields commands to whoever drives it (see
`events`). Planning that fails for any reason is answered here, and only here, by failing open.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace

from cuesta.core.errors import RequestError
from cuesta.core.models import read_model
from cuesta.core.readings import Bill
from cuesta.core.usage import Usage
from cuesta.dialects.base import Dialect
from cuesta.dialects.refusals import Refusal, refusal, too_long
from cuesta.dialects.registry import DIALECTS, Claim, claim
from cuesta.exchange.events import (
    Accepted,
    Answered,
    Arrived,
    Command,
    Event,
    Exchange,
    Record,
    Refuse,
    Refused,
    Relay,
    Send,
)
from cuesta.exchange.fallback import fail_open
from cuesta.exchange.memory import Frozen, Recent, Seen, last_seen, size
from cuesta.exchange.options import CompactionOptions
from cuesta.exchange.planner import Attempt, Plan, Planner
from cuesta.exchange.reading import BLOCK, Reader
from cuesta.strategies.base import Strategy
from cuesta.strategies.registry import strategy as named
from cuesta.trace.event import TraceEvent

_NOTE_BYTES = 200
_BAD_REQUEST = 400
_FROZEN_BYTES = 16 << 20
_REQUESTS = 20_000
_UNCLAIMED = Plan(None, "pass", "not a conversation", "")


@dataclass(slots=True)
class _Visit:
    """One request on its way, and what the upstream has refused of it."""

    claim: Claim
    body: bytes
    upstream: str
    tenant: str
    rung: int = 0
    demand: str = ""
    bound_before: bool = False
    refused: list[Refusal] = field(default_factory=list)
    asked: list[Usage | None] = field(default_factory=list)
    attempt: Attempt = field(init=False)

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Begin another try, with what is known by now."""
        self.attempt = Attempt(
            self.body, self.claim.counts, self.rung, self.demand,
            upstream=self.upstream, tenant=self.tenant, asked=self.asked,
        )  # fmt: skip

    def forget(self) -> None:
        """Let go of the body: answers stream for minutes, and there are many."""
        self.body = self.attempt.body = b""


@dataclass(slots=True)
class _Books:
    """What enters a request's trace beside its plan."""

    dialect: str = ""
    conversation: str = ""
    previous: Seen | None = None
    refused: int = 0
    asked: Usage | None = None


class Engine:
    """Makes exchanges, and remembers between them what may be forgotten.

    Args:
        options: How requests are compacted.
        seed: Any number that a stranger cannot guess; the same bytes are sent whatever it is.
        strategy: When to drop; by default the one that the options name.
        dialects: The wire APIs by name.
        block: Bytes between two places at which a body's known beginning is recognised.

    Raises:
        ConfigError: If the options make no sense.
    """

    def __init__(
        self,
        options: CompactionOptions,
        *,
        seed: int = 0,
        strategy: Strategy | None = None,
        dialects: Mapping[str, Dialect] = DIALECTS,
        block: int = BLOCK,
    ) -> None:
        self._options = options
        self._frozen: Recent[bytes, Frozen] = Recent(_FROZEN_BYTES, size)
        self._seen: Recent[bytes, Seen] = Recent(_REQUESTS)
        chosen = strategy or named(options.strategy)
        self._planners = {
            name: Planner(
                Reader(dialect, options.realm(name), seed, block, harness=options.harness),
                chosen,
                options,
                (self._frozen, self._seen),
            )
            for name, dialect in dialects.items()
        }

    def exchange(self, arrived: Arrived) -> Exchange:
        """Handle one request; see `events` for how to drive it."""
        claimed = claim(arrived.method, arrived.path)
        if claimed is None or claimed.dialect not in self._planners:
            answered = yield Send(None, "")
            if not isinstance(answered, Answered):
                answered = yield Relay(note(_UNCLAIMED))
            yield Record(_event(arrived, answered, _UNCLAIMED, _Books()))
            return
        visit = _Visit(claimed, arrived.body, arrived.upstream, arrived.tenant)
        arrived = replace(arrived, body=b"")
        plan = yield from self._plan(visit)
        if self._options.strict:
            plan = yield from self._fitting(visit, plan)
        books = self._books(claimed, plan, arrived.at)
        if self._options.strict and _is_over(plan):
            plan = replace(plan, action="refuse", reason="over the window after every cliff")
            answered = yield Refuse(
                _BAD_REQUEST, too_long(claimed.dialect, plan.sent_tokens, plan.window), note(plan)
            )
        else:
            plan, answered = yield from self._sent(visit, plan)
        books.refused = len(visit.refused)
        billed = [usage for usage in visit.asked if usage is not None]
        books.asked = sum(billed, Usage()) if billed else None
        if not claimed.counts:
            self._keep_bill(plan, answered)
        yield Record(_event(arrived, answered, plan, books, shadow=self._options.shadow))

    def _sent(self, visit: _Visit, plan: Plan) -> Generator[Command, Event, tuple[Plan, Event]]:
        """Send a request, in other forms where one is refused, and have its answer relayed."""
        head = yield self._send(visit, plan)
        while isinstance(head, Refused):
            visit.refused.append(refusal(head.status, head.body))
            again = yield from self._other_form(visit, plan)
            if again is None:
                break
            plan = again
            head = yield self._send(visit, plan)
        self._learn(visit, plan, head)
        remark = note(plan, shadow=self._options.shadow)
        visit.forget()
        plan = replace(plan, body=None)
        return plan, head if isinstance(head, Answered) else (yield Relay(remark))

    def _send(self, visit: _Visit, plan: Plan) -> Send:
        return Send(None if self._options.shadow else plan.body, visit.claim.dialect)

    def _plan(self, visit: _Visit) -> Generator[Command, Event, Plan]:
        """Plan, or fail open: the one guard around steps 3 to 6."""
        claimed = visit.claim
        visit.begin()
        try:
            return (yield from self._planners[claimed.dialect].plan(visit.attempt))
        except RequestError as error:
            return Plan(None, "pass", f"not readable: {error}", "")
        except Exception as error:  # noqa: BLE001 - any bug here must not break a session
            reason = type(error).__name__
            if self._options.shadow:
                return Plan(None, "failed", reason, "")
            return (yield from self._fail_open(visit, reason))

    def _fail_open(self, visit: _Visit, reason: str) -> Generator[Command, Event, Plan]:
        """Send the nearest form that is known to be valid."""
        found = yield from fail_open(
            visit.body,
            visit.claim.dialect,
            self._frozen,
            tenant=visit.tenant,
            committing=visit.attempt.committing,
        )
        return Plan(found.body, "failed", f"{reason}; sent the {found.form}", "")

    def _other_form(self, visit: _Visit, plan: Plan) -> Generator[Command, Event, Plan | None]:
        """Find another form after a refusal, or None: the client gets the refusal.

        A refused form counts as never sent.
        """
        about = visit.refused[-1]
        if self._options.shadow:
            return None
        visit.demand = about.value
        if about is Refusal.OVERFLOW and plan.action in {"keep", "replace"}:
            return (yield from self._shorter_form(visit, plan))
        if visit.refused.count(about) > 1:
            return None
        if about is Refusal.THINKING:
            return (yield from self._other_treatment(visit, plan))
        if about is Refusal.FORM and plan.action == "replace" and plan.new:
            return (yield from self._fail_open(visit, "the form was refused"))
        return None

    def _fitting(self, visit: _Visit, plan: Plan) -> Generator[Command, Event, Plan]:
        """Go down the ladder before anything is sent, as far as it takes to fit the window."""
        while _is_over(plan):
            visit.demand = Refusal.OVERFLOW.value
            again = yield from self._shorter_form(visit, plan)
            if again is None:
                break
            plan = again
        return plan

    def _shorter_form(self, visit: _Visit, plan: Plan) -> Generator[Command, Event, Plan | None]:
        """Go one rung down the ladder, from the original transcript."""
        visit.rung = self._planners[visit.claim.dialect].rung_below(plan)
        again = yield from self._plan(visit)
        return again if again.sent_tokens < plan.sent_tokens else None

    def _other_treatment(self, visit: _Visit, plan: Plan) -> Generator[Command, Event, Plan | None]:
        """Treat thinking in the other way.

        Before the first cliff it can only go, and only where the model checks prefixes: the ledger
        may have forgotten an external cliff that it was produced behind. The client cannot know of
        one, and would never get an answer again.
        """
        if plan.action == "replace":
            self._turn_treatment(visit, plan)
            return (yield from self._plan(visit))
        planner = self._planners[visit.claim.dialect]
        if plan.action != "keep" or not planner.binds_thinking(visit.attempt, plan.model):
            return None
        again = yield from self._plan(visit)
        return again if again.action == "replace" else None

    def _turn_treatment(self, visit: _Visit, plan: Plan) -> None:
        """Take all thinking out where some was left, and leave it in where none was."""
        last = plan.cliffs[-1]
        none_left = last.strip and last.messages == len(plan.links)
        planner = self._planners[visit.claim.dialect]
        visit.bound_before = planner.binds_thinking(visit.attempt, plan.model)
        planner.treat_thinking(visit.attempt, plan.model, binds=not none_left)

    def _learn(self, visit: _Visit, plan: Plan, head: Event) -> None:
        """Forget the other treatment of thinking where it was refused as well."""
        if visit.refused.count(Refusal.THINKING) > 1 and not isinstance(head, Accepted):
            planner = self._planners[visit.claim.dialect]
            planner.treat_thinking(visit.attempt, plan.model, binds=visit.bound_before)

    def _books(self, claimed: Claim, plan: Plan, at: float) -> _Books:
        """Name the request's conversation, and remember the request for the next one.

        The name is the head's: a resumed conversation keeps it, and so do its branches.
        """
        if claimed.counts or not plan.links:
            return _Books(claimed.dialect)
        seen = last_seen(self._seen, plan.links)
        self._seen.put(plan.links[-1], Seen(plan.raw_tokens, at))
        return _Books(claimed.dialect, plan.links[plan.head - 1].hex()[:8], seen)

    def _keep_bill(self, plan: Plan, answered: Event) -> None:
        """Remember what a request was billed, for the next one's reading."""
        seen = self._seen.get(plan.links[-1]) if plan.links else None
        usage = answered.usage if isinstance(answered, Answered) else None
        if seen is not None and usage is not None and not self._options.shadow:
            bill = Bill(usage.prompt, plan.sent_tokens)
            family = read_model(plan.model).key
            self._seen.put(plan.links[-1], replace(seen, family=family, bill=bill))


def _is_over(plan: Plan) -> bool:
    """Tell whether what would be sent is estimated to be over a known window."""
    return plan.action in {"keep", "replace"} and 0 < plan.window < plan.sent_tokens


def note(plan: Plan, *, shadow: bool = False) -> str:
    """Say in ASCII and at most 200 bytes what was done with a request, and why.

    Args:
        plan: What was planned.
        shadow: Whether it was only planned, and the request left as it came.
    """
    words = [f"shadow, would {plan.action}" if shadow else plan.action, plan.reason]
    if plan.action == "replace":
        words.append(f"{plan.raw_tokens} -> {plan.sent_tokens} tokens")
        words.append(f"cliffs {len(plan.cliffs)}{_news(plan)}")
    text = "; ".join(words).encode("ascii", "replace").decode()
    return "".join(c if c.isprintable() else "?" for c in text)[:_NOTE_BYTES]


def _news(plan: Plan) -> str:
    """Say whether the cliff in force falls with this request: what the model sees changes."""
    if not plan.new:
        return ""
    return ", new and external" if plan.cliffs[-1].external else ", new"


def _event(
    arrived: Arrived, answered: Event, plan: Plan, books: _Books, *, shadow: bool = False
) -> TraceEvent:
    if not isinstance(answered, Answered):
        raise TypeError(f"{type(answered).__name__} does not end a request")
    previous = books.previous
    return TraceEvent(
        at=arrived.at,
        conversation=books.conversation,
        dialect=books.dialect,
        path=arrived.path,
        model=plan.model,
        action=plan.action,
        reason=plan.reason,
        messages=len(plan.links),
        cliffs=len(plan.cliffs),
        new_cliff=plan.new,
        external=bool(plan.cliffs) and plan.cliffs[-1].external,
        raw_tokens=plan.raw_tokens,
        sent_tokens=plan.sent_tokens,
        previous_raw_tokens=previous.raw_tokens if previous else 0,
        previous_at=previous.at if previous else 0.0,
        threshold=plan.threshold,
        strategy=plan.strategy,
        status=answered.status,
        usage=answered.usage,
        subscription=_is_subscription(arrived),
        refused=books.refused,
        asked=books.asked,
        seconds=answered.at - arrived.at,
        aborted=answered.aborted,
        run=arrived.run,
        shadow=shadow,
    )


def _is_subscription(arrived: Arrived) -> bool:
    """Tell whether a request carries a login: a bearer token that is no API key."""
    headers = dict(arrived.headers)
    bearer = headers.get("authorization", "").lower()
    return "x-api-key" not in headers and bearer.startswith("bearer sk-ant-oat")
