"""What is on Anthropic's wire for a seed stays as it is, whatever else the generator learns."""

import hashlib
import json
from itertools import islice

import pytest

from cuesta.testing.histories import ClientHistory, Feature

FIRST = frozenset(islice(Feature, 27))
MODELS = ("claude-opus-5-5", "claude-haiku-4-5", "claude-opus-4-8", "claude-sonnet-5-5")
HISTORIES = {
    "drawn": lambda: [ClientHistory(seed, turns=30) for seed in range(8)],
    "every feature": lambda: [ClientHistory(seed, FIRST, turns=30) for seed in range(4)],
    "no feature": lambda: [ClientHistory(seed, frozenset(), turns=10) for seed in range(4)],
    "models": lambda: [
        ClientHistory(seed, model=model, turns=12, scale=2.0) for seed, model in enumerate(MODELS)
    ],
}
GOLDEN = {
    ("drawn", True): "c1c35b8be29fcc431b125444b7fb18ee0995d38928042fb72938ff1d4df9bed3",
    ("drawn", False): "1b6b6308e4ff21754e6589a51e6acd68392319d47eb8e9f564b3b4b7fc46527f",
    ("every feature", True): "dfde6145d5198d0e2967a6f7560cc763fe95944377bdbc43c9b9cbcb45e0d072",
    ("every feature", False): "af0f5035a448c2ddae7980845cad5c9e00408a2699cd632c69997104d2c70bb3",
    ("no feature", True): "a8757c16456bf9bfb9d79b34d5ec1bdb351af4075155faf3c843187f1c7ce22f",
    ("no feature", False): "7b8192c70c423eacb97911b347f6db1d84cd30eac0a2f8d2980fb9837564c0b5",
    ("models", True): "0bdee5460630cbba84c0b4ba75ac5c6d73703f88ee6612f79305e59eb06aeb63",
    ("models", False): "7416a957ad31ce8a7488105b09606f511b87d442817cbaac50e736af5d785f6c",
}


def told(history):
    """What a history says of its latest request."""
    return [
        history.headers,
        history.path,
        history.request_kind,
        history.branch,
        history.appended,
        history.broken,
        history.label,
        history.checks,
        history.model,
    ]


def feed(seen, history, *, answering):
    """Hash everything that a driver can see; without `answering` each third request is lost."""
    number = 0
    while (body := history.request()) is not None:
        number += 1
        seen.update(body)
        said = told(history)
        if answering or number % 3:
            said.append(history.answer(lambda text, before: f"{len(text)}-{len(before)}"))
        seen.update(json.dumps(said).encode())
    counts = sorted((feature.name, count) for feature, count in history.features.items())
    seen.update(json.dumps(counts).encode())
    seen.update(json.dumps(sorted(feature.name for feature in history.drawn)).encode())


@pytest.mark.parametrize(("kind", "answering"), GOLDEN)
def test_what_stands_on_anthropics_wire_for_a_seed_stays(kind, answering):
    seen = hashlib.sha256()
    for history in HISTORIES[kind]():
        feed(seen, history, answering=answering)
    assert seen.hexdigest() == GOLDEN[kind, answering]
