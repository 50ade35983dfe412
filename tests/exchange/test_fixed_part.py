"""A cliff's place depends on system prompt and tools through a rounded step alone."""

import json

from hypothesis import assume, given
from hypothesis import strategies as st
from wire import PLAIN, bench, body, grow, talk

from cuesta.core.ledger import Entry
from cuesta.core.meter import meter_for, round_up
from cuesta.core.models import read_model

METER = meter_for(read_model(PLAIN))
TALK = talk(14, size=1_500)


def fixed_part(system):
    """Weigh system prompt and tools as they stand on the wire."""
    members = json.loads(body(TALK, system=system))
    return sum(METER.raw(json.dumps(members[key]).encode()) for key in ("system", "tools"))


def played(system, profile):
    """Play a conversation; return its cliffs and the messages that were sent."""
    over = bench(threshold=9_000, profile=profile)
    sent = [json.loads(driven.body)["messages"] for driven in grow(over, TALK, system=system)]
    cliffs = max((Entry.from_json(e).cliffs for e in over.ledger.values()), key=len)
    return cliffs, sent


@given(st.integers(1_500, 5_000), st.integers(1, 1_000))
def test_within_a_step_nothing_that_is_sent_depends_on_it(words, more):
    one, other = "word " * words, "word " * (words + more)
    assume(round_up(fixed_part(one)) == round_up(fixed_part(other)))
    assert played(one, "default") == played(other, "default")


@given(st.integers(1_500, 5_000))
def test_the_step_is_recorded_and_paper_records_the_fixed_part_itself(words):
    system = "word " * words
    assert played(system, "default")[0][-1].fixed == round_up(fixed_part(system))
    assert played(system, "paper")[0][-1].fixed == fixed_part(system)
