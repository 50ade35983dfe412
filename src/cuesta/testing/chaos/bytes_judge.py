"""Do the bytes stay the same within an epoch? Judged from outside, by prints alone.

For each request of the main loop the judge looks for its *ancestor*: the answered request of the
same history whose messages, as the client sent them, are the longest beginning of this one's. What
was sent for the two is compared:

- It is the ancestor's form with exactly the client's new messages behind it: the same epoch.
- It is anything else, and the answer's `x-cuesta` says that a cliff is new: an epoch began.
- It is anything else and nothing was announced: *differing bytes*, a violation.

A request that was sent before, with the same body, must be sent as it was, unless a form of it was
refused or a database was lost in between.

After a loss (a database deleted, restored from an older copy, or damaged) the ledger may know less.
At the first answer of a branch after it, a change is allowed and counted as *extra*, announced or
not, but where the note says that the estimate alone let a cliff fall right there. Later changes on
that branch are judged as if nothing had been lost. So a branch has at most one extra change a loss,
or a violation is found.

An external cliff needs a cause that can be seen from outside: the first answer after a loss, a form
refused in this request, a last message that grew, a history that the client rewrote, another answer
behind a form that fail-open chose. Without one it is a violation too.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace

from cuesta.testing.chaos.asks import Ask, Form
from cuesta.testing.chaos.prints import Mark, Print
from cuesta.testing.chaos.report import Report

_NOTE = re.compile(r"(?P<action>\w+); (?P<reason>.*?)(?:; \d+ -> \d+ tokens)?(?:; cliffs .*)?$")
_CLIFFS = re.compile(r"; cliffs (?P<count>\d+)(?P<new>, new)?(?P<external> and external)?$")


@dataclass(frozen=True, slots=True)
class Note:
    """What `x-cuesta` says.

    Attributes:
        action: `keep`, `replace`, `pass`, `failed`.
        reason: Why.
        cliffs: How many so far.
        new: Whether the last one fell now.
        external: Whether something else than the estimate caused it.
    """

    action: str = ""
    reason: str = ""
    cliffs: int = 0
    new: bool = False
    external: bool = False

    @staticmethod
    def read(text: str) -> Note:
        """Read the header's value; empty where there was none."""
        said, cliffs = _NOTE.match(text), _CLIFFS.search(text)
        if said is None:
            return Note()
        if cliffs is None:
            return Note(said["action"], said["reason"])
        return Note(
            said["action"],
            said["reason"],
            int(cliffs["count"]),
            new=bool(cliffs["new"]),
            external=bool(cliffs["external"]),
        )


@dataclass(frozen=True, slots=True)
class Lost:
    """What had been lost of a proxy's databases when a request was planned.

    Attributes:
        count: How many databases.
        kind: How the last one was.
    """

    count: int = 0
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Answered:
    """A request that was answered.

    Attributes:
        client: What the client sent.
        sent: What the provider got.
        lost: What had been lost when it was planned.
        note: What the proxy said.
    """

    client: Mark
    sent: Mark
    lost: Lost
    note: Note


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
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._answered: defaultdict[tuple[int, bytes], list[Answered]] = defaultdict(list)
        self._begun: defaultdict[tuple[int, bytes], list[Mark]] = defaultdict(list)
        self._told: dict[bytes, Note] = {}
        self._latest: _Sent | None = None
        self.cliffs = 0

    def sent(self, ask: Ask, client: Print, form: Form, lost: Lost) -> None:
        """Judge a form that the provider took: the same body must not have been sent otherwise.

        Args:
            ask: What it was sent for.
            client: The print of the client's own body.
            form: The form.
            lost: What had been lost before its attempt.
        """
        mark = client.mark
        self._begun[mark.count - 1, mark.state].append(mark)
        refusals = len(ask.refusals)
        before, self._latest = self._latest, _Sent(client.whole, form.shown, lost, refusals)
        if before is None or before.body != client.whole:
            return
        same = before.shown.whole == form.shown.whole
        if not same and before.lost == lost and not refusals and not before.refusals:
            self._report.differing.append(f"{ask.label}: sent again, with other bytes")

    def told(self, client: Print, note: Note) -> None:
        """Hear what was said of a body, even if its answer then broke off or never came.

        A cliff that fell with it is not announced again when the body comes again.
        """
        known = self._told.get(client.whole)
        if known is None or not known.new:
            self._told[client.whole] = note

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
        note = self._announced(client, note)
        self.cliffs = max(self.cliffs, note.cliffs)
        self._report.failed += note.action == "failed"
        ancestor = self._ancestor(client)
        if ancestor is not None:
            self._compare(ask, (client, form.shown), ancestor, note, lost)
        mark = client.mark
        place = mark.count - 1, mark.state
        self._answered[place].append(Answered(mark, form.shown.mark, lost, note))

    def _announced(self, client: Print, note: Note) -> Note:
        """Return a note with what was said when the same body came before."""
        before = self._told.pop(client.whole, note)
        if note.new or note.reason != "retry":
            return note
        if not before.action:  # it broke off before a word was said
            return replace(note, new=True)
        return replace(note, new=before.new, external=before.external)

    def _grown(self, client: Print, ancestor: Answered) -> bool:
        """Tell whether a message grew that was sent before, answered or not."""
        places = range(ancestor.client.count - 1, len(client.messages))
        marks = (m for place in places for m in self._begun.get((place, client.states[place]), ()))
        return any(client.extends(mark) and client.news(mark)[0] for mark in marks)

    def _ancestor(self, client: Print) -> Answered | None:
        for place in range(len(client.messages) - 1, -1, -1):
            for known in reversed(self._answered.get((place, client.states[place]), ())):
                if client.extends(known.client):
                    return known
        return None

    def _compare(
        self,
        ask: Ask,
        prints: tuple[Print, Print],
        ancestor: Answered,
        note: Note,
        lost: Lost,
    ) -> None:
        client, sent = prints
        report = self._report
        first = lost.count > ancestor.lost.count
        same = sent.extends(ancestor.sent) and sent.news(ancestor.sent) == client.news(
            ancestor.client
        )
        known = ancestor.note.cliffs > 0
        if same:
            missed = known and note.new
            report.misses += missed
            report.kept += missed
        elif first:
            report.misses += known
            self._after_a_loss(note, lost.kind)
        elif not note.new:
            report.differing.append(f"{ask.label}: {_told(ancestor.note, note)}")
        elif not note.external:
            report.cliffs += 1
        else:
            report.external[re.sub(r"\d+", "N", note.reason)] += 1
            grown = self._grown(client, ancestor)
            foreign = ancestor.note.action == "failed"
            if not (ask.refusals or ask.rewritten or grown or foreign):
                report.unexplained.append(f"{ask.label}: {_told(ancestor.note, note)}")

    def _after_a_loss(self, note: Note, kind: str) -> None:
        report = self._report
        if note.new and not note.external and " over " in note.reason:
            report.cliffs += 1
            return
        report.extra[kind] += 1
        report.reasons[re.sub(r"\d+", "N", note.reason)] += 1
        report.silent += not note.new


def _told(before: Note, now: Note) -> str:
    return f"[{before.reason}; cliffs {before.cliffs}] then [{now.reason}; cliffs {now.cliffs}]"
