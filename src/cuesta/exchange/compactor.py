"""Compaction as a library: a list of messages in, the list to send out.

For people who own their agent's loop. It plans like the proxy does, so the same history gives the
same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cuesta.core.digest import OPENING
from cuesta.core.errors import ConfigError, RequestError
from cuesta.core.ledger import Entry
from cuesta.dialects.raw import load
from cuesta.dialects.refusals import Refusal
from cuesta.dialects.registry import DIALECTS
from cuesta.exchange.events import Command, Commit, Done, Event, Found, LookUp
from cuesta.exchange.memory import Frozen, Recent, Seen, size
from cuesta.exchange.options import CompactionOptions
from cuesta.exchange.planner import Attempt, Plan, Planner
from cuesta.exchange.reading import Reader
from cuesta.strategies.names import ASKING
from cuesta.strategies.registry import strategy

_ENTRIES = 10_000
_SYSTEM = {"openai_responses": "instructions"}
_DIGEST = b'"' + OPENING.encode()


class Compactor:
    """Compacts conversations of one model, and remembers where their cliffs fell.

    Call it with the whole original history before each request, and keep that history. Keep one
    compactor for as long as a conversation lasts: on models that check prefixes, thinking is only
    kept where it was seen.

    Args:
        model: The model's name, as it goes into the request.
        options: How to compact; by default the `default` profile with an automatic threshold.
        dialect: The wire format of the messages.
        harness: Whose plain text stands for calls (`terminus-2`, say), instead of what the options
            say; `none`: nobody's.

    Attributes:
        reason: What was done with the last list, and why.
        plan: The last plan, with its sizes, its threshold and its cliffs; None before the first.

    Raises:
        ConfigError: If the options make no sense.
    """

    def __init__(
        self,
        model: str,
        options: CompactionOptions | None = None,
        *,
        dialect: str = "anthropic",
        harness: str = "",
    ) -> None:
        self.reason = ""
        self.plan: Plan | None = None
        self._model = model
        self._ledger: Recent[bytes, Entry] = Recent(_ENTRIES)
        if dialect not in DIALECTS:
            known = ", ".join(DIALECTS)
            raise ConfigError(f"unknown dialect `{dialect}`: choose one of {known}")
        self._dialect = DIALECTS[dialect]
        frozen: Recent[bytes, Frozen] = Recent(1 << 20, size)
        seen: Recent[bytes, Seen] = Recent(1)
        chosen = options or CompactionOptions()
        if harness:
            chosen = replace(chosen, harness=harness)
        if chosen.strategy in ASKING:
            raise ConfigError(f"strategy `{chosen.strategy}` asks the model: only a proxy can")
        reader = Reader(self._dialect, self._dialect.name, seed=0, harness=chosen.harness)
        self._planner = Planner(reader, strategy(chosen.strategy), chosen, (frozen, seen))

    def compact(
        self, messages: Sequence[Any], *, system: object = None, tools: object = None
    ) -> list[Any]:
        """Return the messages to send in place of a history.

        Args:
            messages: The whole original history, in the wire's own format.
            system: The system prompt that goes with it, for the estimate.
            tools: The tools that go with it, for the estimate.

        Returns:
            The history itself while no cliff has fallen, else head, digest and kept turns. Kept
            messages are the very objects of the history.

        Raises:
            RequestError: If the messages cannot be read, or hold a digest: pass the history as the
                agent has it, never what an earlier call returned.
        """
        where = self._dialect.where
        fixed = {_SYSTEM.get(self._dialect.name, "system"): system, "tools": tools}
        request: dict[str, object] = {k: v for k, v in fixed.items() if v is not None}
        request |= {"model": self._model, where: list(messages)}
        body = _body(request)
        if _DIGEST in body:
            raise RequestError("pass the original history: these messages hold a digest already")
        sent: list[Any] = self._sent(request, Attempt(body, read_only=False, turn=True))
        return list(sent)

    def fold(
        self,
        request: Mapping[str, Any],
        *,
        counts: bool = False,
        turn: bool = False,
        refused: bool = False,
    ) -> Mapping[str, Any]:
        """Return the request to send in place of a whole one.

        It is planned as the proxy plans a body: its own model counts, and what is no turn of a
        conversation (a title, a probe, a request for a summary) stays as it is.

        Args:
            request: The request's members, the whole original history among them.
            counts: Whether it only counts tokens, so that no cliff is remembered.
            turn: Whether it is known to be a turn, so that it is not asked what else it may be.
            refused: Whether what was sent for it was refused as too long, so that a shorter form is
                wanted; later requests of the conversation go on from it.

        Returns:
            The request itself where nothing changes, else a copy with other messages.

        Raises:
            RequestError: If it cannot be read.
        """
        where, body = self._dialect.where, _body(request)
        plain = Attempt(body, read_only=counts, turn=turn)
        attempt = self._shorter(body) if refused else plain
        if attempt is None:
            return request
        sent = self._sent(request, attempt)
        return request if sent is request[where] else {**request, where: sent}

    def _shorter(self, body: bytes) -> Attempt | None:
        """Return the attempt at a shorter form of a request, or None: there is none.

        A cliff falls where none is in force; one in force is made anew by a harsher policy.
        """
        now = self._run(self._planner.plan(Attempt(body, read_only=True, turn=True)))
        rung = self._planner.rung_below(now)
        demand = Refusal.OVERFLOW.value
        attempt = Attempt(body, read_only=True, rung=rung, demand=demand, turn=True)
        planned = self._run(self._planner.plan(attempt))
        return replace(attempt, read_only=False) if planned.sent_tokens < now.sent_tokens else None

    def _sent(self, request: Mapping[str, Any], attempt: Attempt) -> Any:  # noqa: ANN401 - as given
        """Return a request's messages as they are to be sent; the given ones where none changes."""
        plan = self.plan = self._run(self._planner.plan(attempt))
        self.reason = f"{plan.action}: {plan.reason}"
        given = request[self._dialect.where]
        if plan.body is None:
            return given
        before = self._dialect.read(attempt.body).messages
        after = self._dialect.read(plan.body).messages
        places = _same(before, after)
        return [load(after[i]) if j is None else given[j] for i, j in enumerate(places)]

    def _run(self, steps: Generator[Command, Event, Plan]) -> Plan:
        """Carry out the planner's commands on the ledger in memory."""
        answer: Event | None = None
        while True:
            try:
                command = steps.send(answer)  # type: ignore[arg-type]  # None starts it
            except StopIteration as stop:
                plan: Plan = stop.value
                return plan
            answer = Done()
            if isinstance(command, LookUp):
                known = ((key, self._ledger.get(key)) for key in command.keys)
                found = next((pair for pair in known if pair[1] is not None), (None, None))
                answer = Found(*found)
            elif isinstance(command, Commit):
                self._ledger.put(command.key, command.entry)


