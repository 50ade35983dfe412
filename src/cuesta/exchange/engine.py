"""One request from arrival to record: claim, plan, send, settle.

The engine decides and never acts: `Engine.exchange` yields commands to whoever drives it (see
`events`). Planning that fails for any reason is answered here, and only here, by failing open.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass

from cuesta.core.errors import RequestError
from cuesta.dialects.base import Dialect
from cuesta.dialects.registry import DIALECTS, Claim, claim
from cuesta.exchange.events import Answered, Arrived, Command, Event, Exchange, Record, Send
from cuesta.exchange.fallback import fail_open
from cuesta.exchange.memory import Frozen, Recent, Seen, size
from cuesta.exchange.options import CompactionOptions
from cuesta.exchange.planner import Attempt, Plan, Planner
from cuesta.strategies.base import Strategy
from cuesta.strategies.cliff import CliffStrategy
from cuesta.trace.event import TraceEvent

_NOTE_BYTES = 200
_UNCLAIMED = Plan(None, "pass", "not a conversation", "")


@dataclass(frozen=True, slots=True)
class _Settled:
    """What of a conversation's past enters its trace."""

    conversation: str = ""
    previous: Seen | None = None


class Engine:
    """Makes exchanges, and remembers between them what may be forgotten.

    Args:
        options: How requests are compacted.
        seed: Any number that a stranger cannot guess; the same bytes are sent whatever it is.
        strategy: When to drop.
        dialects: The wire APIs by name.

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
    ) -> None:
        self._frozen: Recent[bytes, Frozen] = Recent(64 << 20, size)
        self._seen: Recent[bytes, Seen] = Recent(50_000)
        chosen = strategy or CliffStrategy()
        self._planners = {
            name: Planner(dialect, chosen, options, self._frozen, seed)
            for name, dialect in dialects.items()
        }

    def exchange(self, arrived: Arrived) -> Exchange:
        """Handle one request; see `events` for how to drive it."""
        claimed = claim(arrived.method, arrived.path)
        if claimed is None or claimed.dialect not in self._planners:
            plan = _UNCLAIMED
        else:
            plan = yield from self._plan(claimed, arrived.body)
        counts = claimed is None or claimed.counts or not plan.links
        past = _Settled() if counts else self._past(plan)
        if past.conversation:
            seen = Seen(past.conversation, plan.raw_tokens, arrived.at)
            self._seen.put(plan.links[-1], seen)
        answered = yield Send(plan.body, note(plan), claimed.dialect if claimed else "")
        if isinstance(answered, Answered):
            yield Record(_event(arrived, answered, claimed, plan, past))

    def _plan(self, claimed: Claim, body: bytes) -> Generator[Command, Event, Plan]:
        """Plan, or fail open: the one guard around steps 3 to 6."""
        attempt = Attempt(body, read_only=claimed.counts)
        try:
            return (yield from self._planners[claimed.dialect].plan(attempt))
        except RequestError as error:
            return Plan(None, "pass", f"not readable: {error}", "")
        except Exception as error:  # noqa: BLE001 - any bug here must not break a session
            found = yield from fail_open(
                body, claimed.dialect, self._frozen, committing=attempt.committing
            )
            reason = f"{type(error).__name__}; sent the {found.form}"
            return Plan(found.body, "failed", reason, "")

    def _past(self, plan: Plan) -> _Settled:
        """Find the conversation's previous request; without one, name a new conversation."""
        for link in reversed(plan.links[:-1]):
            seen = self._seen.get(link)
            if seen is not None:
                return _Settled(seen.conversation, seen)
        again = self._seen.get(plan.links[-1])
        if again is not None:
            return _Settled(again.conversation, again)
        return _Settled(plan.links[-1].hex()[:8])


def note(plan: Plan) -> str:
    """Say in ASCII and at most 200 bytes what was done with a request, and why."""
    words = [plan.action, plan.reason]
    if plan.action == "replace":
        words.append(f"{plan.raw_tokens} -> {plan.sent_tokens} tokens")
        words.append(f"cliffs {len(plan.cliffs)}")
    text = "; ".join(words).encode("ascii", "replace").decode()
    return "".join(c if c.isprintable() else "?" for c in text)[:_NOTE_BYTES]


def _event(
    arrived: Arrived, answered: Answered, claimed: Claim | None, plan: Plan, past: _Settled
) -> TraceEvent:
    previous = past.previous
    return TraceEvent(
        at=arrived.at,
        conversation=past.conversation,
        dialect=claimed.dialect if claimed else "",
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
        status=answered.status,
        usage=answered.usage,
        subscription=_is_subscription(arrived),
        seconds=answered.at - arrived.at,
        aborted=answered.aborted,
        run=arrived.run,
    )


def _is_subscription(arrived: Arrived) -> bool:
    """Tell whether a request carries a login: a bearer token that is no API key."""
    headers = dict(arrived.headers)
    bearer = headers.get("authorization", "").lower()
    return "x-api-key" not in headers and bearer.startswith("bearer sk-ant-oat")
