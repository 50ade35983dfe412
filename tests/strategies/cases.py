"""Conversations as a strategy sees them: sizes and marks, no texts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from cuesta.core.digest import NOTHING, RENDERER, Rendered
from cuesta.core.ledger import Cliff, Entry
from cuesta.core.models import checks_prefixes, read_model
from cuesta.core.policy import Policy, profile
from cuesta.core.transcript import Outline, Role, Transcript, read_transcript
from cuesta.strategies.base import Case, Decision, Keep, Replace
from cuesta.strategies.cliff import CliffStrategy

PLAIN = "claude-sonnet-4-5"
CHECKING = "claude-opus-5-5"
DIGEST_TOKENS = 100


@dataclass(frozen=True)
class Step:
    """One turn: an assistant message of a few tokens, and a user message of the rest.

    `thinks` tells how many tokens of thinking stand in the assistant's message beside the rest,
    `said` how many the person said in a message of their own behind the results, `reclaim` how many
    of the rest go when results are cleared.
    """

    tokens: int
    thinks: int = 0
    only_thinks: bool = False
    open: bool = False
    barrier: bool = False
    pinned: bool = False
    system: bool = False
    said: int = 0
    reclaim: int = 0

    def outlines(self, number: int) -> list[Outline]:
        """The turn's messages."""
        call = () if self.only_thinks else (f"call{number}",)
        size = self.thinks + (0 if self.only_thinks else 10)
        asked = Outline(
            b"a", Role.ASSISTANT, size, thinking=self.thinks, opens=call,
            thinks=self.thinks > 0, only_thinks=self.only_thinks,
        )  # fmt: skip
        answers = () if self.open else call
        told = Outline(
            b"u", Role.USER, self.tokens - size, answers=answers,
            barrier=self.barrier, pinned=self.pinned, reclaim=self.reclaim,
        )  # fmt: skip
        notice = [Outline(b"s", Role.SYSTEM, 0)] if self.system else []
        words = [Outline(b"w", Role.USER, self.said, human=True)] if self.said else []
        return [asked, told, *words, *notice]


def transcript(steps: Sequence[Step], head: int = 1_000) -> Transcript:
    """A conversation with one user message in its head."""
    messages = [Outline(b"h", Role.USER, head, human=True)]
    for number, step in enumerate(steps):
        messages += step.outlines(number)
    return read_transcript(messages)


def rendered(previous: int, cut: int, threshold: int) -> Rendered:
    """A digest of fixed size that names what it was made from."""
    if cut <= previous:
        return NOTHING
    text = f"{previous} {cut} {threshold}"
    return Rendered(text, DIGEST_TOKENS, hashlib.sha256(text.encode()).hexdigest())


def case(
    steps: Sequence[Step],
    *,
    known: Entry | None = None,
    answered: bool = False,
    policy: Policy | None = None,
    model: str = PLAIN,
    window: int | None = None,
    fixed: int = 1_000,
    demand: str = "",
) -> Case:
    """A request whose conversation has these turns; system, tools and head take 2,000 tokens."""
    return Case(
        transcript=transcript(steps),
        fixed=fixed,
        model=read_model(model),
        window=window,
        policy=policy or profile("default"),
        known=known,
        answered=answered,
        render=rendered,
        binds_thinking=checks_prefixes(read_model(model)),
        demand=demand,
    )


def decide(steps: Sequence[Step], **rest: object) -> Decision:
    """What the cliff strategy decides."""
    return CliffStrategy().decide(case(steps, **rest))


def replaced(steps: Sequence[Step], **rest: object) -> Replace:
    """The decision, which must be to send a compacted form."""
    decision = decide(steps, **rest)
    assert isinstance(decision, Replace), decision
    return decision


def kept(steps: Sequence[Step], **rest: object) -> Keep:
    """The decision, which must be to keep the client's bytes."""
    decision = decide(steps, **rest)
    assert isinstance(decision, Keep), decision
    return decision


def entry(*cliffs: Cliff, policy: Policy | None = None, foreign: bool = False) -> Entry:
    """What the ledger would hold."""
    return Entry(policy or profile("default"), "cliff", RENDERER, cliffs, foreign=foreign)


def cliff(cut: int, border: int, *, previous: int = 0, **changes: object) -> Cliff:
    """A cliff as it would have been recorded."""
    threshold = changes.get("threshold", 32_000)
    digest = rendered(previous, cut, threshold)
    values = {
        "cut": cut,
        "border": border,
        "messages": 1 + 2 * border,
        "threshold": threshold,
        "fixed": 1_000,
        "family": PLAIN,
        "strip": False,
        "external": False,
        "digest": digest.hash,
        "digest_tokens": digest.tokens,
    }
    return Cliff(**{**values, **changes})
