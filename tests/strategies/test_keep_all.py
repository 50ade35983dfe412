from cases import CHECKING, Step, case, cliff, entry

from cuesta.strategies.base import Keep, Replace
from cuesta.strategies.keep_all import KeepAll


def test_whatever_its_size_a_conversation_is_kept():
    for known in (None, entry()):
        decision = KeepAll().decide(case([Step(90_000)] * 9, known=known, demand="too long"))
        assert isinstance(decision, Keep)
        assert decision.reason == "strategy keep_all"


def test_what_another_strategy_has_cut_stays_as_it_is():
    known = entry(cliff(2, 5))
    decision = KeepAll().decide(case([Step(90_000)] * 9, known=known))
    assert isinstance(decision, Replace)
    assert (decision.cliffs, decision.new) == (known.cliffs, False)


def test_a_turn_answered_behind_other_bytes_loses_its_thinking_and_nothing_else():
    steps = [Step(9_000, thinks=100)] * 9
    for known, cut in ((entry(foreign=True), 0), (entry(cliff(2, 5), foreign=True), 2)):
        decision = KeepAll().decide(case(steps, known=known, model=CHECKING))
        assert isinstance(decision, Replace)
        last = decision.cliffs[-1]
        assert (last.cut, last.border, last.strip, last.external) == (cut, 9, True, True)
