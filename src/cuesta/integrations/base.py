"""What every adapter has in common: a request in, the request to send out, and never an error."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from typing import Any, TypedDict, Unpack

from cuesta.dialects.registry import DIALECTS
from cuesta.exchange.compactor import Compactor
from cuesta.exchange.options import CompactionOptions
from cuesta.exchange.planner import Plan
from cuesta.integrations import claude
from cuesta.integrations.cuts import Cut, chat_cut

_LOG = logging.getLogger("cuesta")


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


class Known(TypedDict, total=False):
    """What the sender of a request knows of it.

    Attributes:
        counts: Whether it only counts tokens.
        turn: Whether it is surely a turn of an agent's conversation. Otherwise its shape decides,
            as in the proxy: a title or a request for a summary goes out as it is.
        refused: Whether the provider refused as too long what was sent for it; the request itself
            comes back where there is no shorter form.
    """

    counts: bool
    turn: bool
    refused: bool


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

    def fold(
        self, request: Mapping[str, Any], dialect: str = "openai_chat", **known: Unpack[Known]
    ) -> Mapping[str, Any]:
        """Return the request to send in place of one. Never raises.

        Args:
            request: The request in its wire's form: `model`, the whole original history, and what
                of the fixed part (system prompt, tools) stands beside it.
            dialect: The wire's name.
            known: What its sender knows of it; see `Known`.

        Returns:
            The request itself while no cliff has fallen, and whenever something goes wrong; else a
            copy with other messages. Messages that stay are the very objects of the request.
        """
        return self.planned(request, dialect, **known)[0]

    def planned(
        self, request: Mapping[str, Any], dialect: str, **known: Unpack[Known]
    ) -> tuple[Mapping[str, Any], Plan | None]:
        """Return what `fold` does, and the plan behind it; None where something went wrong."""
        try:
            with self._lock:
                return self._folded(request, self._compactors[dialect], known), self.plan
        except Exception as error:  # noqa: BLE001 - an agent never stops because of Cuesta
            self.failed(error)
            return request, None

    def cut(
        self, request: Mapping[str, Any], dialect: str = "openai_chat", *, refused: bool = False
    ) -> Cut | None:
        """Say what stays of a turn's history, given in Chat Completions' form. Never raises.

        Args:
            request: The request; an assistant's `thinking_blocks` are Anthropic's.
            dialect: The wire that it will go over: `openai_chat`, or `anthropic`.
            refused: See `Known`.

        Returns:
            What stays; None: all of it, as it is.
        """
        known: Known = {"turn": True, "refused": refused}
        try:
            given = request["messages"]
            written = claude.write(request) if dialect == "anthropic" else None
            asked = written.request if written else request
            with self._lock:
                folded = self._folded(asked, self._compactors[dialect], known)
                plan = self.plan
            if folded is asked or plan is None:
                return None
            if written is None:
                return chat_cut(given, folded["messages"], plan)
            return claude.cut(written, folded["messages"], plan, given)
        except Exception as error:  # noqa: BLE001 - likewise
            self.failed(error)
            return None

    def failed(self, error: Exception) -> None:
        """Count and log, without its content, a request that goes out as it came."""
        self.failures += 1
        _LOG.warning("cuesta: a request goes out as it came (%s)", type(error).__name__)

    def _folded(
        self, request: Mapping[str, Any], compactor: Compactor, known: Known
    ) -> Mapping[str, Any]:
        folded = compactor.fold(request, **known)
        plan = self.plan = compactor.plan
        self.cliffs += plan is not None and plan.new and not known.get("counts", False)
        return folded
