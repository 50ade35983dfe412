import json
from dataclasses import dataclass

import pytest
from history_shapes import WIRES

from cuesta.testing.histories import ClientHistory


@dataclass(frozen=True)
class Sent:
    """One request as it was made, and what the history said of it."""

    body: bytes
    kind: str
    branch: int
    appended: bool
    broken: str
    label: str
    path: str
    answered: list

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def main(self):
        return self.kind in {"main", "retry"}


def play_history(history: ClientHistory, *, answering: bool = True) -> list[Sent]:
    minted = 0

    def mint(text, before):
        nonlocal minted
        minted += 1
        assert all("type" in block for block in before)
        return f"sig-{minted}-{len(text)}"

    sent = []
    while (body := history.request()) is not None:
        now = (history.request_kind, history.branch, history.appended, history.broken)
        told = (history.label, history.path)
        blocks = history.answer(mint) if answering else []
        sent.append(Sent(body, *now, *told, blocks))
    return sent


@pytest.fixture
def play():
    return play_history


@pytest.fixture(params=WIRES)
def wire(request):
    return request.param
