"""Do the bytes stay the same within an epoch? Judged from outside, by prints alone.

For each request of the main loop the judge looks for its *ancestor*: the answered request of the
same history whose messages, as the client sent them, are the longest beginning of this one's. What
was sent for the two is compared:

- It is the ancestor's form with exactly the client's new messages behind it: the same epoch.
- It is anything else, and `x-cuesta` says that a cliff is new: an epoch began. It may have said so
  of a request in between whose answer broke off, so that it is no news now.
- It is anything else and nothing was announced: *differing bytes*, a violation.

A request that was sent before, with the same body, must be sent as it was, unless a form of it was
refused or a database was lost in between.

After a loss (a database deleted, restored from an older copy, or damaged) the ledger may know less.
At the first answer of a branch after it, a change is allowed and counted as *extra*, announced or
not, but where the note says that the estimate alone let a cliff fall right there. Later changes on
that branch are judged as if nothing had been lost. So a branch has at most one extra change a loss,
or a violation is found.

An extra change needs an *excuse*, and an external cliff a *cause*, which can be seen from outside;
without one it is a violation too. Both: a form refused on the way, a turn that grew after it was
sent, a history that the client rewrote. Causes: a form that fail-open chose for the ancestor.
Excuses: an external cliff on the branch before, tools or instructions that changed, thinking on a
model that checks what stands before it, an announcement that broke off before it was heard.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from cuesta.testing.chaos.asks import Ask, Form
from cuesta.testing.chaos.notes import Lost, Note
from cuesta.testing.chaos.prints import Mark, Print
from cuesta.testing.chaos.report import Report

_THINKS = "thinking on a model that checks"
_EXTERNAL = "an external cliff before"
_REFUSED = "a form refused on the way"
_UNHEARD = "an announcement that nobody heard"
_Place = tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class _Answered:
    """A request that was answered.

    Attributes:
        client: What the client sent.
        sent: What the provider got.
        fixed: The hash over all but the messages.
        lost: What had been lost when it was planned.
        note: What the proxy said.
        grown: Whether a turn has grown since the last cliff.
        excuse: Why a lost database may change what is sent behind it; empty: nothing may.
    """

    client: Mark
    sent: Mark
    fixed: bytes
    lost: Lost
    note: Note
    grown: bool
    excuse: str


@dataclass(frozen=True, slots=True)
class _Begun:
    """An attempt whose answer did not reach the client.

    Attributes:
        client: What the client sent.
        sent: What the provider got, if anything.
        note: What the proxy said, if anything.
        refused: Whether the provider had refused a form of the request by then.
    """

    client: Mark
    sent: Mark | None
    note: Note
    refused: bool


@dataclass(frozen=True, slots=True)
class _Sent:
    """The latest form, answered or not, and for which body."""

    body: bytes
    shown: Print
    lost: Lost
    refusals: int


class BytesJudge:
    """Judges one history.

    Args:
        report: Is added to.
        checks: Whether its model checks what stands before thinking.

    Attributes:
        cliffs: The most cliffs that were in force at once.
    """

    def __init__(self, report: Report, *, checks: bool) -> None:
        self.cliffs = 0
        self._report = report
        self._excuse = _THINKS if checks else ""
        self._answered: defaultdict[_Place, list[_Answered]] = defaultdict(list)
        self._begun: defaultdict[_Place, list[_Begun]] = defaultdict(list)
        self._latest: _Sent | None = None

    def sent(self, ask: Ask, client: Print, form: Form, lost: Lost) -> None:
        """Judge a form that the provider took: the same body must not have been sent otherwise.

        Args:
            ask: What it was sent for.
            client: The print of the client's own body.
            form: The form.
            lost: What had been lost before its attempt.
        """
        refusals = len(ask.refusals)
        before, self._latest = self._latest, _Sent(client.whole, form.shown, lost, refusals)
        if before is None or before.body != client.whole:
            return
        same = before.shown.whole == form.shown.whole
        if not same and before.lost == lost and not refusals and not before.refusals:
            self._report.differing.append(f"{ask.label}: sent again, with other bytes")

    def broke_off(self, ask: Ask, client: Print, note: Note) -> None:
        """Hear of an attempt whose answer did not reach the client.

        A cliff may have fallen with it, which is not announced again with what comes behind.

        Args:
            ask: The request, in that attempt.
            client: The print of the client's own body.
            note: What the proxy said, if anything.
        """
        mark = client.mark
        sent = ask.accepted.shown.mark if ask.accepted is not None else None
        begun = _Begun(mark, sent, note, refused=bool(ask.refusals))
        self._begun[mark.count - 1, mark.state].append(begun)

    def first(self, client: Print, lost: Lost) -> bool:
        """Tell whether this request is its branch's first since a loss."""
        ancestor = self._ancestor(client)
        return ancestor is not None and lost.count > ancestor.lost.count

    def answered(self, ask: Ask, client: Print, note: Note, lost: Lost) -> None:
        """Judge an answered request against its ancestor, and keep it.

        Args:
            ask: The request.
            client: The print of the client's own body.
            note: What the proxy said.
            lost: What had been lost when it was planned.
        """
        form = ask.accepted
        if form is None:
            self._report.garbled.append(f"{ask.label}: answered by somebody else")
            return
        if form.shown.fixed != client.fixed:
            self._report.differing.append(f"{ask.label}: system or tools are not the client's")
        self.cliffs = max(self.cliffs, note.cliffs)
        self._report.failed += note.action == "failed"
        ancestor = self._ancestor(client)
        grown, fell = self._grown(client, ancestor), note.new
        if ancestor is None:
            excuse = _EXTERNAL if note.external else "a turn that grew" if grown else self._excuse
        else:
            note = self._compare(ask, client, ancestor, note, lost, grown=grown)
            excuse = ancestor.excuse or _excuse(client, ancestor, note, grown=grown)
        grown = grown and not fell
        mark = client.mark
        self._answered[mark.count - 1, mark.state].append(
            _Answered(mark, form.shown.mark, client.fixed, lost, note, grown, excuse)
        )

    def _ancestor(self, client: Print) -> _Answered | None:
        for place in range(len(client.messages) - 1, -1, -1):
            for known in reversed(self._answered.get((place, client.states[place]), ())):
                if client.extends(known.client):
                    return known
        return None

    def _since(self, client: Print, ancestor: _Answered | None) -> Iterator[_Begun]:
        """Yield the attempts without an answer between an ancestor and a request."""
        first = ancestor.client.count - 1 if ancestor else 0
        for place in range(first, len(client.messages)):
            for begun in self._begun.get((place, client.states[place]), ()):
                if client.extends(begun.client):
                    yield begun

    def _grown(self, client: Print, ancestor: _Answered | None) -> bool:
        """Tell whether a turn has grown since the last cliff: more stands in it than was sent."""
        marks = [begun.client for begun in self._since(client, ancestor)]
        if ancestor is not None:
            marks.append(ancestor.client)
            if ancestor.grown:
                return True
        for parts, messages in map(client.news, marks):
            if parts or (messages and not messages[0].made):
                return True
        return False

    def _compare(  # noqa: PLR0913 - what is compared, and all that may excuse it
        self,
        ask: Ask,
        client: Print,
        ancestor: _Answered,
        note: Note,
        lost: Lost,
        *,
        grown: bool,
    ) -> Note:
        """Compare a request with its ancestor; return its note with what was announced before."""
        report, label = self._report, f"{ask.label}: {_told(ancestor.note, note)}"
        sent = ask.accepted.shown if ask.accepted else client
        known = ancestor.note.cliffs > 0
        if _goes_on(client, sent, (ancestor.client, ancestor.sent)):
            missed = known and note.new
            report.misses += missed
            report.kept += missed
            return Note(note.action, note.reason, note.cliffs)
        note = self._announced(client, sent, ancestor, note)
        if lost.count > ancestor.lost.count:
            report.misses += known
            excuse = (
                ancestor.excuse
                or _excuse(client, ancestor, Note(), grown=grown)
                or _cause(ask, client, ancestor, note)
            )
            self._after_a_loss(note, lost.kind, excuse, label)
        elif not note.new:
            report.differing.append(label)
        elif not note.external:
            report.cliffs += 1
        else:
            report.external[_plain(note.reason)] += 1
            if not (grown or _cause(ask, client, ancestor, note)):
                report.unexplained.append(label)
        return note

    def _announced(self, client: Print, sent: Print, ancestor: _Answered, note: Note) -> Note:
        """Return a note with what was said, or left unsaid, of attempts on the way here."""
        if note.new:
            return note
        for begun in self._since(client, ancestor):
            unsaid = not begun.note.action
            if begun.sent is None:
                on_the_way = begun.client != ancestor.client and note.cliffs > 0
            else:
                on_the_way = _goes_on(client, sent, (begun.client, begun.sent))
            if on_the_way and begun.refused:
                return Note(note.action, _REFUSED, note.cliffs, new=True, external=True)
            if on_the_way and (unsaid or begun.note.new):
                reason = _UNHEARD if unsaid else begun.note.reason
                external = begun.note.external
                return Note(note.action, reason, note.cliffs, new=True, external=external)
        return note

    def _after_a_loss(self, note: Note, kind: str, excuse: str, label: str) -> None:
        report = self._report
        if note.new and not note.external and " over " in note.reason:
            report.cliffs += 1
            return
        report.extra[kind] += 1
        report.silent += not note.new
        report.excuses[excuse or "nothing"] += 1
        if not excuse:
            report.inexcusable.append(f"{label} after: {kind}")


