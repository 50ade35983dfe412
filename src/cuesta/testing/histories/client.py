"""A made-up agent program that talks to a made-up model, as real ones do on the wire."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Literal

from cuesta.testing.histories.anthropic import AnthropicWire
from cuesta.testing.histories.features import Dice, Feature, draw_features
from cuesta.testing.histories.material import Material
from cuesta.testing.histories.message import Message
from cuesta.testing.histories.model import Answer, Mint
from cuesta.testing.histories.openai_chat import OpenAIChatWire
from cuesta.testing.histories.openai_responses import OpenAIResponsesWire
from cuesta.testing.histories.script import Kind, Play, Request, Script
from cuesta.testing.histories.style import Block

WireName = Literal["anthropic", "openai_chat", "openai_responses"]
"""The wires, named as the dialects that read them."""

_WIRES: dict[WireName, type[AnthropicWire | OpenAIChatWire | OpenAIResponsesWire]] = {
    "anthropic": AnthropicWire,
    "openai_chat": OpenAIChatWire,
    "openai_responses": OpenAIResponsesWire,
}


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
        features: What may occur, where the wire can have it; drawn when None.
        model: The model's name; drawn when None, on Anthropic's wire half of the time one that
            checks prefixes.
        turns: How many main requests are made; retries, side calls and lost requests come on top.
        scale: Multiplies the length of tool results. At 1 a history of 60 turns holds some 30,000
            tokens, at 6 some 120,000.
        wire: What the client speaks.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - what makes a history again; all but the seed by name
        self,
        seed: int,
        features: frozenset[Feature] | None = None,
        model: str | None = None,
        turns: int = 60,
        scale: float = 1.0,
        wire: WireName = "anthropic",
    ) -> None:
        self._given = (seed, features, model, turns, scale, wire)
        possible = _WIRES[wire].features
        if features is None:
            features = draw_features(Random(f"{seed} features"), possible)  # noqa: S311 - reproducible
        self._dice = Dice(f"{seed} client", features & possible)
        material = Material(self._dice, scale)
        self._wire = _WIRES[wire](self._dice, material, model)
        self._script = Script(self._wire, self._dice, material)
        self._play: Play | None = None
        self._request: Request | None = None
        self._reply: Answer | None = None
        self._number = 0

    @staticmethod
    def possible(wire: WireName) -> frozenset[Feature]:
        """Return what can occur on a wire."""
        return _WIRES[wire].features

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
        return self._wire.traits.name

    @property
    def wire(self) -> WireName:
        """What the client speaks."""
        return self._given[5]

    @property
    def checks(self) -> bool:
        """Whether that model refuses thinking that was produced behind another prefix."""
        return self._wire.traits.checks

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the latest request, without credentials."""
        return self._wire.headers

    @property
    def path(self) -> str:
        """Where the latest request goes."""
        return self._now.path

    @property
    def request_kind(self) -> Kind:
        """What the latest request is for.

        A `retry` is a `main` request sent again. A `delta` stands in the place of a `main` request
        but holds only what is new since an answer that the provider keeps.
        """
        return self._now.request_kind

    @property
    def branch(self) -> int:
        """The branch that the latest request belongs to."""
        return self._now.branch

    @property
    def appended(self) -> bool:
        """Whether the latest body's messages extend those of the branch's whole request before it.

        That is its `main` or `retry` request before it. It holds after normalising: markers and
        fields with null left out, one text part equal to a string, and text appended to what was
        the last user message.
        """
        return self._now.appended

    @property
    def broken(self) -> str:
        """What in the latest body the client broke itself, or empty.

        `prefix`: it changed what stands before thinking that its model checks. `orphan`: it keeps
        an answer that ends with thinking. Once refused, it soon takes its thinking out.
        """
        return self._now.broken

    @property
    def response_id(self) -> str:
        """The id of the latest answer on wires where a request can go on from it, else empty.

        A driver whose answers carry ids has to give them this one.
        """
        return self._reply.response if self._reply else ""

    @property
    def label(self) -> str:
        """Which request this is and how to make it again, for the message of a failure."""
        where = f"request {self._number}, {self.request_kind}, branch {self.branch}"
        return f"{where} of {self!r} on {self.model}"

    def __repr__(self) -> str:
        seed, features, model, turns, scale, wire = self._given
        parts = [f"seed={seed}"]
        if features is not None:
            names = ", ".join(str(feature) for feature in Feature if feature in features)
            parts.append(f"features=frozenset({{{names}}})" if names else "features=frozenset()")
        if model is not None:
            parts.append(f"model={model!r}")
        parts += [f"turns={turns}", f"scale={scale}"]
        if wire != "anthropic":
            parts.append(f"wire={wire!r}")
        return f"ClientHistory({', '.join(parts)})"

    def request(self) -> bytes | None:
        """Return the client's next request body, or None when the history is over."""
        try:
            if self._play is None:
                self._play = self._script.play(self._given[3])
                self._request = next(self._play)
            else:
                self._request = self._play.send(self._reply)
        except StopIteration:
            return None
        self._reply = None
        self._number += 1
        return self._now.body

    def answer(self, mint: Mint) -> list[Block]:
        """Let the model answer the latest request.

        Args:
            mint: Seals what the client only carries: called in order, with the whole text, whether
                or not it is shown, and what stands before it in the answer, in the wire's own
                shape. On Anthropic's wire it gives signatures of thinking and the data of
                redacted_thinking; on Responses the encrypted_content of reasoning and compaction
                items. On Chat Completions it is not called.

        Returns:
            What was answered in the wire's own shape: content blocks, one assistant message in a
            list, or output items. Empty when nothing came back: a request that was lost, a token
            count. The answer to a side call is not added to the history, but for a compaction.
        """
        names: dict[int, str] = {}
        reply = self._now.answer(self._wire.seal(mint, names))
        if reply is None:
            self._reply = None
            return []
        self._reply = replace(reply, names=names, response=self._wire.response_id())
        return self._wire.shown(Message("assistant", reply.blocks, names=names))

    @property
    def _now(self) -> Request:
        if self._request is None:
            raise RuntimeError("no request yet: call request() first")
        return self._request
