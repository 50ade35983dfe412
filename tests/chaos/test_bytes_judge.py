"""The judge of bytes finds what it is there to find, and excuses only what it says."""

import pytest

from cuesta.testing.chaos.asks import Ask, Form
from cuesta.testing.chaos.bytes_judge import BytesJudge
from cuesta.testing.chaos.notes import Lost, Note
from cuesta.testing.chaos.prints import Print
from cuesta.testing.chaos.report import Report

KEEP = "keep; 1 of 8000 tokens"
NEW = "replace; 9000 over 8000 tokens; 9000 -> 300 tokens; cliffs 1, new"
OLD = "replace; 400 of 8000 tokens; 9400 -> 400 tokens; cliffs 1"
EXTERNAL = "replace; somebody wished it; 9000 -> 300 tokens; cliffs 1, new and external"
RETRY = "replace; retry; 9000 -> 300 tokens; cliffs 1"
NOTHING, ONCE = Lost(), Lost(1, "deleted")
DIGEST = {"role": "user", "content": "what was"}


def talk(turns):
    messages = [{"role": "user", "content": "do it"}]
    for n in range(turns):
        messages.append({"role": "assistant", "content": f"call {n}"})
        messages.append({"role": "user", "content": f"result {n}"})
    return messages


def compacted(turns, cut=2):
    """The same talk with its first turns folded."""
    head, *rest = talk(turns)
    return [head, DIGEST, *rest[2 * cut :]]


def shown(messages, **fields):
    return Print("anthropic", {"model": "m", **fields, "messages": messages})


class Case:
    """A judge with its report, told of requests one by one."""

    def __init__(self, *, checks=False):
        self.report = Report()
        self.judge = BytesJudge(self.report, checks=checks)

    def ask(self, messages, sent=None, **fields):
        ask = Ask("x.1", "x", b"", "/", {}, "main", "", rewritten=False)
        if sent is not None:
            ask.forms.append(Form(0, shown(sent, **fields), ""))
        return ask, shown(messages, **fields)

    def answered(self, messages, sent, note, lost=NOTHING, refusal="", **fields):
        ask, client = self.ask(messages, sent, **fields)
        if refusal:
            ask.forms.insert(0, Form(0, shown([]), refusal))
        self.judge.sent(ask, client, ask.forms[-1], lost)
        self.judge.answered(ask, client, Note.read(note), lost)
        return self.report

    def broke_off(self, messages, sent, note):
        ask, client = self.ask(messages, sent)
        if ask.forms:
            self.judge.sent(ask, client, ask.forms[-1], NOTHING)
        self.judge.broke_off(ask, client, Note.read(note))


def test_an_epoch_that_goes_on_is_fine():
    case = Case()
    case.answered(talk(3), talk(3), KEEP)
    case.answered(talk(4), compacted(4), NEW)
    report = case.answered(talk(5), compacted(5), OLD)
    assert (report.cliffs, report.violations) == (1, [])


@pytest.mark.parametrize(
    "sent",
    [talk(5), compacted(5, cut=3), [*compacted(5), DIGEST], compacted(4)],
    ids=["as before the cliff", "another cut", "something more", "without the news"],
)
def test_other_bytes_without_a_word_are_found(sent):
    case = Case()
    case.answered(talk(4), compacted(4), NEW)
    report = case.answered(talk(5), sent, OLD)
    assert len(report.differing) == 1


def test_other_tools_than_the_clients_are_found():
    case = Case()
    ask, client = case.ask(talk(1), talk(1), tools=[])
    ask.forms[0] = Form(0, shown(talk(1), tools=["x"]), "")
    case.judge.answered(ask, client, Note.read(KEEP), NOTHING)
    assert len(case.report.differing) == 1


def test_a_fork_and_a_rewind_go_on_from_where_they_left():
    case = Case()
    case.answered(talk(3), talk(3), KEEP)
    case.answered(talk(4), compacted(4), NEW)
    fork = [*talk(3)[:-1], {"role": "user", "content": "otherwise"}]
    case.answered(fork, fork, KEEP)
    assert case.answered(talk(3), talk(3), KEEP).violations == []
    assert len(case.answered(talk(3), compacted(3), OLD).differing) == 2


def test_the_same_body_is_sent_in_the_same_way():
    case = Case()
    case.broke_off(talk(4), compacted(4), NEW)
    report = case.answered(talk(4), compacted(4, cut=3), RETRY)
    assert len(report.differing) == 1


