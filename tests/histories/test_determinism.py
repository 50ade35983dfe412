import os
import subprocess
import sys

from cuesta.testing.histories import ClientHistory, Feature

SCRIPT = """
import hashlib
from cuesta.testing.histories import ClientHistory
seen = hashlib.sha256()
for number in range(18):
    wire = ("anthropic", "openai_chat", "openai_responses")[number % 3]
    history = ClientHistory(number, turns=20, wire=wire)
    while (body := history.request()) is not None:
        seen.update(body)
        history.answer(lambda text, before: f"{len(text)}-{len(before)}")
print(seen.hexdigest())
"""


def bodies(sent):
    return [request.body for request in sent]


def test_a_seed_decides_every_byte_whatever_the_hash_seed_of_the_process():
    digests = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(digests) == 1


def test_seeds_differ(play, wire):
    one, two = (play(ClientHistory(seed, turns=3, wire=wire)) for seed in (1, 2))
    assert bodies(one) != bodies(two)


def test_seals_change_nothing_but_themselves(wire):
    history, other = (ClientHistory(3, turns=12, wire=wire) for _ in range(2))
    count = 0
    while (body := history.request()) is not None:
        assert other.request().replace(b"other", b"first") == body
        history.answer(lambda *_: "first")
        other.answer(lambda *_: "other")
        count += 1
    assert count >= 12


def test_the_label_says_how_to_make_the_history_again(play):
    drawn = frozenset({Feature.REWINDS, Feature.IMAGES})
    for history in (
        ClientHistory(5, turns=8),
        ClientHistory(6, features=drawn, model="claude-opus-5-5", turns=8, scale=2.0),
        ClientHistory(7, features=frozenset(), turns=3),
        ClientHistory(8, features=drawn, turns=3, wire="openai_chat"),
        ClientHistory(9, turns=9, wire="openai_responses"),
    ):
        sent = play(history)
        made_again = eval(repr(history))
        assert repr(history) in sent[-1].label
        assert f"request {len(sent)}," in sent[-1].label
        assert bodies(play(made_again)) == bodies(sent)
