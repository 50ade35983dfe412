"""Conversations played over a bench, and an independent eye on the bytes that were sent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from cuesta.core.ledger import Entry
from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.testing.driver import Bench, Driven
from cuesta.testing.histories import ClientHistory, Feature

COUNT = "/v1/messages/count_tokens"
MAIN = {"main", "retry"}

REWRITING = frozenset(
    {
        Feature.EDITS,
        Feature.FORKS,
        Feature.GROWING_LAST,
        Feature.REWINDS,
        Feature.TOOLS_CHANGE,
    }
)
"""After these, a request may be more than the one before with something behind it."""

OPTIONS = st.builds(
    CompactionOptions,
    profile=st.sampled_from(["default", "paper"]),
    threshold=st.sampled_from([5_000, 7_000, 10_000]),
)
"""Thresholds that a history of some twenty turns passes a few times."""


def histories(*without: Feature, model: str | None = None) -> st.SearchStrategy[ClientHistory]:
    """Histories long enough to cross several cliffs, each feature in about half of them."""
    possible = [feature for feature in Feature if feature not in without]
    drawn = st.tuples(*(st.booleans() for _ in possible)).map(
        lambda bits: frozenset(f for f, bit in zip(possible, bits, strict=True) if bit)
    )
    return st.builds(
        ClientHistory,
        seed=st.integers(0, 2**32 - 1),
        features=drawn,
        model=st.just(model),
        turns=st.integers(8, 26),
        scale=st.sampled_from([1.0, 1.6]),
    )


def steady(model: str | None = None) -> st.SearchStrategy[ClientHistory]:
    """Histories that only grow, and whose head, tools and system prompt stay."""
    return histories(*REWRITING, model=model)


def bench(options: CompactionOptions | None = None, *, seed: int = 0) -> Bench:
    """A fresh engine with an empty ledger."""
    return Bench(Engine(options or CompactionOptions(), seed=seed))


def fresh(options: CompactionOptions, old: Bench, *, seed: int = 7) -> Bench:
    """A fresh engine with a copy of a ledger."""
    return Bench(Engine(options, seed=seed), dict(old.ledger))


@dataclass(frozen=True)
class Step:
    """One request of a history and what became of it."""

    label: str
    body: bytes
    kind: str
    branch: int
    appended: bool
    driven: Driven

    @property
    def counts(self) -> bool:
        return self.kind == "count_tokens"


def mint(text: str, before: list[dict[str, Any]]) -> str:
    """Sign thinking with something that looks like a signature."""
    return hashlib.sha512(f"{len(before)} {text}".encode()).hexdigest() * 2


def requests(history: ClientHistory) -> Iterator[bytes]:
    """The bodies of a history, each answered."""
    while (body := history.request()) is not None:
        yield body
        history.answer(mint)


def play(history: ClientHistory, over: Bench) -> Iterator[Step]:
    """Send every request of a history over a bench, in order."""
    for body in requests(history):
        kind = history.request_kind
        path = COUNT if kind == "count_tokens" else "/v1/messages"
        driven = over.send(body, path=path)
        yield Step(history.label, body, kind, history.branch, history.appended, driven)


def entries(over: Bench) -> list[Entry]:
    """What the ledger holds."""
    return [Entry.from_json(record) for record in over.ledger.values()]


def messages(body: bytes) -> list[dict[str, Any]]:
    """The messages of a body, without cache markers, texts as blocks."""
    return [_plain(message) for message in json.loads(body)["messages"]]


def rest(body: bytes) -> dict[str, Any]:
    """Everything of a body but its messages."""
    return {key: value for key, value in json.loads(body).items() if key != "messages"}


def raw_messages(body: bytes) -> list[bytes]:
    """The raw messages of a body, cut by the standard library alone."""
    text = body.decode()
    decoder = json.JSONDecoder()
    at = _after(text, 0, "{")
    while True:
        at = _after(text, at, " ")
        key, at = decoder.raw_decode(text, at)
        at = _after(text, _after(text, at, ":"), " ")
        if key == "messages":
            break
        _, at = decoder.raw_decode(text, at)
        at = _after(text, at, ",")
    at = _after(text, at, "[")
    found = []
    while text[at : at + 1] != "]":
        _, end = decoder.raw_decode(text, at)
        found.append(text[at:end].encode())
        at = _after(text, end, " ")
        at = _after(text, at, ",") if text[at] == "," else at
    return found


def _after(text: str, at: int, mark: str) -> int:
    """Skip blanks, a mark, and blanks; a blank mark skips blanks only."""
    at = _blanks(text, at)
    if mark == " ":
        return at
    assert text[at] == mark
    return _blanks(text, at + 1)


def _blanks(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in " \t\r\n":
        at += 1
    return at


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    plain = {key: _plain(item) for key, item in value.items() if key != "cache_control"}
    if ("role" in plain or plain.get("type") == "tool_result") and isinstance(
        plain.get("content"), str
    ):
        plain["content"] = [{"type": "text", "text": plain["content"]}]
    return plain


def extends(before: bytes, after: bytes) -> bool:
    """Tell whether one body's messages are another's with something behind them.

    What was the last message may have grown.
    """
    old, new = messages(before), messages(after)
    if len(new) < len(old):
        return False
    *firm, last = old
    grown = new[len(firm)]
    same = {key: value for key, value in last.items() if key != "content"} == {
        key: value for key, value in grown.items() if key != "content"
    }
    blocks = last["content"]
    return new[: len(firm)] == firm and same and grown["content"][: len(blocks)] == blocks
