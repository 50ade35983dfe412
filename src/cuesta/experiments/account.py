"""From what went through the proxy to a run's record."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import add

from cuesta.core.errors import UnknownModelError
from cuesta.core.prices import PriceBook
from cuesta.core.usage import Usage
from cuesta.experiments.record import REFUSED, WINDOW, Calls
from cuesta.experiments.running import Performed
from cuesta.lab.cost import perfect
from cuesta.trace.event import TraceEvent

_FULL = 0.8
_NO_STEP = "-"


@dataclass(frozen=True, slots=True)
class _Call:
    """One call to a model, as it was billed."""

    usage: Usage
    thread: tuple[str, str]
    seconds: float
    ours: bool = False
    cliff: bool = False

    @property
    def prompt(self) -> int:
        return self.usage.prompt

    @property
    def output(self) -> int:
        return self.usage.output


@dataclass(frozen=True, slots=True)
class Account:
    """What a run's calls came to; see `record.Record` for each."""

    calls: Calls
    steps: int
    cliffs: tuple[int, ...]
    usage: Usage
    asked: Usage
    perfect: Usage
    billed_cost: float | None
    perfect_cost: float | None


def account(performed: Performed, book: PriceBook, names: dict[str, str]) -> Account:
    """Sum up a run.

    Args:
        performed: How it went.
        book: Prices.
        names: A model's name at its provider -> its name in the spec, under which it has a price.
    """
    calls = list(_calls(performed.events))
    told = performed.cliffs_told
    cliffs = tuple(i for i, call in enumerate(calls) if call.cliff) if told else _drops(calls)
    steps = sum(not call.ours for call in calls)
    ideal = _perfect(calls)
    bills = [(call.thread[0], call.usage) for call in calls]
    return Account(
        calls=_columns(calls, performed.kinds if len(performed.kinds) == steps else ""),
        steps=steps,
        cliffs=cliffs,
        usage=_sum(call.usage for call in calls),
        asked=_sum(call.usage for call in calls if call.ours),
        perfect=_sum(usage for _, usage in ideal),
        billed_cost=_cost(bills, book, names),
        perfect_cost=_cost(ideal, book, names),
    )


def early_end(events: Sequence[TraceEvent], window: int) -> tuple[str, str] | None:
    """Tell whether a run ended because its last request was refused, and how.

    Args:
        events: What went through, the oldest first.
        window: The longest prompt that the model takes.

    Returns:
        The end and the reason in words, or None: the last request was answered.
    """
    asked = [event for event in events if event.dialect]
    if not asked or asked[-1].status == 200:
        return None
    last = asked[-1]
    size = max(last.sent_tokens, last.raw_tokens)
    if last.action == "refuse" or (last.status in (400, 413) and size >= _FULL * window):
        return WINDOW, f"the prompt outgrew the window of {window} tokens"
    return REFUSED, f"the last request was answered with status {last.status}"


def _calls(events: Sequence[TraceEvent]) -> Iterator[_Call]:
    cliff = False
    for event in events:
        thread = event.model, event.conversation
        if event.asked is not None:
            yield _Call(event.asked, thread, 0.0, ours=True)
        cliff = cliff or event.new_cliff
        if event.usage is not None and event.status == 200:
            yield _Call(event.usage, thread, round(event.seconds, 3), cliff=cliff)
            cliff = False


def _drops(calls: Sequence[_Call]) -> tuple[int, ...]:
    """Return the calls whose prompt is shorter than the one before."""
    pairs = enumerate(pairwise(calls), 1)
    return tuple(i for i, (before, call) in pairs if call.prompt < before.prompt)


def _perfect(calls: Sequence[_Call]) -> list[tuple[str, Usage]]:
    """Bill calls by the paper's perfect cache, each conversation by itself."""
    threads: dict[tuple[str, str], list[_Call]] = defaultdict(list)
    for call in calls:
        threads[call.thread].append(call)
    return [(model, bill) for (model, _), one in threads.items() for bill in perfect(one)]


def _columns(calls: Sequence[_Call], kinds: str) -> Calls:
    letters = iter(kinds)
    return Calls(
        prompt=tuple(call.prompt for call in calls),
        cached=tuple(call.usage.cache_read for call in calls),
        written=tuple(call.usage.cache_write for call in calls),
        output=tuple(call.output for call in calls),
        seconds=tuple(call.seconds for call in calls),
        ours=tuple(call.ours for call in calls),
        kinds="".join(_NO_STEP if call.ours else next(letters) for call in calls) if kinds else "",
    )


def _sum(usages: Iterator[Usage]) -> Usage:
    return reduce(add, usages, Usage())


def _cost(
    bills: Sequence[tuple[str, Usage]], book: PriceBook, names: dict[str, str]
) -> float | None:
    try:
        return sum(book.price(names.get(model, model)).cost(usage) for model, usage in bills)
    except UnknownModelError:
        return None
