"""What a made-up agent program does, one request after another, whatever its wire."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Literal

from cuesta.testing.histories.branch import Branch
from cuesta.testing.histories.features import Dice, Feature
from cuesta.testing.histories.harness import Harness
from cuesta.testing.histories.material import Material
from cuesta.testing.histories.message import Message
from cuesta.testing.histories.model import Answer, Ask, FakeModel, Mint
from cuesta.testing.histories.tools import callable_tools
from cuesta.testing.histories.wire import SideCall, Wire

Kind = Literal["main", "retry", "delta", "side", "count_tokens"]

_BRANCHES = 3


@dataclass(frozen=True, slots=True)
class Request:
    """One request of the script, and how its answer comes to be once the driver asks for it.

    The fields are those of `ClientHistory` of the same names.
    """

    body: bytes
    path: str
    request_kind: Kind
    branch: int
    answer: Callable[[Mint], Answer | None]
    appended: bool = False
    broken: str = ""


Play = Generator[Request, Answer | None, None]


class Script:
    """The client: its branches, and what it does to them before and after each request."""

    def __init__(self, wire: Wire, dice: Dice, material: Material) -> None:
        self._wire = wire
        self._dice = dice
        self._material = material
        self._harness = Harness(wire, dice, material)
        self._model = FakeModel(wire.traits, dice, material)
        self._branches = [Branch(0, self._harness.opening())]

    def play(self, turns: int) -> Play:
        """Make requests until so many of the main loop are made."""
        for _ in range(turns):
            self._material.tiny = self._dice.happens(Feature.TINY_TURNS, 0.5)
            branch = self._dice.rng.choice(self._branches)
            if self._dice.happens(Feature.SIDE_CALLS, 0.08):
                yield self._aside(branch, self._wire.side_call(branch.messages))
            self._move(branch)
            long = len(branch.messages) > 5
            if long and self._dice.happens(Feature.COMPACTION_ITEMS, 0.02):
                yield from self._compact(branch, [])
            elif long and self._dice.happens(Feature.KEPT_HISTORY, 0.02):
                yield from self._compact(branch, self._kept(branch))
            else:
                yield from self._turn(branch)

    def _aside(self, branch: Branch, call: SideCall) -> Request:
        broken = self._fault(branch) if call.whole else ""
        return Request(call.body, call.path, call.kind, branch.number, call.answer, broken=broken)

    def _turn(self, branch: Branch) -> Play:
        """Make one main request until it is answered, and add what came back."""
        if self._dice.happens(Feature.RETRIES, 0.08):
            yield self._main(branch, "main", lambda _: None)
            reply = yield self._main(branch, "retry", self._model_answer(branch))
        elif branch.news and self._dice.happens(Feature.PREVIOUS_RESPONSE, 0.15):
            reply = yield self._delta(branch)
        else:
            if branch.last.role == "user" and self._dice.happens(Feature.GROWING_LAST, 0.1):
                yield from self._grow(branch)
            reply = yield self._main(branch, "main", self._model_answer(branch))
        branch.refused = reply is None
        if reply is not None:
            self._absorb(branch, reply)

    def _grow(self, branch: Branch) -> Play:
        """Lose a request, with or without its answer, and say more in its last message."""
        lost = self._model_answer(branch) if self._dice.chance(0.3) else (lambda _: None)
        yield self._main(branch, "main", lost)
        branch.grow([self._harness.text(150) for _ in range(self._dice.rng.randint(1, 2))])

    def _kept(self, branch: Branch) -> list[Message]:
        """Keep a history that a compaction stands for, or what a person said in it."""
        whole = list(branch.messages)
        return whole if self._dice.chance(0.5) else [m for m in whole if m.human]

    def _compact(self, branch: Branch, kept: list[Message]) -> Play:
        """Let the provider stand for a history: with its next answer, or when asked."""
        if self._dice.chance(0.4):
            reply = yield self._main(branch, "main", self._model_answer(branch, compacts=True))
            branch.refused = reply is None
            if reply is not None:
                branch.shorten(kept)
                self._absorb(branch, reply)
            return
        reply = yield self._aside(branch, self._wire.compaction(branch.messages))
        if reply is not None:
            branch.shorten(kept)
            stand_in = Message("assistant", reply.blocks, names=reply.names)
            branch.messages += [stand_in, self._harness.words()]
        yield from self._turn(branch)

    def _main(self, branch: Branch, kind: Kind, answer: Callable[[Mint], Answer | None]) -> Request:
        if self._wire.style.markers:
            self._dice.happens(Feature.MARKER_FLIPS)
        if self._wire.style.odd:
            self._dice.happens(Feature.ODD_JSON)
        request = Request(
            self._wire.body(branch.messages),
            self._wire.path,
            kind,
            branch.number,
            answer,
            appended=not branch.rewritten,
            broken=self._fault(branch),
        )
        branch.rewritten = False
        return request

    def _delta(self, branch: Branch) -> Request:
        """Send what is new only; the next whole request extends the one before this."""
        body = self._wire.body(branch.news, branch.response)
        answer = self._model_answer(branch)
        return Request(body, self._wire.path, "delta", branch.number, answer)

    def _fault(self, branch: Branch) -> str:
        if branch.orphaned:
            return "orphan"
        return "prefix" if self._wire.traits.checks and branch.stale else ""

    def _model_answer(self, branch: Branch, *, compacts: bool = False) -> Callable[[Mint], Answer]:
        def answer(mint: Mint) -> Answer:
            tools = callable_tools(self._wire.tools, branch.messages)
            ask = Ask(tools, branch.open_call, branch.cut_short, compacts)
            return self._model.answer(ask, mint)

        return answer

    def _absorb(self, branch: Branch, answer: Answer) -> None:
        """Add an answer to the history, and whatever the client says to it."""
        branch.messages.append(Message("assistant", answer.blocks, names=answer.names))
        branch.keep("" if answer.stop == "cut" else answer.response)
        if answer.stop == "cut":
            branch.messages.extend(self._harness.after_cut(answer.blocks))
        elif answer.stop == "end_turn":
            branch.convert(self._wire.loaded)
            branch.messages.extend(self._harness.next_prompt())
        elif answer.stop == "tool_use":
            branch.messages.extend(self._harness.results(answer.blocks))
            branch.messages.extend(self._harness.notices(branch.messages))

    # What the client does to a history before it asks again.

    def _move(self, branch: Branch) -> None:
        dice = self._dice
        if self._fault(branch) and dice.chance(0.6 if branch.refused else 0.15):
            self._wire.mend(branch)
        if dice.happens(Feature.TOOLS_CHANGE, 0.02):
            self._reload()
        if len(branch.messages) < 4 or not branch.checkpoints:
            return
        if dice.happens(Feature.REWINDS, 0.04):
            self._rewind(branch)
        elif dice.happens(Feature.EDITS, 0.04):
            self._edit(branch)
        elif len(self._branches) < _BRANCHES and dice.happens(Feature.FORKS, 0.04):
            self._fork(branch)

    def _rewind(self, branch: Branch) -> None:
        prompts = [place for place in branch.prompts[-3:] if place]
        if prompts and self._dice.chance(0.6):
            branch.cut(self._dice.rng.choice(prompts))
            branch.messages.append(self._harness.words())
        else:
            branch.cut(self._dice.rng.choice(branch.checkpoints[-6:]))

    def _edit(self, branch: Branch) -> None:
        """Change an old message: with the tail dropped, or rarely in place."""
        dice = self._dice
        if dice.chance(0.3) or not branch.prompts:
            users = [n for n, message in enumerate(branch.messages[:-1]) if message.role == "user"]
            branch.alter(dice.rng.choice(users))
            return
        place = dice.rng.choice(branch.prompts[-2:])
        branch.cut(place)
        branch.messages.extend([self._harness.words()] if place else self._harness.opening())

    def _fork(self, branch: Branch) -> None:
        length = len(branch.messages)
        if self._dice.chance(0.5):
            length = self._dice.rng.choice(branch.checkpoints[-8:])
        other = branch.fork(len(self._branches), length)
        if other.last.role == "user" and self._dice.chance(0.5) and self._wire.speaks_twice:
            other.messages.append(self._harness.words())
        self._branches.append(other)

    def _reload(self) -> None:
        """Change tools or instructions; a careful client forgets its thinking with them."""
        head = self._wire.head
        self._wire.reload()
        careful = self._dice.chance(0.8)
        for branch in self._branches:
            branch.change_head(head, self._wire.head)
            branch.touch(0)
            if careful and self._wire.traits.checks:
                branch.forget_thinking()
