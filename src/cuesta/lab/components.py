"""What a prompt and a bill are made of: tool results, tool calls, thoughts, system prompt and task.

The rows of the paper's Table 7, and one for what the user says later. Sizes are anchored as the
messages are; within a message and within a digest they are shared out by estimate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

from cuesta.core.digest import Digest, PartKind
from cuesta.core.transcript import Block, BlockKind, Message, Role, outline
from cuesta.lab.prepared import Prepared, meter_of
from cuesta.lab.replay import CLEARED, DIGEST, FIXED, Piece, Replay


@dataclass(frozen=True, slots=True)
class Parts:
    """Tokens by what they are.

    Attributes:
        results: Tool results.
        calls: Tool calls.
        thoughts: What the model wrote beside its calls, thinking included.
        task: System prompt, tools, and every message before the first model output.
        user: What the user, or the harness in the user's place, said later.
    """

    results: float = 0
    calls: float = 0
    thoughts: float = 0
    task: float = 0
    user: float = 0

    def __add__(self, other: Parts) -> Parts:
        """Return the sum, part by part."""
        return Parts(
            self.results + other.results,
            self.calls + other.calls,
            self.thoughts + other.thoughts,
            self.task + other.task,
            self.user + other.user,
        )

    def __sub__(self, other: Parts) -> Parts:
        """Return the difference, part by part."""
        return Parts(
            self.results - other.results,
            self.calls - other.calls,
            self.thoughts - other.thoughts,
            self.task - other.task,
            self.user - other.user,
        )

    def scaled(self, tokens: float) -> Parts:
        """Return the same mixture of another size; of nothing, thoughts."""
        total = self.total
        if not total:
            return Parts(thoughts=tokens)
        each = tokens / total
        return Parts(
            self.results * each,
            self.calls * each,
            self.thoughts * each,
            self.task * each,
            self.user * each,
        )

    @property
    def values(self) -> tuple[float, ...]:
        """The parts in the order in which they are declared."""
        return (self.results, self.calls, self.thoughts, self.task, self.user)

    @property
    def total(self) -> float:
        """All tokens."""
        return self.results + self.calls + self.thoughts + self.task + self.user


NAMES = tuple(field.name for field in fields(Parts))
"""The parts' names, in order."""


@dataclass(frozen=True, slots=True)
class Made:
    """What one step is made of.

    Attributes:
        prompt: The whole prompt.
        cached: The part of it that was in the cache.
        output: What the model answered.
    """

    prompt: Parts
    cached: Parts
    output: Parts


class Components:
    """What the messages of one session are made of.

    Attributes:
        prepared: The session.
    """

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self._meter = meter_of(prepared.session)

    def steps(self, replay: Replay, cached: Sequence[int]) -> Iterator[Made]:
        """Yield what each step is made of.

        Args:
            replay: The session under a strategy.
            cached: How many tokens of each step's prompt were read from the cache.
        """
        prompt, last = Parts(), None
        for number, (step, read) in enumerate(zip(replay.steps, cached, strict=True)):
            if step.ours:
                yield Made(Parts(task=step.prompt), Parts(task=read), Parts(thoughts=step.output))
                continue
            call = self.prepared.calls[step.call]
            layout = replay.layouts.get(number)
            if layout is None and last is not None:
                answer = self._sums[self.prepared.answered(last)] - self._sums[last.at]
                known = min(read, prompt.total)
                found = prompt.scaled(known) + answer.scaled(read - known)
                prompt += self._sums[call.at] - self._sums[last.at]
            else:
                pieces = [(self._piece(p, replay.digests), p[1]) for p in layout or ()]
                prompt = sum((parts for parts, _ in pieces), Parts())
                found = _beginning(pieces, read)
            last = call
            yield Made(prompt, found, self._output(step.call))

    @cached_property
    def _sums(self) -> Sequence[Parts]:
        """Running totals: the value at `i` is over the first `i` messages."""
        sums = [Parts()]
        for i in range(len(self.prepared.read)):
            sums.append(sums[-1] + self._message(i))
        return sums

    def _message(self, i: int) -> Parts:
        prepared = self.prepared
        tokens = prepared.transcript.outlines[i].tokens
        if i < prepared.transcript.head:
            return Parts(task=tokens)
        message = prepared.read[i]
        names = [_name(message, block) for block in message.blocks]
        if len(set(names)) == 1:
            return Parts(**{names[0]: tokens})
        mixed = Parts()
        for name, block in zip(names, message.blocks, strict=True):
            mixed += Parts(**{name: self._estimate(message.role, block)})
        return mixed.scaled(tokens)

    def _estimate(self, role: Role, block: Block) -> int:
        return outline(Message(role, (block,)), b"", self._meter, human=False).tokens

    def _piece(self, piece: Piece, digests: Mapping[str, Digest]) -> Parts:
        (i, treatment), tokens = piece
        if i == FIXED:
            return Parts(task=tokens)
        if i == DIGEST:
            return _digest(digests.get(treatment)).scaled(tokens)
        whole = self._sums[i + 1] - self._sums[i]
        if not treatment:
            return whole
        gone = self.prepared.transcript.outlines[i].tokens - tokens
        left = Parts(results=gone) if treatment == CLEARED else Parts(thoughts=gone)
        return whole - left

    def _output(self, number: int) -> Parts:
        """Return what a call's answer is made of; what is billed and not saved is thinking."""
        prepared, call = self.prepared, self.prepared.calls[number]
        shown, tokens = prepared.answer(call), prepared.output(call)
        answer = self._sums[prepared.answered(call)] - self._sums[call.at]
        return answer.scaled(min(shown, tokens)) + Parts(thoughts=max(0, tokens - shown))


_OF_PARTS = {
    PartKind.ASSISTANT: "thoughts",
    PartKind.CALL: "calls",
    PartKind.RESULT: "results",
    PartKind.ERROR: "results",
    PartKind.MEDIA: "results",
}


def _beginning(pieces: Sequence[tuple[Parts, int]], tokens: int) -> Parts:
    """Return what the first tokens of some pieces are made of."""
    found, left = Parts(), tokens
    for parts, size in pieces:
        if left <= 0:
            break
        found += parts.scaled(min(left, size))
        left -= size
    return found


def _name(message: Message, block: Block) -> str:
    if block.kind is BlockKind.CALL:
        return "calls"
    if block.kind is BlockKind.RESULT:
        return "results"
    return "thoughts" if message.role is Role.ASSISTANT else "user"


def _digest(digest: Digest | None) -> Parts:
    """Measure a digest by its characters."""
    mixed = Parts()
    for part in (*digest.earlier, *digest.steps) if digest else ():
        size = len(part.tool) + sum(len(quote.text) + len(quote.name) for quote in part.quotes)
        mixed += Parts(**{_OF_PARTS.get(part.kind, "user"): size})
    return mixed