def _goes_on(client: Print, sent: Print, before: tuple[Mark, Mark]) -> bool:
    """Tell whether what was sent is what was sent before, with the client's new messages behind."""
    client_before, sent_before = before
    return sent.extends(sent_before) and sent.news(sent_before) == client.news(client_before)


def _cause(ask: Ask, client: Print, ancestor: _Answered, note: Note) -> str:
    """Say what was seen from outside that may cause an external cliff, or nothing."""
    if ask.refusals or note.reason in {_REFUSED, _UNHEARD}:
        return note.reason if note.reason == _UNHEARD else _REFUSED
    made = [message.made for message in client.news(ancestor.client)[1]]
    answers = sum(here and not before for before, here in pairwise([False, *made]))
    if ask.rewritten or answers > 1:  # more than the one to the ancestor
        return "a history that the client rewrote"
    return "fail-open" if ancestor.note.action == "failed" else ""


def _excuse(client: Print, ancestor: _Answered, note: Note, *, grown: bool) -> str:
    if note.new and note.external:
        return _EXTERNAL
    if client.fixed != ancestor.fixed:
        return "tools or instructions changed"
    return "a turn that grew" if grown else ""


def _plain(reason: str) -> str:
    """Take the numbers out of a reason, so that the same ones are counted together."""
    return re.sub(r"\d+", "N", reason)


def _told(before: Note, now: Note) -> str:
    return f"[{before.reason}; cliffs {before.cliffs}] then [{now.reason}; cliffs {now.cliffs}]"
