"""What every store does, on both of them."""

from __future__ import annotations

import threading

import pytest
from store_samples import entry, event, key

from cuesta.core.usage import Usage
from cuesta.store.bounds import MODEL_LIMIT, PATH_LIMIT, REASON_LIMIT, bounded
from cuesta.store.memory import MemoryStore
from cuesta.store.paths import state_folder
from cuesta.store.sqlite import open_store
from cuesta.store.totals import MODELS_LIMIT, OTHER


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    store = MemoryStore() if request.param == "memory" else open_store(tmp_path / "state")
    yield store
    store.close()


def test_a_fresh_store_is_healthy_and_empty(store):
    assert store.degraded == ""
    assert store.look_up([key(1)]) == (None, None)
    assert store.events(5) == []
    assert store.totals().to_dict()["requests"] == {}


def test_the_first_key_in_the_given_order_wins(store):
    store.commit(key(1), entry("one"))
    store.commit(key(2), entry("two"))
    assert store.look_up([key(9), key(2), key(1)]) == (key(2), entry("two"))
    assert store.look_up([key(1), key(2)]) == (key(1), entry("one"))
    assert store.look_up([]) == (None, None)


def test_a_later_commit_replaces_an_earlier_one(store):
    store.commit(key(1), entry("one"))
    store.commit(key(1), entry("other"))
    assert store.look_up([key(1)]) == (key(1), entry("other"))


def test_events_come_newest_first_and_by_run(store):
    for number in range(6):
        store.record(event(number, run="a" if number % 2 else ""))
    assert [e.at for e in store.events(3)] == [1005.0, 1004.0, 1003.0]
    assert [e.at for e in store.events(2, run="a")] == [1005.0, 1003.0]
    assert [e.at for e in store.events(9, run="")] == [1004.0, 1002.0, 1000.0]
    assert store.events(9, run="b") == []


def test_an_event_comes_back_whole(store):
    whole = event(
        new_cliff=True, cliffs=2, usage=Usage(1, 2, 3, 4, 5), run="r_1", seconds=0.25, aborted=True
    )
    store.record(whole)
    assert store.events(1) == [whole]


def test_totals_sum_by_action_and_model_and_price_what_is_billed(store):
    million = Usage(input=1_000_000)
    store.record(event(usage=million, raw_tokens=9, sent_tokens=4, run="a"))
    store.record(event(usage=million, subscription=True, action="replace", new_cliff=True))
    store.record(event(usage=million, model="someone-elses", external=True, new_cliff=True))
    store.record(event(model="", action="pass", aborted=True))
    totals = store.totals().to_dict()
    assert totals["requests"] == {"keep": 2, "replace": 1, "pass": 1}
    assert (totals["cliffs"], totals["external_cliffs"], totals["aborted"]) == (2, 1, 1)
    opus = totals["models"]["claude-opus-5"]
    assert (opus["dollars"], opus["list_dollars"]) == (5.0, 10.0)
    assert opus["usage"]["input"] == 2_000_000
    assert (opus["raw_tokens"], opus["sent_tokens"]) == (9, 4)
    assert totals["models"]["someone-elses"]["dollars"] is None
    assert store.totals(run="a").to_dict()["requests"] == {"keep": 1}


def test_many_threads_lose_nothing(store):
    def work(lane):
        for number in range(20):
            store.commit(key(100 * lane + number), entry(str(lane)))
            store.record(event(number, run=f"lane{lane}"))
            assert store.look_up([key(100 * lane + number)])[1] == entry(str(lane))

    lanes = [threading.Thread(target=work, args=(lane,)) for lane in range(1, 5)]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()
    assert len(store.events(1000)) == 80
    for lane in range(1, 5):
        assert len(store.events(1000, run=f"lane{lane}")) == 20
        assert all(store.look_up([key(100 * lane + n)])[0] for n in range(20))


def test_memory_is_bounded_and_forgets_what_was_used_longest_ago():
    store = MemoryStore(ledger_limit=2, event_limit=2)
    store.commit(key(1), entry())
    store.commit(key(2), entry())
    store.look_up([key(1)])
    store.commit(key(3), entry())
    assert store.look_up([key(2)]) == (None, None)
    assert store.look_up([key(1)])[0] == key(1)
    for number in range(5):
        store.record(event(number))
    assert [e.at for e in store.events(9)] == [1004.0, 1003.0]


def test_the_state_folder_can_be_chosen(tmp_path, monkeypatch):
    assert state_folder(str(tmp_path)) == tmp_path
    monkeypatch.setenv("HOME", str(tmp_path))
    assert state_folder("~/x") == tmp_path / "x"
    assert state_folder().name == "cuesta"


def test_models_beyond_the_limit_are_summed_together(store):
    for number in range(MODELS_LIMIT + 50):
        store.record(event(number, model=f"made-up-{number}", usage=Usage(input=1), status=200))
    store.record(event(model="claude-opus-5", usage=Usage(input=1_000_000), status=200))
    totals = store.totals().to_dict()
    assert len(totals["models"]) == MODELS_LIMIT + 1
    assert sum(model["requests"] for model in totals["models"].values()) == MODELS_LIMIT + 51
    assert totals["models"][OTHER]["requests"] >= 50
    assert len(totals["account"]["unpriced_models"]) <= MODELS_LIMIT + 1
    assert OTHER in totals["account"]["unpriced_models"]
    assert totals["account"]["cost_usd"] == 5.0


@pytest.mark.parametrize("name", ["path", "model", "reason"])
def test_text_is_kept_up_to_its_limit_and_cut_with_a_mark_above(name):
    limit = {"path": PATH_LIMIT, "model": MODEL_LIMIT, "reason": REASON_LIMIT}[name]
    whole = event(**{name: "x" * limit})
    assert bounded(whole) is whole
    cut = getattr(bounded(event(**{name: "x" * (limit + 1)})), name)
    assert cut == "x" * (limit - 3) + "..."


def test_answers_that_failed_are_counted(store):
    for status, aborted in ((200, False), (0, False), (0, True), (400, False), (529, False)):
        store.record(event(status=status, aborted=aborted))
    totals = store.totals().to_dict()
    assert (totals["unanswered"], totals["refused"], totals["aborted"]) == (1, 2, 1)
