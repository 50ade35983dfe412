"""One request of a made-up client on its way, as client, provider and judge share it."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any

from cuesta.testing.chaos.prints import Print, read
from cuesta.testing.histories import Block, ClientHistory
from cuesta.testing.histories.script import Kind
from cuesta.testing.simulator import Conditions, Judge, WireJudge
from cuesta.testing.simulator.registry import judge_of
from cuesta.testing.simulator.responses.judge import ResponsesJudge

HEADER = "x-chaos-id"
"""Names a request and its attempt to the provider; a proxy passes it on like any other header."""

_OVERFLOWS = 0.006


@dataclass(frozen=True, slots=True)
class Form:
    """One body that reached the provider.

    Attributes:
        attempt: The attempt of the client's that it was sent for.
        shown: Its print.
        refusal: The rule by which it was refused, or empty.
    """

    attempt: int
    shown: Print
    refusal: str


@dataclass(slots=True)
class Ask:
    """One request, from its first attempt to its last.

    Attributes:
        name: Of this request only.
        label: How to make it again, for the message of a violation.
        body: The client's body.
        path: Where it goes, with its query.
        headers: The client's headers, without credentials.
        kind: What it is for.
        broken: What the client itself broke in it, or empty.
        rewritten: Whether the client did more than to extend what it had sent.
        overflows: Whether the provider says once that the first form of it is too long.
        attempt: The present attempt, from 0.
        forms: What reached the provider for it, in order.
        content: What the model answered; None: nothing yet; empty: the answer is lost.
        response: The id of the answer where answers have one.
        relayed: The hash of the bytes that the present attempt's answer consists of.
        reading: Set once a byte of an answer has reached the client.
    """

    name: str
    label: str
    body: bytes
    path: str
    headers: dict[str, str]
    kind: Kind
    broken: str
    rewritten: bool
    overflows: bool = False
    attempt: int = 0
    forms: list[Form] = field(default_factory=list)
    content: list[Block] | None = None
    response: str = ""
    relayed: bytes = b""
    reading: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def accepted(self) -> Form | None:
        """The form that the provider answered in the present attempt."""
        here = (f for f in reversed(self.forms) if f.attempt == self.attempt and not f.refusal)
        return next(here, None)

    @property
    def refusals(self) -> list[str]:
        """The rules by which forms of it were refused."""
        return [form.refusal for form in self.forms if form.refusal]


class Talk:
    """One history on one provider: its requests, and who judges them.

    Args:
        name: Of this history only.
        history: The client.
        conditions: What the provider is like.

    Attributes:
        name: Of this history only.
        wire: What it speaks.
        checks: Whether its model checks what stands before thinking.
        judge: The strict judge of what reaches the provider.
    """

    def __init__(self, name: str, history: ClientHistory, conditions: Conditions) -> None:
        self.name = name
        self.wire = history.wire
        self.checks = history.checks
        self.judge: WireJudge = judge_of(history.wire, conditions)
        self._history = history
        self._dice = random.Random(f"{name} overflows")  # noqa: S311 - reproducible, not secret
        self._number = 0

    def ask(self) -> Ask | None:
        """Return the client's next request, or None when the history is over."""
        history = self._history
        body = history.request()
        if body is None:
            return None
        self._number += 1
        asked = history.request_kind in {"main", "retry"}
        return Ask(
            name=f"{self.name}.{self._number}",
            label=self._label(),
            body=body,
            path=history.path,
            headers=history.headers,
            kind=history.request_kind,
            broken=history.broken,
            rewritten=not history.appended,
            overflows=asked and self._dice.random() < _OVERFLOWS,
        )

    def answer(self, ask: Ask, request: Any) -> list[Block]:  # noqa: ANN401 - each wire's own
        """Let the model answer, the first time; later attempts get the same behind what they sent.

        Args:
            ask: What is answered.
            request: The accepted form, as the judge read it.
        """
        if ask.content is None:
            ask.content = self._history.answer(lambda text, _: self._seal(request, text))
            ask.response = self._history.response_id
        if ask.content:
            if isinstance(self.judge, ResponsesJudge):
                self.judge.keep(request, ask.content, ask.response)
            else:
                self.judge.keep(request, ask.content)
        return ask.content

    def client_print(self, ask: Ask) -> Print:
        """Return the print of what the client itself sent."""
        return Print(self.wire, read(ask.body))

    def _label(self) -> str:
        history = self._history
        model = f"{history.model} on {self.wire}"
        where = f"request {self._number}, {history.request_kind}, branch {history.branch}"
        return f"{self.name}: {where}, {model}"

    def _seal(self, request: Any, text: str) -> str:  # noqa: ANN401 - each wire's own
        if isinstance(self.judge, Judge):
            return self.judge.signatures.mint(request.prefix, text)
        if isinstance(self.judge, ResponsesJudge):
            return self.judge.memory.mint(text)
        raise TypeError("nothing is sealed on this wire")
