"""Steps 3 to 6 of a request: read, match, plan, splice.

Whatever goes wrong here is caught in one place, `engine.Engine`, and answered by `fallback`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace

from cuesta.core.chain import NO_LINKS, Links, NewestFirst, stem
from cuesta.core.compact import Source, fold
from cuesta.core.digest import NOTHING, RENDERER, Rendered, render
from cuesta.core.ledger import Cliff, Entry
from cuesta.core.meter import round_up
from cuesta.core.models import checks_prefixes, read_model, window_of
from cuesta.core.policy import Policy, ladder
from cuesta.core.readings import Bill
from cuesta.core.transcript import block_hashes
from cuesta.core.usage import Usage
from cuesta.exchange.events import Command, Commit, Event, Found, LookUp
from cuesta.exchange.memory import Frozen, Recent, Seen, last_seen
from cuesta.exchange.options import CompactionOptions
from cuesta.exchange.reading import Body, Reader, Reading
from cuesta.exchange.summaries import LOST, Summaries, without_summary
from cuesta.exchange.view import View, sent_tokens, view
from cuesta.protocols.lexicon import HarnessLexicon
from cuesta.protocols.sidecalls import side_call
from cuesta.protocols.summaries import asks_for_summary
from cuesta.protocols.text_actions import PROTOCOLS
from cuesta.strategies.base import AskModel, Case, Keep, Replace, Strategy

_LEXICON = HarnessLexicon()
_NOBODY = Found(None, None)
UNDECIDED = "text-protocol"
"""Says that a conversation's text protocol is still to be decided."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is sent for a request, and what a trace tells of it.

    Attributes:
        body: The bytes, or None: the original ones.
        action: `keep`, `replace` or `pass`.
        reason: Why, in a few words.
        model: The model's name.
        links: The conversation's chain; empty for a side call.
        head: How many messages its head has.
        cliffs: All cliffs, the last one in force.
        new: Whether the last one falls with this request.
        raw_tokens: Estimated prompt tokens of the client's own body.
        sent_tokens: Estimated prompt tokens of what is sent.
        threshold: In force for the next cliff, in tokens; 0 where none is fixed yet.
        rung: The step of the policy's ladder in force.
        strategy: The strategy that decided; empty where none was asked.
        window: The model's context window in tokens; 0 where it is not known.
    """

    body: bytes | None
    action: str
    reason: str
    model: str
    links: Links = NO_LINKS
    head: int = 0
    cliffs: tuple[Cliff, ...] = ()
    new: bool = False
    raw_tokens: int = 0
    sent_tokens: int = 0
    threshold: int = 0
    rung: int = 0
    strategy: str = ""
    window: int = 0


@dataclass(slots=True)
class Attempt:
    """One try at planning a request.

    Attributes:
        body: The decompressed body.
        read_only: Whether nothing may be written (a token count).
        rung: The step of the policy's ladder to plan with.
        demand: Why the form in force cannot be sent, or empty.
        turn: Whether it is known to be a turn of its conversation, so that no recogniser is asked.
        committing: Whether a new cliff may have been written by now.
        upstream: The host that the request is for.
        tenant: Who asks; see `events.Arrived`.
        asked: What questions of our own were billed in this exchange, None where that is not known.
    """

    body: bytes
    read_only: bool
    rung: int = 0
    demand: str = ""
    turn: bool = False
    committing: bool = False
    upstream: str = ""
    tenant: str = ""
    asked: list[Usage | None] = field(default_factory=list)


class Planner:
    """Plans requests of one dialect under one set of options.

    Args:
        reader: Reads the dialect's requests.
        strategy: When to drop.
        options: What the operator chose.
        memory: Filled with what each epoch begins with, for `fallback`; and the last requests with
            their bills.
    """

    def __init__(
        self,
        reader: Reader,
        strategy: Strategy,
        options: CompactionOptions,
        memory: tuple[Recent[bytes, Frozen], Recent[bytes, Seen]],
    ) -> None:
        self._reader = reader
        self._dialect = reader.dialect
        self._strategy = strategy
        self._ladder = ladder(options.policy())
        self._window = options.window
        self._frozen, self._seen = memory
        self._summaries = Summaries(reader.dialect, asks=not options.shadow)
        self._treatments: Recent[tuple[str, str, str], bool] = Recent(10_000)
        self._digests: Recent[tuple[object, ...], Rendered] = Recent(
            3 << 20, lambda rendered: len(rendered.text) + 200
        )

    def rung_below(self, plan: Plan) -> int:
        """Return the rung to plan with where the form of a plan is too long.

        The lowest one is used again: what has grown since its last cliff can still be dropped.
        """
        return min(plan.rung + 1, len(self._ladder) - 1) if plan.cliffs else 0

    def binds_thinking(self, attempt: Attempt, model: str) -> bool:
        """Tell whether a model is taken to refuse thinking produced behind another prefix."""
        read = read_model(model)
        learnt = self._treatments.get((read.key, attempt.upstream, attempt.tenant))
        return checks_prefixes(read) if learnt is None else learnt

    def treat_thinking(self, attempt: Attempt, model: str, *, binds: bool) -> None:
        """Remember what a refusal has told about a model's thinking, for this upstream."""
        key = read_model(model).key
        self._treatments.put((key, attempt.upstream, attempt.tenant), binds)

    def plan(self, attempt: Attempt) -> Generator[Command, Event, Plan]:
        """Plan one request.

        Raises:
            RequestError: If the body is malformed: it then passes untouched.
        """
        body = self._reader.cut(attempt.body, attempt.tenant)
        request = body.request
        facts = self._dialect.facts(request)
        aside = "" if attempt.turn else side_call(facts)
        if aside:
            return Plan(None, "pass", aside, request.model)
        if not request.messages:
            return Plan(None, "pass", "no messages", request.model)
        reading = self._reader.read(attempt.body, attempt.tenant, body)
        links = reading.links
        found = yield from self._found(attempt, reading)
        derived, reading = reading.speech, self._as_before(body, reading, found.entry)
        case = self._case(attempt, reading, found)
        case = replace(case, otherwise=reading.speech.protocol != derived.protocol)
        last = reading.message(len(links) - 1)
        if not attempt.turn and asks_for_summary(facts, last, calls=reading.first_call is not None):
            return self._summarised(attempt, reading, case)
        undecided = reading.speech.open and not (case.known and case.known.cliffs)
        decision = Keep(UNDECIDED) if undecided else self._strategy.decide(case)
        if isinstance(decision, Keep):
            tokens = case.fixed + case.transcript.tokens
            return Plan(
                None, "keep", decision.reason, request.model, links, reading.whole.head,
                raw_tokens=tokens, sent_tokens=tokens, threshold=decision.threshold,
                strategy=self._strategy.name, window=case.window or 0,
            )  # fmt: skip
        if isinstance(decision, AskModel):
            decision = yield from self._summary(attempt, reading, case, decision)
        return (yield from self._replace(attempt, reading, case, found, decision))

    def _as_before(self, body: Body, reading: Reading, known: Entry | None) -> Reading:
        """Read a conversation as it was read when its last cliff fell, whatever is decided now."""
        if known is None or not known.cliffs or known.protocol == reading.speech.protocol:
            return reading
        protocol = known.protocol if known.protocol in PROTOCOLS else ""
        return self._reader.read_again(body, reading, protocol)

    def _summary(
        self, attempt: Attempt, reading: Reading, case: Case, wanted: AskModel
    ) -> Generator[Command, Event, Replace]:
        """Have a summary written; where there is none to be had, a digest stands in its place."""
        *before, cliff = wanted.cliffs
        previous = before[-1].cut if before else 0
        digest, reason = None, wanted.reason
        if not attempt.read_only and not attempt.asked:
            source = Source(case.transcript, reading.message, _LEXICON, reading.memo)
            digest = yield from self._summaries.write(
                source, reading, wanted.cliffs, case, attempt.asked
            )  # fmt: skip
        if digest is None:
            reason += "; a digest in place of a summary"
        stands = digest or case.render(previous, cliff.cut, cliff.threshold)
        cliff = replace(
            cliff, digest=stands.hash, digest_tokens=stands.tokens, summary=digest is not None
        )
        return Replace((*before, cliff), new=True, reason=reason)

    def _found(self, attempt: Attempt, reading: Reading) -> Generator[Command, Event, Found]:
        """Find the epoch in force.

        One that nobody can derive again is found although its last message has grown since.
        """
        links = reading.links
        found = yield from _look_up(NewestFirst(links))
        if found.entry is None or found.key != stem(links):
            return found
        began = found.entry.stem
        if block_hashes(reading.written(len(links) - 1))[: len(began)] != began:
            return (yield from _look_up(NewestFirst(links)[2:]))
        entry = replace(found.entry, stem=())
        if not attempt.read_only:
            yield Commit(links[-1], entry)
        return Found(links[-1], entry)

    def _summarised(self, attempt: Attempt, reading: Reading, case: Case) -> Plan:
        """Send what a harness wants summarised: all of it where it fits, and nothing is written.

        Before the first cliff the original bytes. After it the original without the thinking that
        would be refused, while that fits the window; then the compacted view.
        """
        request, known = reading.request, case.known
        size = case.fixed + case.transcript.tokens
        whole = Plan(
            None, "keep", "a summary of the history", request.model, reading.links,
            reading.whole.head, raw_tokens=size, sent_tokens=size, window=case.window or 0,
        )  # fmt: skip
        if known is None or not known.cliffs:
            return whole
        if attempt.demand or (case.window is not None and size > case.window):
            sent = self._view(reading, known)
            return replace(
                whole, action="replace", reason="a summary; all of it would not fit",
                body=self._dialect.splice(request, sent.messages), cliffs=known.cliffs,
                sent_tokens=case.fixed + sent_tokens(case.transcript, known.cliffs[-1]),
            )  # fmt: skip
        if not case.binds_thinking:
            return whole
        thoughtless = map(self._dialect.without_thinking, request.messages)
        body = self._dialect.splice(request, [message for message in thoughtless if message])
        return replace(
            whole, action="replace", reason="a summary; all but thinking", body=body,
            sent_tokens=size - case.transcript.turns.sums.thinking[-1],
        )  # fmt: skip

    def _view(self, reading: Reading, entry: Entry) -> View:
        """Build what is sent under an entry's last cliff."""
        messages, transcript = reading.request.messages, reading.transcript(entry.policy)
        digest = self._digest(reading, entry)
        return view(self._dialect, messages, transcript, entry.cliffs[-1], digest.text)

    def _case(self, attempt: Attempt, reading: Reading, found: Found) -> Case:
        """Lay a request before the strategy."""
        policy = self._ladder[attempt.rung]
        lost = found.entry is not None and self._summaries.is_lost(found.entry)
        fixed = self._reader.fixed(reading)
        model = read_model(reading.request.model)
        return Case(
            transcript=reading.transcript(policy),
            fixed=round_up(fixed) if policy.round_fixed else fixed,
            model=model,
            window=self._window or window_of(model),
            policy=policy,
            known=without_summary(found.entry) if found.entry and lost else found.entry,
            answered=found.key == reading.links[-1],
            render=lambda previous, cut, threshold: self._render(
                reading, policy, (previous, cut), threshold
            ),
            binds_thinking=self.binds_thinking(attempt, reading.request.model),
            demand=attempt.demand or (LOST if lost else self._stale(reading, found.entry)),
            bill=self._bill(reading.links, model.key),
        )

    def _bill(self, links: Sequence[bytes], family: str) -> Bill | None:
        """Return the conversation's last bill, if it is known and of the same model."""
        seen = last_seen(self._seen, links)
        return seen.bill if seen is not None and seen.family == family else None

    def _stale(self, reading: Reading, known: Entry | None) -> str:
        """Say why a known cliff's digest cannot be rendered again, or nothing."""
        if known is None or not known.cliffs:
            return ""
        same = known.renderer == RENDERER and self._digest(reading, known).hash == (
            known.cliffs[-1].digest
        )
        return "" if same else "the digest renders to other bytes"

    def _digest(self, reading: Reading, entry: Entry) -> Rendered:
        """Render the digest in force, if there is one, from the request's own messages."""
        last = entry.cliffs[-1]
        if last.summary or not last.digest:
            return self._summaries.of(last) or NOTHING
        previous = entry.cliffs[-2].cut if len(entry.cliffs) > 1 else 0
        return self._render(reading, entry.policy, (previous, last.cut), last.threshold)

    def _render(
        self, reading: Reading, policy: Policy, cuts: tuple[int, int], threshold: int
    ) -> Rendered:
        """Render a stretch of turns, once for as long as it is remembered."""
        previous, cut = cuts
        if cut <= previous:
            return NOTHING
        transcript = reading.transcript(policy)
        protocol = reading.speech.protocol
        under_the_cut = reading.links[transcript.turns[cut - 1].stop - 1]
        key = (under_the_cut, policy, cuts, threshold, reading.meter.name, protocol)
        rendered = self._digests.get(key)
        if rendered is None:
            source = Source(transcript, reading.message, _LEXICON, reading.memo)
            rendered = render(fold(source, previous, cut, policy, threshold), reading.meter)
            self._digests.put(key, rendered)
        return rendered

    def _replace(
        self,
        attempt: Attempt,
        reading: Reading,
        case: Case,
        found: Found,
        decision: Replace,
    ) -> Generator[Command, Event, Plan]:
        """Splice the compacted form, and write a new cliff before anything leaves."""
        request, links = reading.request, reading.links
        entry = found.entry
        if decision.new or entry is None:
            foreign = case.answered and case.known is not None and case.known.foreign
            entry = Entry(
                policy=case.policy,
                strategy=self._strategy.name,
                renderer=RENDERER,
                cliffs=decision.cliffs,
                rung=attempt.rung,
                foreign=foreign,
                protocol=reading.speech.protocol,
            )
        cliff = entry.cliffs[-1]
        transcript = reading.transcript(entry.policy)
        sent = self._view(reading, entry)
        body = self._dialect.splice(request, sent.messages)
        if decision.new:
            if not attempt.read_only:
                attempt.committing = True
                yield Commit(links[-1], entry)
                if (cliff.external or cliff.summary) and len(links) > 1:
                    began = block_hashes(reading.written(len(links) - 1))
                    yield Commit(stem(links), replace(entry, stem=began))
                if not entry.foreign:
                    self._frozen.put(links[-1], sent.frozen(len(links), entry))
        elif found.key is not None and not entry.foreign and found.key not in self._frozen:
            self._frozen.put(found.key, sent.frozen(links.index(found.key) + 1, entry))
        return Plan(
            body, "replace", decision.reason, request.model, links, reading.whole.head,
            entry.cliffs, decision.new,
            raw_tokens=case.fixed + transcript.tokens,
            sent_tokens=case.fixed + sent_tokens(transcript, cliff),
            threshold=cliff.threshold,
            rung=entry.rung,
            strategy=entry.strategy,
            window=case.window or 0,
        )  # fmt: skip


def _look_up(keys: Sequence[bytes]) -> Generator[Command, Event, Found]:
    answer = yield LookUp(keys)
    return answer if isinstance(answer, Found) else _NOBODY