def _body(request: Mapping[str, Any]) -> bytes:
    """Write a request as the providers' SDKs do, so that it is estimated as on the wire."""
    try:
        text = json.dumps(request, ensure_ascii=False, separators=(",", ":"), default=_plain)
        return text.encode()
    except UnicodeEncodeError:  # a lone surrogate, which JSON can only hold escaped
        return json.dumps(request, separators=(",", ":"), default=_plain).encode()


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever stands in a message
    """Return what an SDK's own object stands for on the wire: what was set in it."""
    dumped = getattr(value, "model_dump", None)
    if dumped is None:
        raise RequestError(f"a message holds a `{type(value).__name__}`, which is no JSON")
    return dumped(mode="json", exclude_unset=True)


def _same(before: Sequence[bytes], after: Sequence[bytes]) -> list[int | None]:
    """Say which of the messages before each one after is; None for one that is new.

    The head stands at the beginning and the kept turns at the end, so both ends are matched first.
    """
    found: list[int | None] = [None] * len(after)
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        found[start] = start
        start += 1
    stop = len(before)
    for i in range(len(after) - 1, start - 1, -1):
        j = next((j for j in range(stop - 1, start - 1, -1) if before[j] == after[i]), None)
        if j is not None:
            found[i] = stop = j
    return found
