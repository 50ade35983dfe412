"""The steps that a file's entries are, and the sessions that their branches make.

Whoever goes back in a conversation and on from there makes a branch, and files keep them all. Each
branch is a session with the whole history that it stands on; the calls that made a shared history
belong to the first of them, so that nothing is billed twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from cuesta.harnesses.saved.base import Json, encode
from cuesta.trace.session import Call, Session


@dataclass(eq=False, slots=True)
class Step:
    """What one entry of a file adds to the conversation.

    Attributes:
        before: The step that it goes on from, or None.
        messages: What it adds, read.
        call: The model call that it is the answer of; `at` and `hole` are found at the end.
        hole: Whether something is missing before it.
        compacts: Whether the harness compacted its history before it.
        left: Whether nothing goes on from it.
        taken: Whether a session has it.
    """

    before: Step | None
    messages: list[Json]
    call: Call | None = None
    hole: bool = False
    compacts: bool = False
    left: bool = True
    taken: bool = False


@dataclass(slots=True)
class Tree:
    """The steps of one conversation of one file.

    Attributes:
        harness: See `Session`.
        name: See `Session`; branches behind the first have a number behind it.
        wire: See `Session`.
        parent: See `Session`.
        members: See `Session`.
        whole: See `Session`.
        steps: All steps, in the file's order.
        tip: The step that the next one goes on from.
    """

    harness: str
    name: str
    wire: str
    parent: str = ""
    members: dict[str, bytes] = field(default_factory=dict)
    whole: bool = False
    steps: list[Step] = field(default_factory=list)
    tip: Step | None = None
    _hole: bool = False
    _compacts: bool = False

    def add(self, *messages: Json, call: Call | None = None) -> Step:
        """Go on from the tip.

        Args:
            messages: What is added.
            call: The model call that they are the answer of.
        """
        step = Step(self.tip, list(messages), call, self._hole, self._compacts)
        if self.tip is not None:
            self.tip.left = False
        self.steps.append(step)
        self.tip = step
        self._hole = self._compacts = False
        return step

    def tear(self) -> None:
        """Say that what stands before the next step is not what was sent."""
        self._hole = True

    def compact(self) -> None:
        """Say that the harness compacted its history before the next step."""
        self._compacts = True

    def answered_since(self, step: Step | None) -> bool:
        """Tell whether the model has spoken between a step and the tip."""
        walk = self.tip
        while walk is not None and walk is not step:
            if walk.call is not None:
                return True
            walk = walk.before
        return False

    def sessions(self) -> Iterator[Session]:
        """Yield the conversation's branches, in the order in which they end in the file."""
        ends = [step for step in self.steps if step.left]
        for number, end in enumerate(ends, 1):
            name = self.name if number == 1 else f"{self.name}/{number}"
            session = self._session(name, _path(end))
            if session.messages:
                yield session

    def _session(self, name: str, path: Sequence[Step]) -> Session:
        messages: list[bytes] = []
        calls: list[Call] = []
        compactions: list[int] = []
        since: list[Json] = []
        shared = 0
        hole = compacted = False
        for step in path:
            hole = hole or step.hole or step.compacts
            compacted = compacted or step.compacts
            if step.call is not None:
                if not step.taken:
                    if compacted:
                        compactions.append(len(calls))
                    torn = hole or not paired(self.wire, since)
                    calls.append(replace(step.call, at=len(messages), hole=torn))
                    compacted = False
                hole, since = False, []
            messages += map(encode, step.messages)
            since += step.messages
            if step.taken:
                shared = len(messages)
            step.taken = True
        return Session(
            self.harness, name, self.wire, tuple(messages), tuple(calls),
            members=self.members, whole=self.whole, compactions=tuple(compactions),
            parent=self.parent, shared=shared,
        )  # fmt: skip


def _path(end: Step) -> list[Step]:
    path = []
    walk: Step | None = end
    while walk is not None:
        path.append(walk)
        walk = walk.before
    return path[::-1]


def paired(wire: str, messages: Sequence[Json]) -> bool:
    """Tell whether every call among messages is answered there, and every result has its call."""
    opened, answered = [], []
    for message in messages:
        opens, answers = _PAIRS[wire](message)
        opened += opens
        answered += answers
    return sorted(opened) == sorted(answered)


_Pairs = tuple[list[str], list[str]]


def _anthropic_pairs(message: Json) -> _Pairs:
    content = message.get("content")
    blocks = [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []
    opens = [str(b.get("id")) for b in blocks if b.get("type") == "tool_use"]
    return opens, [str(b.get("tool_use_id")) for b in blocks if b.get("type") == "tool_result"]


def _chat_pairs(message: Json) -> _Pairs:
    calls = message.get("tool_calls")
    calls = [c for c in calls if isinstance(c, dict)] if isinstance(calls, list) else []
    told = [str(message.get("tool_call_id"))] if message.get("role") == "tool" else []
    return [str(c.get("id")) for c in calls], told


def _item_pairs(item: Json) -> _Pairs:
    kind, name = str(item.get("type", "")), str(item.get("call_id", ""))
    if not name:
        return [], []
    return ([], [name]) if kind.endswith("_output") else ([name], [])


_PAIRS = {
    "anthropic": _anthropic_pairs,
    "openai_chat": _chat_pairs,
    "openai_responses": _item_pairs,
}
