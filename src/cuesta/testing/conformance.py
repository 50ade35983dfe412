"""Does Cuesta keep every valid request valid? One generated conversation, judged twice.

One judge sees the client's own bodies and remembers thinking behind the client's own prefixes; the
other sees what is sent in their place and remembers thinking behind that. A body that the first
takes and the second refuses is a failure, and so is one that loses what the client said; a body
that the first refuses is counted apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cuesta.testing.driver import Bench, Driven
from cuesta.testing.histories import ClientHistory, Feature
from cuesta.testing.losses import loss
from cuesta.testing.simulator import Conditions, Judge
from cuesta.testing.simulator.judging import WireJudge
from cuesta.testing.simulator.registry import judge_of
from cuesta.testing.simulator.responses.judge import ResponsesJudge

SUITS_TEMPLATES = frozenset(Feature) - {
    Feature.MID_SYSTEM, Feature.HUMAN_MESSAGES, Feature.REMINDERS, Feature.GROWING_LAST,
}  # fmt: skip
"""What the strict chat templates of open models take without Cuesta."""

_BARE = frozenset({"sliding_window", "microcompaction"})
"""Strategies that let nothing stand in place of what goes."""


@dataclass(slots=True)
class Report:
    """What was seen of some conversations.

    Attributes:
        histories: How many conversations.
        checking: How many of them on a model that checks prefixes.
        requests: How many requests in all.
        invalid_without: Requests that were invalid before Cuesta touched them.
        broken: Requests that Cuesta made invalid, or that lost something; how to make each again.
        failed: Requests whose planning failed.
        external: Requests behind a cliff that the estimate alone did not cause.
        drops: Requests with which a cliff fell.
        cliffs: How many conversations crossed how many cliffs.
        features: How many conversations held each feature.
        actions: How many requests were kept, replaced, passed.
    """

    histories: int = 0
    checking: int = 0
    requests: int = 0
    invalid_without: int = 0
    broken: list[str] = field(default_factory=list)
    failed: int = 0
    external: int = 0
    drops: int = 0
    cliffs: Counter[int] = field(default_factory=Counter)
    features: Counter[Feature] = field(default_factory=Counter)
    actions: Counter[str] = field(default_factory=Counter)

    def crossed(self, cliffs: int) -> int:
        """Return how many conversations crossed at least so many cliffs."""
        return sum(count for number, count in self.cliffs.items() if number >= cliffs)


def judge_history(
    history: ClientHistory,
    bench: Bench,
    report: Report,
    *,
    conditions: Conditions | None = None,
    before: Callable[[Bench, int], None] = lambda _bench, _cliffs: None,
) -> None:
    """Run one conversation and add it to a report.

    Args:
        history: The conversation.
        bench: The engine and its ledger.
        report: Is added to.
        conditions: What the provider is like.
        before: Called before each request with the bench and the cliffs so far; a test injects
            faults here.
    """
    client, provider = (judge_of(history.wire, conditions) for _ in range(2))
    most = 0
    while (body := history.request()) is not None:
        before(bench, most)
        driven = bench.send(body, path=history.path.partition("?")[0])
        most = max(most, driven.event.cliffs)
        _count(report, driven)
        counting = history.request_kind == "count_tokens"
        headers = tuple(history.headers.items())
        raw = client.verdict(body, headers, counting=counting)
        if raw.refusal is not None or raw.request is None:
            report.invalid_without += 1
            continue
        sent = provider.verdict(driven.body, headers, counting=counting)
        if sent.refusal is not None or sent.request is None:
            message = sent.refusal.message if sent.refusal else "unreadable"
            report.broken.append(f"{history.label}: {message} [{driven.note}]")
            continue
        lost = loss(body, driven.body, digests=driven.event.strategy not in _BARE)
        if lost:
            report.broken.append(f"{history.label}: {lost} [{driven.note}]")
        _answer(history, (client, raw.request), (provider, sent.request))
    report.histories += 1
    report.checking += history.checks
    report.cliffs[most] += 1
    report.features.update(history.features.keys())


def _answer(history: ClientHistory, *sides: tuple[WireJudge, Any]) -> None:
    """Let the model answer, and both judges remember it behind what each of them saw."""
    judge, request = sides[0]
    content = history.answer(lambda text, _: _seal(judge, request, text))
    if not content:
        return
    for judge, request in sides:
        if isinstance(judge, ResponsesJudge):
            judge.keep(request, content, history.response_id)
        else:
            judge.keep(request, content)


def _seal(judge: WireJudge, request: Any, text: str) -> str:  # noqa: ANN401 - each wire's own
    """Seal thinking as the provider does: bound to the client's own prefix."""
    if isinstance(judge, Judge):
        return judge.signatures.mint(request.prefix, text)
    if isinstance(judge, ResponsesJudge):
        return judge.memory.mint(text)
    raise TypeError("nothing is sealed on this wire")


def _count(report: Report, driven: Driven) -> None:
    report.requests += 1
    report.actions[driven.event.action] += 1
    report.failed += driven.event.action == "failed"
    report.external += driven.event.external
    report.drops += driven.event.new_cliff
