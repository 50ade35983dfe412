"""When a cliff is written down, and for whom."""

from conversations import OPTIONS, bench, histories, play, requests
from hypothesis import given

from cuesta.exchange.engine import Engine
from cuesta.testing.driver import Bench


@given(histories(), OPTIONS)
def test_whatever_is_written_is_written_before_its_request_leaves(history, options):
    at_send = []
    over = Bench(Engine(options), refuse=lambda _: at_send.append(dict(over.ledger)))
    for step in play(history, over):
        assert over.ledger == at_send[-1], step.label


@given(histories(), OPTIONS)
def test_tenants_with_the_same_conversation_share_no_entry(history, options):
    over, alone = bench(options), bench(options)
    for body in requests(history):
        path = history.path.partition("?")[0]
        one = over.send(body, path=path, place=("host", "one"))
        known = dict(over.ledger)
        other = over.send(body, path=path, place=("host", "other"))
        assert over.ledger.items() >= known.items()
        assert other.body == one.body == alone.send(body, path=path).body, history.label
        assert len(over.ledger) == 2 * len(alone.ledger)
    assert not over.ledger.keys() & alone.ledger.keys()
