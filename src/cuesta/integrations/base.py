"""What every adapter has in common: a request in, the request to send out, and never an error."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypedDict

from cuesta.dialects.registry import DIALECTS
from cuesta.exchange.compactor import Compactor
from cuesta.exchange.options import CompactionOptions
from cuesta.exchange.planner import Plan

_LOG = logging.getLogger("cuesta")

Request = Mapping[str, Any]
Fold = Callable[[Compactor, Request], Request]


class Chosen(TypedDict, total=False):
    """What every adapter lets its user choose; see `CompactionOptions`.

    Attributes:
        threshold: Drop above this many tokens; 0 chooses by the conversation.
        profile: `default` or `paper`.
        strategy: When to drop, and from where; one that asks no model.
    """

    threshold: int
    profile: str
    strategy: str


class Adapter:
    """Compacts an agent's requests inside its own process.

    One adapter serves any number of conversations, from any thread. It remembers where their cliffs
    fell, and no text of them.

    Args:
        options: How to compact; by default the `default` profile with an automatic threshold.

    Attributes:
        cliffs: How many cliffs fell.
        failures: How many requests went out as they came because of an error.
        plan: The last plan, with its sizes, its threshold and its cliffs; None before the first.

    Raises:
        ConfigError: If the options make no sense, or the strategy asks the model.
    """

    def __init__(self, options: CompactionOptions | None = None) -> None:
        self.cliffs = 0
        self.failures = 0
        self.plan: Plan | None = None
        self._lock = threading.Lock()
        self._compactors = {name: Compactor("", options, dialect=name) for name in DIALECTS}

    def shorter(
        self, request: Mapping[str, Any], dialect: str = "openai_chat"
    ) -> Mapping[str, Any]:
        """Return a shorter form of a request that was refused as too long. Never raises.

        Args:
            request: As for `fold`.
            dialect: The wire's name.

        Returns:
            The request itself where there is no shorter form, else a copy with other messages.
        """
        return self._guarded(request, dialect, Compactor.shorter)

    def fold(
        self, request: Mapping[str, Any], dialect: str = "openai_chat", *, counts: bool = False
    ) -> Mapping[str, Any]:
        """Return the request to send in place of one. Never raises.

        Args:
            request: The request in its wire's form: `model`, the whole original history, and what
                of the fixed part (system prompt, tools) stands beside it.
            dialect: The wire's name.
            counts: Whether it only counts tokens.

        Returns:
            The request itself while no cliff has fallen, and whenever something goes wrong; else a
            copy with other messages. Messages that stay are the very objects of the request.
        """
        return self._guarded(request, dialect, partial(Compactor.fold, counts=counts), not counts)

    def _guarded(
        self, request: Request, dialect: str, fold: Fold, writes: bool = True
    ) -> Request:
        """Fold a request, or return it as it came where that fails."""
        try:
            with self._lock:
                compactor = self._compactors[dialect]
                folded = fold(compactor, request)
                self.plan = compactor.plan
                self.cliffs += bool(compactor.plan and compactor.plan.new and writes)
                return folded
        except Exception as error:  # noqa: BLE001 - an agent never stops because of Cuesta
            self.failures += 1
            _LOG.warning("cuesta: a request goes out as it came (%s)", type(error).__name__)
            return request
