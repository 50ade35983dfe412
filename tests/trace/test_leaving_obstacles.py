"""What stands in the way of leaving, told by the trace alone."""

import pytest

from cuesta.core.usage import Usage
from cuesta.trace.event import TraceEvent
from cuesta.trace.leaving import Obstacles, obstacles

CHECKING = "claude-opus-5-5"
OTHER = "claude-sonnet-4-5"
UNKNOWN = "gpt-5.5"


def event(at=0.0, **given):
    values = {"conversation": "c", "dialect": "anthropic", "path": "/v1/messages"}
    values |= {"action": "replace", "reason": "90 of 100 tokens", "status": 200, "cliffs": 2}
    values |= {"model": CHECKING, "raw_tokens": 150_000, "sent_tokens": 50_000}
    return TraceEvent(at=at, **(values | given))


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, Obstacles(thinking=True)),
        ({"model": OTHER}, Obstacles()),
        ({"dialect": "openai_chat"}, Obstacles()),
        ({"cliffs": 0}, Obstacles()),
        ({"conversation": ""}, Obstacles()),
        ({"shadow": True}, Obstacles()),
        ({"model": OTHER, "raw_tokens": 200_001}, Obstacles(tokens=200_001, window=200_000)),
        ({"raw_tokens": 200_001}, Obstacles(thinking=True)),
        ({"model": UNKNOWN, "raw_tokens": 900_000}, Obstacles()),
    ],
)
def test_one_request(given, found):
    assert obstacles([event(**given)]) == found


def test_the_window_that_is_known_goes_before_one_that_is_assumed():
    large = event(model=OTHER, raw_tokens=150_000)
    unknown = event(model=UNKNOWN, raw_tokens=150_000)
    assert obstacles([large], window=100_000) == Obstacles(tokens=150_000, window=100_000)
    assert obstacles([large], assumed=100_000) == Obstacles()
    assert obstacles([unknown], assumed=100_000) == Obstacles(tokens=150_000, window=100_000)


def test_the_bill_tells_the_size_better_than_the_estimate():
    usage = Usage(cache_read=75_000, output=1_000)
    found = obstacles([event(model=OTHER, usage=usage)])
    assert found == Obstacles(tokens=226_000, window=200_000)


def test_the_largest_of_several_conversations_is_told():
    events = [event(model=OTHER, conversation=f"{size}", raw_tokens=size) for size in (5, 3, 4)]
    assert obstacles(events, window=2) == Obstacles(tokens=5, window=2)


def test_only_where_a_conversation_stands_now_counts():
    back_before_the_cliff = event(at=2.0, action="keep", cliffs=0)
    assert obstacles([back_before_the_cliff, event(at=1.0)]) == Obstacles()
    assert obstacles([event(at=2.0), event(at=1.0, cliffs=0)]) == Obstacles(thinking=True)


SUMMARISED = {"reason": "a summary; all but thinking", "cliffs": 0}


def test_a_history_that_was_summarised_is_no_more():
    assert obstacles([event(), event(at=1.0, **SUMMARISED)]) == Obstacles()


@pytest.mark.parametrize("given", [{"aborted": True}, {"status": 529}, {"status": 0}])
def test_a_summary_that_never_came_changes_nothing(given):
    assert obstacles([event(), event(at=1.0, **(SUMMARISED | given))]) == Obstacles(thinking=True)
