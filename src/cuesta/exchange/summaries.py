"""Summaries that a model wrote: asking for one, and keeping it for as long as the process lives.

A summary is conversation text and cannot be rendered again from a request, so it is nowhere but in
memory: the ledger holds its hash. One that is lost is written anew, behind an external cliff.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

from cuesta.core.compact import Source, fold
from cuesta.core.digest import Rendered, frame_summary, render, rendered
from cuesta.core.ledger import Cliff, Entry
from cuesta.core.policy import AUTOMATIC_FLOOR, Policy
from cuesta.core.usage import Usage
from cuesta.dialects.base import Dialect
from cuesta.exchange.events import Ask, Command, Event, Told
from cuesta.exchange.memory import Recent
from cuesta.exchange.reading import Reading
from cuesta.strategies.base import Case

LOST = "the summary was lost"
LIMIT = 8_000
"""Tokens that a model may write, its thinking included."""
_TABLE_CHARS = 16 << 20
_ROOM = 0.8
"""The part of a known window that a question may take."""
_MUCH = 10**9
_WHOLE = Policy(
    "summary", signature_chars=_MUCH, result_chars=_MUCH, error_chars=_MUCH, thought_chars=_MUCH,
    human_chars=_MUCH, human_for_ever=False, human_share=1.0, notice_chars=2_000,
)  # fmt: skip
"""Everything that was said and done, for a model to read once."""
_PROMPT = """\
You are asked to sum up the first part of a long task that a coding agent is working on. The \
record below is all that is known of it; the steps behind it are kept and not shown. Your summary \
will stand in place of this record, and the agent goes on without seeing it again.

Write down, in plain text and as briefly as nothing is lost by it:
- what the user asked for, and every wish and correction since, in the user's own words;
- what was found out: files, functions, values, error messages, with their exact names and places;
- what was changed, where, and why; what was tried and did not work;
- what is done, what is open, and what was about to be done next.

Do not answer the record, do not go on with the task, and add nothing that is not in it."""


class Summaries:
    """The summaries of one dialect's conversations.

    Args:
        dialect: The wire API.
        asks: Whether a model may be asked at all; it may not where nothing is to be changed.
    """

    def __init__(self, dialect: Dialect, *, asks: bool) -> None:
        self._dialect = dialect
        self._asks = asks
        self._texts: Recent[str, Rendered] = Recent(_TABLE_CHARS, lambda r: len(r.text) + 200)

    def of(self, cliff: Cliff) -> Rendered | None:
        """Return the summary that stands under a cliff, or None: there is none, or it is lost."""
        return self._texts.get(cliff.digest) if cliff.summary else None

    def is_lost(self, entry: Entry) -> bool:
        """Tell whether an entry's last cliff needs a summary that is not remembered."""
        return bool(entry.cliffs) and entry.cliffs[-1].summary and self.of(entry.cliffs[-1]) is None

    def write(
        self,
        source: Source,
        reading: Reading,
        cliffs: Sequence[Cliff],
        case: Case,
        asked: list[Usage | None],
    ) -> Generator[Command, Event, Rendered | None]:
        """Have what the last cliff folds summed up, with the summary before it if there is one.

        Args:
            source: The conversation's own messages.
            reading: The request.
            cliffs: All cliffs, the last one without its summary.
            case: The request as the strategy saw it.
            asked: What was billed is added here.

        Returns:
            The summary, or None where there is none to be had or it saves nothing.
        """
        cut = cliffs[-1].cut
        before = next((c for c in reversed(cliffs[:-1]) if self.of(c) is not None), None)
        since = before.cut if before else 0
        earlier = self.of(before) if before else None
        if not self._asks:
            return None
        question = _question(source, (since, cut), earlier, reading, case)
        if question is None:
            return None
        told = yield from _ask(self._dialect, reading, question)
        asked.append(told.usage)
        said = told.text.encode("utf-8", "replace").decode().strip()
        summary = rendered(frame_summary(said), reading.meter)
        sums = case.transcript.turns.sums.tokens
        if not said or summary.tokens >= sums[cut] - sums[cliffs[-2].cut if cliffs[1:] else 0]:
            return None
        self._texts.put(summary.hash, summary)
        return summary


def _question(
    source: Source,
    stretch: tuple[int, int],
    earlier: Rendered | None,
    reading: Reading,
    case: Case,
) -> str | None:
    """Return the question with as whole a record as there is room for; None: for none."""
    threshold = max(case.policy.threshold, AUTOMATIC_FLOOR)
    room = int(_ROOM * case.window) - LIMIT if case.window else threshold
    begin = [_PROMPT, earlier.text] if earlier else [_PROMPT]
    for policy in _records(case.policy):
        record = render(fold(source, *stretch, policy, _MUCH), reading.meter)
        text = "\n\n".join([*begin, record.text])
        if reading.meter.text(text) <= room:
            return text
    return None


def _records(policy: Policy) -> Iterator[Policy]:
    """Yield how a record may be made, the wholest first."""
    yield _WHOLE
    yield replace(_WHOLE, signature_chars=2_000, result_chars=2_000, error_chars=2_000)
    yield policy


def without_summary(entry: Entry) -> Entry:
    """Return an entry whose last cliff has nothing in place of what it folds."""
    *before, last = entry.cliffs
    bare = replace(last, summary=False, digest="", digest_tokens=0)
    return replace(entry, cliffs=(*before, bare))


def _ask(dialect: Dialect, reading: Reading, question: str) -> Generator[Command, Event, Told]:
    try:
        told = yield Ask(dialect.asking(reading.request, question, LIMIT), dialect.name)
    except Exception:  # noqa: BLE001 - whatever it is, a digest does as well
        return Told("")
    return told if isinstance(told, Told) else Told("")
