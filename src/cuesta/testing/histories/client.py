"""A made-up agent program that talks to a made-up model, as real ones do on the wire."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Literal

from cuesta.testing.histories.branch import Branch
from cuesta.testing.histories.features import Dice, Feature, draw_features
from cuesta.testing.histories.harness import Harness
from cuesta.testing.histories.material import Material
from cuesta.testing.histories.model import Answer, FakeModel, Mint, draw_traits
from cuesta.testing.histories.setup import draw_setup
from cuesta.testing.histories.tools import callable_tools
from cuesta.testing.histories.wire import Block, Message, draw_style

if TYPE_CHECKING:
    from collections import Counter

Kind = Literal["main", "retry", "side", "count_tokens"]

_BRANCHES = 3
_CUT_OFF = "<system-reminder>\nYour response above was cut off. Go on.\n</system-reminder>"


@dataclass(frozen=True, slots=True)
class _Request:
    """One request of the script, and how its answer comes to be once the driver asks for it."""

    body: bytes
    kind: Kind
    branch: int
    answer: Callable[[Mint], Answer | None]
    appended: bool = False
    broken: str = ""


_Script = Generator[_Request, Answer | None, None]


class ClientHistory:
    """The requests of one client, deterministic from a seed, each built on the answers before it.

    A driver asks for the next body, judges it, sends what it likes and lets the model answer:

        history = ClientHistory(seed)
        while (body := history.request()) is not None:
            ...
            history.answer(mint)

    A request that is not answered was refused or lost: the client goes on from what it has.

    Args:
        seed: Decides everything that is not given.
        features: What may occur; drawn when None.
        model: The model's name; drawn when None, half of the time one that checks prefixes.
        turns: How many main requests are made; retries, side calls and lost requests come on top.
        scale: Multiplies the length of tool results. At 1 a history of 60 turns holds some 30,000
            tokens, at 6 some 120,000.
    """

    def __init__(
        self,
        seed: int,
        features: frozenset[Feature] | None = None,
        model: str | None = None,
        turns: int = 60,
        scale: float = 1.0,
    ) -> None:
        self._given = (seed, features, model, turns, scale)
        if features is None:
            features = draw_features(Random(f"{seed} features"))  # noqa: S311 - reproducible
        self._dice = Dice(f"{seed} client", features)
        self._material = Material(self._dice, scale)
        self._traits = draw_traits(self._dice, model)
        self._setup = draw_setup(self._traits, self._dice, self._material)
        self._style = draw_style(self._dice)
        self._harness = Harness(self._traits, self._dice, self._material)
        self._model = FakeModel(self._traits, self._dice, self._material)
        self._branches = [Branch(0, self._harness.opening())]
        self._turns = turns
        self._script: _Script | None = None
        self._request: _Request | None = None
        self._reply: Answer | None = None
        self._number = 0

    @property
    def features(self) -> Counter[Feature]:
        """How often each feature has occurred so far."""
        return self._dice.seen

    @property
    def drawn(self) -> frozenset[Feature]:
        """What may occur."""
        return self._dice.drawn

    @property
    def model(self) -> str:
        """The model's name in every body."""
        return self._traits.name

    @property
    def checks(self) -> bool:
        """Whether that model refuses thinking that was produced behind another prefix."""
        return self._traits.checks

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the latest request, without credentials."""
        return self._setup.headers

    @property
    def path(self) -> str:
        """Where the latest request goes."""
        counting = self.request_kind == "count_tokens"
        return f"/v1/messages{'/count_tokens' if counting else ''}?beta=true"

    @property
    def request_kind(self) -> Kind:
        """What the latest request is for: a `retry` is a `main` request sent again."""
        return self._now.kind

    @property
    def branch(self) -> int:
        """The branch that the latest request belongs to."""
        return self._now.branch

    @property
    def appended(self) -> bool:
        """Whether the latest body's messages extend those of the branch's main request before it.

        That holds after normalising: markers left out, one text block equal to a string, and text
        appended to what was the last user message.
        """
        return self._now.appended

    @property
    def broken(self) -> str:
        """What in the latest body the client broke itself, or empty.

        `prefix`: it changed what stands before thinking that its model checks. `orphan`: it keeps a
        message that ends with thinking. Once refused, it soon takes its thinking out.
        """
        return self._now.broken

    @property
    def label(self) -> str:
        """Which request this is and how to make it again, for the message of a failure."""
        where = f"request {self._number}, {self.request_kind}, branch {self.branch}"
        return f"{where} of {self!r} on {self.model}"

    def __repr__(self) -> str:
        seed, features, model, turns, scale = self._given
        parts = [f"seed={seed}"]
        if features is not None:
            names = ", ".join(str(feature) for feature in Feature if feature in features)
            parts.append(f"features=frozenset({{{names}}})" if names else "features=frozenset()")
        if model is not None:
            parts.append(f"model={model!r}")
        return f"ClientHistory({', '.join(parts)}, turns={turns}, scale={scale})"

    def request(self) -> bytes | None:
        """Return the client's next request body, or None when the history is over."""
        try:
            if self._script is None:
                self._script = self._play()
                self._request = next(self._script)
            else:
                self._request = self._script.send(self._reply)
        except StopIteration:
            return None
        self._reply = None
        self._number += 1
        return self._now.body

    def answer(self, mint: Mint) -> list[Block]:
        """Let the model answer the latest request.

        Args:
            mint: Gives each thinking block of this answer its signature, in order, from the whole
                thinking, whether or not it is shown, and the blocks before it. For
                redacted_thinking what it gives becomes the data.

        Returns:
            The blocks answered; empty when nothing came back: a request that was lost, a token
            count. The answer to a side call is not added to the history.
        """
        self._reply = self._now.answer(mint)
        return list(self._reply.blocks) if self._reply else []

    @property
    def _now(self) -> _Request:
        if self._request is None:
            raise RuntimeError("no request yet: call request() first")
        return self._request

    # The script: what the client does, one request after another.

    def _play(self) -> _Script:
        for _ in range(self._turns):
            self._material.tiny = self._dice.happens(Feature.TINY_TURNS, 0.5)
            branch = self._dice.rng.choice(self._branches)
            yield from self._asides(branch)
            self._move(branch)
            yield from self._turn(branch)

    def _asides(self, branch: Branch) -> _Script:
        if not self._dice.happens(Feature.SIDE_CALLS, 0.08):
            return
        kind = self._dice.rng.choice(("title", "count", "small count"))
        text = self._material.prose(300)
        if kind == "title":
            body = self._setup.title_body(text, self._style)
            title: list[Block] = [{"type": "text", "text": '{"title": "Fix the cache"}'}]
            yield _Request(body, "side", branch.number, lambda _: Answer(title, "end_turn"))
            return
        if kind == "count":
            body = self._setup.count_body(self._write(branch), self._style)
        else:
            body = self._setup.small_count_body(text, self._style)
        yield _Request(body, "count_tokens", branch.number, lambda _: None)

    def _turn(self, branch: Branch) -> _Script:
        """Make one main request until it is answered, and add what came back."""
        if self._dice.happens(Feature.RETRIES, 0.08):
            first = self._main(branch, "main", lambda _: None)
            yield first
            retry = self._main(branch, "retry", self._model_answer(branch))
            reply = yield retry
        else:
            if branch.last.role == "user" and self._dice.happens(Feature.GROWING_LAST, 0.1):
                yield from self._grow(branch)
            reply = yield self._main(branch, "main", self._model_answer(branch))
        branch.refused = reply is None
        if reply is not None:
            self._absorb(branch, reply)

    def _grow(self, branch: Branch) -> _Script:
        """Lose a request, with or without its answer, and say more in its last message."""
        lost = self._model_answer(branch) if self._dice.chance(0.3) else (lambda _: None)
        yield self._main(branch, "main", lost)
        branch.grow([self._harness.text(150) for _ in range(self._dice.rng.randint(1, 2))])

    def _main(
        self, branch: Branch, kind: Kind, answer: Callable[[Mint], Answer | None]
    ) -> _Request:
        if self._style.markers:
            self._dice.happens(Feature.MARKER_FLIPS)
        if self._style.odd:
            self._dice.happens(Feature.ODD_JSON)
        body = self._setup.main_body(self._write(branch), self._style)
        request = _Request(
            body, kind, branch.number, answer, not branch.rewritten, self._fault(branch)
        )
        branch.rewritten = False
        return request

    def _fault(self, branch: Branch) -> str:
        if branch.orphaned:
            return "orphan"
        return "prefix" if self.checks and branch.stale else ""

    def _write(self, branch: Branch) -> list[bytes]:
        *before, last = branch.messages
        style = self._style
        return [message.written(style, last=False) for message in before] + [
            last.written(style, last=True)
        ]

    def _model_answer(self, branch: Branch) -> Callable[[Mint], Answer]:
        def answer(mint: Mint) -> Answer:
            tools = callable_tools(self._setup.tools, branch.messages)
            return self._model.answer(tools, mint, branch.open_call)

        return answer

    def _absorb(self, branch: Branch, answer: Answer) -> None:
        """Add an answer to the history, and whatever the client says to it."""
        branch.messages.append(Message("assistant", answer.blocks))
        if answer.stop == "cut":
            branch.messages.append(Message("user", [{"type": "text", "text": _CUT_OFF}]))
        elif answer.stop == "end_turn":
            branch.messages.extend(self._harness.next_prompt())
        elif answer.stop == "tool_use":
            branch.messages.extend(self._harness.results(answer.blocks))
            branch.messages.extend(self._harness.notices(self._setup.tools, branch.messages))

    # What the client does to a history before it asks again.

    def _move(self, branch: Branch) -> None:
        dice = self._dice
        if self._fault(branch) and dice.chance(0.6 if branch.refused else 0.15):
            branch.forget_thinking()
        if dice.happens(Feature.TOOLS_CHANGE, 0.02):
            self._reload()
        if len(branch.messages) < 4:
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
        if dice.chance(0.3):
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
        if other.last.role == "user" and self._dice.chance(0.5):
            other.messages.append(self._harness.words())
        self._branches.append(other)

    def _reload(self) -> None:
        """Change tools or instructions; a careful client forgets its thinking with them."""
        self._setup = self._setup.reloaded(self._dice, self._material)
        careful = self._dice.chance(0.8)
        for branch in self._branches:
            branch.touch(0)
            if careful and self.checks:
                branch.forget_thinking()
