"""The prices of the models that one session asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from cuesta.core.errors import UnknownModelError
from cuesta.core.prices import Price
from cuesta.core.usage import Usage
from cuesta.lab.cost import total
from cuesta.lab.records import Account


class Prices(Protocol):
    """Prices by model name."""

    def price(self, model: str) -> Price:
        """Return a model's price.

        Raises:
            UnknownModelError: If none is known.
        """


_NAMELESS = "the file does not name the model"


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
                self.unpriced = self.unpriced or (str(error) if model else _NAMELESS)

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

    def cost(self, model: str, bill: Usage) -> float | None:
        """Return what one call cost, or None where its model has no price."""
        return self._known(model, bill) if model in self._prices else None

    def _known(self, model: str, bill: Usage) -> float:
        return self._prices[model].cost(bill)
