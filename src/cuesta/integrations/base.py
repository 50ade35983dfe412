"""What every adapter has in common: a request in, the request to send out, and never an error."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from cuesta.core.digest import OPENING
from cuesta.dialects.registry import DIALECTS
from cuesta.exchange.compactor import Compactor
from cuesta.exchange.options import CompactionOptions
from cuesta.exchange.planner import Plan

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


@dataclass(frozen=True, slots=True)
class Cut:
    """What stays of a history, for scaffolds whose messages have another form than the wire's.

    Attributes:
        kept: Which messages stay, by their places in the history.
        anchor: The user message that the digest stands in, behind its own text.
        digest: The digest; empty where there is none.
        cleared: What stands in place of a tool's results, by the places of their messages.
        bare: Messages before this one go without their thinking, which the model would refuse.
    """

    kept: tuple[int, ...]
    anchor: int
    digest: str
    cleared: Mapping[int, str]
    bare: int


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
        try:
            with self._lock:
                return self._folded(request, self._compactors[dialect], known)
        except Exception as error:  # noqa: BLE001 - an agent never stops because of Cuesta
            self.failed(error)
            return request

    def cut(self, request: Mapping[str, Any], *, refused: bool = False) -> Cut | None:
        """Say what stays of a turn's history in Chat Completions' form. Never raises.

        Args:
            request: As for `fold`.
            refused: See `Known`.

        Returns:
            What stays; None: all of it, as it is.
        """
        known: Known = {"turn": True, "refused": refused}
        try:
            with self._lock:
                folded = self._folded(request, self._compactors["openai_chat"], known)
                plan = self.plan
            if folded is request or plan is None:
                return None
            return _cut(request["messages"], folded["messages"], plan)
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


def _cut(given: Sequence[Any], sent: Sequence[Any], plan: Plan) -> Cut:
    """Compare what was given with what is sent; on Chat Completions no message comes in between."""
    places = {id(message): i for i, message in enumerate(given)}
    results = {m["tool_call_id"]: i for i, m in enumerate(given) if m.get("role") == "tool"}
    kept: list[int] = []
    cleared: dict[int, str] = {}
    anchor, digest = -1, ""
    for message in sent:
        place = places.get(id(message))
        if place is None and message["role"] == "tool":
            place = results[message["tool_call_id"]]
            cleared[place] = message["content"]
        elif place is None:
            place = anchor = len(kept)
            digest = _digest(message["content"])
        kept.append(place)
    cliff = plan.cliffs[-1]
    return Cut(tuple(kept), anchor, digest, cleared, cliff.messages if cliff.strip else 0)


def _digest(content: Any) -> str:  # noqa: ANN401 - a string or parts
    """Return the digest that ends a message's content."""
    text: str = content if isinstance(content, str) else content[-1]["text"]
    return text[text.rindex(OPENING) :]
