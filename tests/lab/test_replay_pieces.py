"""A replay decides and puts together what the exchange does, over generated conversations."""

import hashlib
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from cuesta.core.digest import render
from cuesta.core.ledger import Entry
from cuesta.core.policy import profile
from cuesta.core.transcript import Role, outline
from cuesta.dialects.base import Dialect
from cuesta.dialects.registry import DIALECTS
from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.lab.prepared import Prepared, meter_of, prepare
from cuesta.lab.replay import DIGEST, FIXED, Replay, pieces, replay
from cuesta.protocols.lexicon import speaks_human
from cuesta.strategies.cliff import CliffStrategy
from cuesta.strategies.keep_all import KeepAll
from cuesta.testing.driver import Bench
from cuesta.testing.histories import ClientHistory, Feature
from cuesta.trace.session import Call, Session

_PATHS = {
    "anthropic": "/v1/messages",
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
}
_NOT_ONE_LINE = {
    Feature.EDITS, Feature.FORKS, Feature.REWINDS, Feature.TOOLS_CHANGE, Feature.GROWING_LAST,
    Feature.PREVIOUS_RESPONSE, Feature.COMPACTION_ITEMS, Feature.KEPT_HISTORY, Feature.SIDE_CALLS,
}  # fmt: skip
_THRESHOLDS = st.sampled_from([4_000, 6_000, 9_000])
_PROFILES = st.sampled_from(["paper", "default"])
_FEW = settings(max_examples=max(10, settings.default.max_examples // 2))


@dataclass(frozen=True)
class Saved:
    """A conversation as a file would hold it, and its last body."""

    body: bytes
    session: Session

    @property
    def dialect(self) -> Dialect:
        return DIALECTS[self.session.wire]

    def request(self, call: Call) -> bytes:
        """The body of one of its calls."""
        last = self.dialect.read(self.body)
        return self.dialect.splice(last, self.session.messages[: call.at])


def _mint(text, before):
    return hashlib.sha512(f"{len(before)} {text}".encode()).hexdigest()


def _saved(history: ClientHistory) -> Saved:
    body = b""
    while (now := history.request()) is not None:
        body = now if history.request_kind in {"main", "retry"} else body
        history.answer(_mint)
    dialect = DIALECTS[history.wire]
    request = dialect.read(body)
    roles = [dialect.parse(raw)[0].role for raw in request.messages]
    answers = [i for i, role in enumerate(roles) if role is Role.ASSISTANT]
    begins = [i for i in answers if i and roles[i - 1] is not Role.ASSISTANT]
    calls = tuple(Call(at, request.model) for at in (*begins, len(roles)))
    members = {str(n): raw for n, raw in enumerate(dialect.fixed(request))}
    messages = tuple(bytes(raw) for raw in request.messages)
    session = Session("made up", "one", history.wire, messages, calls, members, whole=True)
    return Saved(body, session)


@st.composite
def _conversations(draw):
    wire = draw(st.sampled_from(sorted(_PATHS)))
    possible = sorted(ClientHistory.possible(wire) - _NOT_ONE_LINE, key=lambda f: f.name)
    features = draw(st.frozensets(st.sampled_from(possible)))
    seed, turns = draw(st.integers(0, 2**32 - 1)), draw(st.integers(6, 24))
    history = ClientHistory(seed, features, turns=turns, scale=1.6, wire=wire)
    return _saved(history)


def _sizes(saved: Saved, raw: list[bytes]) -> list[int]:
    """What messages weigh, as the exchange weighs them."""
    meter = meter_of(saved.session)
    read = [saved.dialect.parse(message) for message in raw]
    return [outline(m, d, meter, human=speaks_human(m)).tokens for m, d in read]


def _expected(saved: Saved, prepared: Prepared, replayed: Replay, step: int, policy) -> list[bytes]:
    """Put a step's prompt together from its pieces, message by message."""
    call, cliff = prepared.calls[step], replayed.cliffs[step]
    transcript = prepared.until(call.at)
    if policy.head_to_first_human:
        transcript = transcript.to_first_human()
    sent: list[bytes] = []
    for (i, treatment), _ in pieces(prepared, transcript, cliff):
        if i == DIGEST:
            text = render(replayed.digests[treatment], meter_of(saved.session)).text
            sent[-1:] = saved.dialect.with_digest(sent[-1], text)
        elif i != FIXED:
            raw = saved.session.messages[i]
            kept = saved.dialect.without_thinking(raw) if treatment else raw
            sent += [kept] if kept is not None else []
    return sent


@given(_conversations(), _THRESHOLDS, _PROFILES)
def test_each_prompt_is_sent_as_the_replay_says_and_at_the_same_cliffs(saved, threshold, name):
    policy = profile(name, threshold=threshold)
    bench = Bench(Engine(CompactionOptions(profile=name, threshold=threshold)))
    prepared = prepare(saved.session)
    replayed = replay(prepared, CliffStrategy(), policy)
    for number, call in enumerate(prepared.calls):
        driven = bench.send(saved.request(call), path=_PATHS[saved.session.wire])
        assert driven.event.action == ("replace" if replayed.cliffs[number] else "keep")
        sent = list(saved.dialect.read(driven.body).messages)
        assert sent == _expected(saved, prepared, replayed, number, policy)
    entries = [Entry.from_json(record) for record in bench.ledger.values()]
    assert {entry.cliffs[-1] for entry in entries} == {c for c in replayed.cliffs if c}


@given(_conversations(), _THRESHOLDS, _PROFILES)
def test_a_prompt_is_as_large_as_the_messages_it_is_made_of(saved, threshold, name):
    policy = profile(name, threshold=threshold)
    prepared = prepare(saved.session)
    replayed = replay(prepared, CliffStrategy(), policy)
    fixed = sum(meter_of(saved.session).raw(raw) for raw in saved.session.members.values())
    assert (prepared.fixed, prepared.hidden, prepared.scale) == (fixed, 0, 1.0)
    for number, step in enumerate(replayed.steps):
        call, cliff = prepared.calls[number], replayed.cliffs[number]
        transcript = prepared.until(call.at)
        if policy.head_to_first_human:
            transcript = transcript.to_first_human()
        laid = list(pieces(prepared, transcript, cliff))
        assert step.prompt == sum(tokens for _, tokens in laid)
        whole = [i for (i, treatment), _ in laid if i >= 0 and not treatment]
        raw = [saved.session.messages[i] for i in whole]
        sizes = [tokens for (i, treatment), tokens in laid if i >= 0 and not treatment]
        assert sizes == _sizes(saved, raw)
        for (i, treatment), tokens in laid:
            if i == DIGEST:
                text = render(replayed.digests[treatment], meter_of(saved.session))
                assert (text.hash, text.tokens) == (treatment, tokens)


@given(_conversations(), _THRESHOLDS, _PROFILES)
def test_what_prompts_have_in_common_is_counted_token_for_token(saved, threshold, name):
    prepared = prepare(saved.session)
    replayed = replay(prepared, CliffStrategy(), profile(name, threshold=threshold))
    before: list[object] = []
    for number, step in enumerate(replayed.steps):
        policy = profile(name, threshold=threshold)
        transcript = prepared.until(prepared.calls[number].at)
        if policy.head_to_first_human:
            transcript = transcript.to_first_human()
        laid = pieces(prepared, transcript, replayed.cliffs[number])
        tokens = [(what, n) for what, size in laid for n in range(size)]
        same = next(
            (n for n, (a, b) in enumerate(zip(before, tokens, strict=False)) if a != b),
            min(len(before), len(tokens)),
        )
        assert step.common == same
        assert step.prompt == len(tokens)
        before = tokens


@_FEW
@given(_conversations())
def test_with_nothing_dropped_each_prompt_is_the_one_before_and_more(saved):
    replayed = replay(prepare(saved.session), KeepAll(), profile("paper"))
    before = 0
    for step in replayed.steps:
        assert (step.common, step.cliff) == (before, False)
        before = step.prompt
    assert list(replayed.layouts) == [0]


def test_the_conversations_above_cross_cliffs():
    crossed = 0
    for seed in range(6):
        for wire in _PATHS:
            history = ClientHistory(seed, frozenset(), turns=24, scale=1.6, wire=wire)
            prepared = prepare(_saved(history).session)
            replayed = replay(prepared, CliffStrategy(), profile("paper", threshold=6_000))
            crossed += len({cliff for cliff in replayed.cliffs if cliff}) >= 2
    assert crossed >= 10
