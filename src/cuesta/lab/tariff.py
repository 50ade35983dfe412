"""The prices of the models that one session asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from cuesta.core.errors import UnknownModelError
from cuesta.core.prices import Price
from cuesta.core.usage import Usage
from cuesta.lab.cost import total
from cuesta.lab.records import Account
from cuesta.lab.replay import Step


class Prices(Protocol):
    """Prices by model name."""

    def price(self, model: str) -> Price:
        """Return a model's price.

        Raises:
            UnknownModelError: If none is known.
        """


NAMELESS = "the file does not name the model"
"""Why calls without a model's name have no price."""


def billed_as(steps: Sequence[Step], model: str) -> Sequence[Step]:
    """Give steps the model that they are billed as.

    Args:
        steps: The calls.
        model: The model of them all; empty: each call's own. One that names none has the first
            that another one names.
    """
    if model:
        return [replace(step, model=model) for step in steps]
    if all(step.model for step in steps):
        return steps
    named = next((step.model for step in steps if step.model), "")
    return [step if step.model else replace(step, model=named) for step in steps]


class Tariff:
    """Prices of a session's models.

    Args:
        prices: All prices.
        models: The models.

    Attributes:
        unpriced: Why nothing can be priced, or empty.
    """

    def __init__(self, prices: Prices, models: Iterable[str]) -> None:
        self._prices: dict[str, Price] = {}
        self.unpriced = ""
        for model in sorted(set(models)):
            try:
                self._prices[model] = prices.price(model)
            except UnknownModelError as error:
                self.unpriced = self.unpriced or (str(error) if model else NAMELESS)

    def account(self, models: Sequence[str], bills: Sequence[Usage]) -> Account:
        """Sum bills; there is a cost only where every model has a price.

        Args:
            models: The model of each call.
            bills: What each call was billed.
        """
        usage = total(bills)
        if self.unpriced:
            return Account(usage)
        if len(self._prices) == 1:
            return Account(usage, next(iter(self._prices.values())).cost(usage))
        return Account(usage, sum(map(self._known, models, bills)))

    def price(self, model: str) -> Price:
        """Return the price of one of the models; only where none is without."""
        return self._prices[model]

    def cost(self, model: str, bill: Usage) -> float | None:
        """Return what one call cost, or None where its model has no price."""
        return self._known(model, bill) if model in self._prices else None

    def _known(self, model: str, bill: Usage) -> float:
        return self._prices[model].cost(bill)
