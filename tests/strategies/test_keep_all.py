from cases import Step, case, cliff, entry

from cuesta.strategies.base import Keep
from cuesta.strategies.keep_all import KeepAll


def test_whatever_its_size_and_past_a_conversation_is_kept():
    for known in (None, entry(cliff(2, 5)), entry(cliff(2, 5), foreign=True)):
        decision = KeepAll().decide(case([Step(90_000)] * 9, known=known, demand="other bytes"))
        assert isinstance(decision, Keep)
        assert decision.reason
