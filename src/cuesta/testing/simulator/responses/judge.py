"""The judge of Responses."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from cuesta.core.models import read_model
from cuesta.testing.simulator.openai import (
    Breach,
    OpenAiJudge,
    missing,
    no_model,
    too_short,
    wrong_type,
)
from cuesta.testing.simulator.prompts import EntryReader, Prompt
from cuesta.testing.simulator.responses.memory import Memory
from cuesta.testing.simulator.responses.reading import Item, ResponsesRequest, items_of, read_item
from cuesta.testing.simulator.responses.rules import RULES, stores
from cuesta.testing.simulator.responses.sources import SOURCES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cuesta.testing.simulator.canon import Json
    from cuesta.testing.simulator.conditions import Conditions


class ResponsesJudge(OpenAiJudge[ResponsesRequest]):
    """Checks Responses requests, remembering what was answered and stored.

    A request with `previous_response_id` is judged behind all that came before it.

    Args:
        conditions: What the provider is like today.

    Attributes:
        memory: What was answered; it mints seals for `encrypted_content`.
    """

    sources: ClassVar[Mapping[str, str]] = SOURCES

    def __init__(self, conditions: Conditions | None = None) -> None:
        super().__init__(conditions)
        self.memory = Memory()
        self._reader: EntryReader[Item] = EntryReader(
            partial(read_item, conditions=self.conditions)
        )

    def keep(self, request: ResponsesRequest, content: list[Json], response: str = "") -> None:
        """Remember what the model answered.

        Args:
            request: What it answered, already read.
            content: The answer's items.
            response: The response's id: under it a request that allows it is stored.
        """
        self.memory.keep(content)
        if response and stores(request):
            self.memory.store(response, request.given, content)

    def _incomplete(self, body: Json) -> Breach | None:
        breach = no_model(body)
        if breach is not None:
            return breach
        given = body.get("input")
        if given is None:
            return None if body.get("previous_response_id") else missing("input")
        if not isinstance(given, (str, list)):
            return wrong_type("input", "one of a string or array of objects", given)
        return None if given or body.get("previous_response_id") else too_short("input")

    def _read(self, body: Json) -> ResponsesRequest:
        before = self.memory.response(str(body.get("previous_response_id"))) or ()
        given = [*before, *(self._resolved(item, body) for item in items_of(body.get("input")))]
        return Prompt(
            body=body,
            model=read_model(body["model"]),
            head=self._reader.head(body),
            given=tuple(given),
            entries=self._reader.entries(given),
        )

    def _resolved(self, item: object, body: Json) -> Json:
        """Return an item, or what it refers to where that is stored and may be used."""
        if not isinstance(item, dict) or item.keys() - {"type", "id"}:
            return item  # type: ignore[return-value]  # read_item finds its fault
        stored = self.memory.stored(str(item.get("id")))
        return item if stored is None or body.get("store") is False else stored

    def _breaches(self, request: ResponsesRequest) -> Iterator[Breach]:
        for rule in RULES:
            breach = rule(request, self.memory)
            if breach is not None:
                yield breach

    def _too_many(self, tokens: int, window: int) -> Breach:
        del tokens, window
        text = (
            "Your input exceeds the context window of this model. Please adjust your input and try "
            "again."
        )
        return Breach("window", text, "input", "context_length_exceeded")
