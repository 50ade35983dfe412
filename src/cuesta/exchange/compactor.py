"""Compaction as a library: a list of messages in, the list to send out.

For people who own their agent's loop. It plans like the proxy does, so the same history gives the
same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

from cuesta.core.digest import OPENING
from cuesta.core.errors import ConfigError, RequestError
from cuesta.core.ledger import Entry
from cuesta.dialects.registry import DIALECTS
from cuesta.exchange.events import Command, Commit, Done, Event, Found, LookUp
from cuesta.exchange.memory import Frozen, Recent, Seen, size
from cuesta.exchange.options import CompactionOptions
from cuesta.exchange.planner import Attempt, Plan, Planner
from cuesta.exchange.reading import Reader
from cuesta.strategies.names import ASKING
from cuesta.strategies.registry import strategy

_LISTS = {"openai_responses": "input"}
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
        self._model = model
        self._ledger: dict[bytes, Entry] = {}
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
            The history itself while no cliff has fallen, else head, digest and kept turns.

        Raises:
            RequestError: If the messages cannot be read, or hold a digest: pass the history as the
                agent has it, never what an earlier call returned.
        """
        where = _LISTS.get(self._dialect.name, "messages")
        fixed = {"system": system, "tools": tools}
        request: dict[str, object] = {k: v for k, v in fixed.items() if v is not None}
        request |= {"model": self._model, where: list(messages)}
        body = json.dumps(request).encode()
        if _DIGEST in body:
            raise RequestError("pass the original history: these messages hold a digest already")
        plan = self._run(self._planner.plan(Attempt(body, read_only=False, turn=True)))
        self.reason = f"{plan.action}: {plan.reason}"
        if plan.body is None:
            return list(messages)
        sent: list[Any] = json.loads(plan.body)[where]
        return sent

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
                key = next((key for key in command.keys if key in self._ledger), None)
                answer = Found(key, self._ledger[key] if key else None)
            elif isinstance(command, Commit):
                self._ledger[command.key] = command.entry