@pytest.mark.parametrize("heard", [NEW, ""])
@pytest.mark.parametrize("sent", [compacted(4), None])
def test_what_was_announced_to_nobody_is_announced(heard, sent):
    case = Case()
    case.answered(talk(3), talk(3), KEEP)
    case.broke_off(talk(4), sent, heard if sent else "")
    report = case.answered(talk(4), compacted(4), RETRY)
    assert (report.cliffs, report.violations) == (1, [])


def test_an_attempt_that_said_nothing_new_announces_nothing():
    case = Case()
    case.answered(talk(3), talk(3), KEEP)
    case.broke_off(talk(4), compacted(4), KEEP)
    assert len(case.answered(talk(4), compacted(4), RETRY).differing) == 1


def test_an_external_cliff_needs_a_cause():
    case = Case()
    case.answered(talk(3), talk(3), KEEP)
    report = case.answered(talk(4), compacted(4), EXTERNAL)
    assert len(report.unexplained) == 1
    assert report.external["somebody wished it"] == 1


def test_a_refused_form_is_a_cause():
    case = Case()
    case.answered(talk(3), talk(3), KEEP)
    report = case.answered(talk(4), compacted(4), EXTERNAL, refusal="window")
    assert report.violations == []


def test_a_turn_that_grew_is_a_cause_until_the_next_cliff():
    case = Case()
    case.answered(talk(3), talk(3), KEEP)
    more = {"role": "user", "content": "and this"}
    grown = [*talk(3), more]
    case.answered(grown, grown, KEEP)
    later = [*grown, *talk(4)[-2:]]
    form = [later[0], DIGEST, *later[3:]]
    assert case.answered(later, form, EXTERNAL).violations == []
    last = [*later, *talk(5)[-2:]]
    again = [later[0], DIGEST, *last[5:]]
    assert len(case.answered(last, again, EXTERNAL).unexplained) == 1


def test_after_a_loss_one_change_is_excused_and_no_second():
    case = Case(checks=True)
    case.answered(talk(4), compacted(4), NEW)
    case.answered(talk(5), compacted(5, cut=4), EXTERNAL, ONCE)
    report = case.report
    assert (report.extra["deleted"], report.misses, report.violations) == (1, 1, [])
    case.answered(talk(6), compacted(6, cut=5), EXTERNAL, ONCE)
    assert len(report.unexplained) == 1
    case.answered(talk(7), compacted(7), OLD, ONCE)
    assert len(report.differing) == 1


def test_after_a_loss_nothing_changes_without_an_excuse():
    case = Case()
    case.answered(talk(4), compacted(4), NEW)
    report = case.answered(talk(5), compacted(5, cut=3), NEW.replace("over", "of"), ONCE)
    assert len(report.inexcusable) == 1


def test_after_a_loss_the_same_bytes_are_a_miss_that_did_no_harm():
    case = Case()
    case.answered(talk(4), compacted(4), NEW)
    report = case.answered(talk(5), compacted(5), NEW.replace("over", "of"), ONCE)
    assert (report.misses, report.kept, report.extra.total()) == (1, 1, 0)


def test_changed_tools_are_an_excuse():
    case = Case()
    case.answered(talk(4), compacted(4), NEW)
    case.answered(talk(5), compacted(5), OLD, tools=["more"])
    report = case.answered(talk(6), compacted(6, cut=3), EXTERNAL, ONCE, tools=["more"])
    assert report.violations == []
    assert report.excuses["tools or instructions changed"] == 1


def test_what_happened_at_a_branchs_first_request_counts_as_well():
    case = Case()
    case.answered(talk(4), compacted(4), EXTERNAL, refusal="window")
    case.answered(talk(5), compacted(5), OLD)
    report = case.answered(talk(6), compacted(6, cut=3), OLD, ONCE)
    assert report.excuses["an external cliff before"] == 1
    assert report.violations == []


def test_an_attempt_that_grew_before_anything_was_answered_is_a_cause():
    case = Case()
    case.broke_off(talk(4), compacted(4), NEW)
    grown = [*talk(4), {"role": "user", "content": "and this"}]
    case.answered(grown, [*compacted(4), grown[-1]], OLD)
    later = [*grown, *talk(5)[-2:]]
    assert case.answered(later, [later[0], DIGEST, *later[7:]], EXTERNAL).violations == []
