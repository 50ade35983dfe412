"""Several engines over one ledger: what one has attached to, the others serve as it was sent."""

import pytest
from conversations import histories
from hypothesis import given
from hypothesis import strategies as st
from wire import CHECKING, PLAIN, body, talk, turn

from cuesta.dialects.registry import DIALECTS
from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.testing.driver import Bench

OPTIONS = CompactionOptions(threshold=8_000)


class Counting:
    """A dialect that counts what it parses."""

    def __init__(self, dialect):
        self._dialect = dialect
        self.parsed = 0

    def __getattr__(self, name):
        return getattr(self._dialect, name)

    def parse(self, message):
        self.parsed += 1
        return self._dialect.parse(message)


def workers(count=2):
    """Benches of separate engines that share a ledger, each with its counting dialect."""
    ledger = {}
    dialects = [Counting(DIALECTS["anthropic"]) for _ in range(count)]
    engines = [Engine(OPTIONS, dialects={"anthropic": dialect}) for dialect in dialects]
    return [Bench(engine, ledger) for engine in engines], dialects


@pytest.mark.parametrize("model", [PLAIN, CHECKING])
def test_a_large_attach_is_done_once(model):
    (first, second), (_, counted) = workers()
    messages = talk(60, thinks=True)
    attached = first.send(body(messages, model=model))
    assert attached.event.cliffs > 3
    entries = dict(first.ledger)

    served = second.send(body(messages, model=model))
    assert served.body == attached.body
    assert not served.event.new_cliff

    for number in range(60, 64):
        counted.parsed = 0
        messages += turn(number, size=200, thinks=True)
        served = second.send(body(messages, model=model))
        assert not served.event.new_cliff
        assert counted.parsed <= 2 + 1  # the new messages, and the last once more for its words
    assert second.ledger == entries


@given(history=histories(), turns=st.lists(st.integers(0, 1), min_size=80, max_size=80))
def test_which_worker_serves_a_request_changes_no_byte(history, turns):
    several, _ = workers()
    alone = Bench(Engine(OPTIONS))
    number = 0
    while (raw := history.request()) is not None:
        path = history.path.partition("?")[0]
        bench = several[turns[number % len(turns)]]
        assert bench.send(raw, path=path).body == alone.send(raw, path=path).body
        history.answer(lambda text, _: f"sealed {text}")
        number += 1
