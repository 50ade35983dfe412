"""Prices of every model that somebody may have used, from four places, the nearest first.

1. The user's own TOML: `[models."name"]` with `input`, `output`, and where they differ from
   `input`, `cache_read`, `cache_write_5m`, `cache_write_1h`; US dollars per million tokens.
2. Core's dated table.
3. The models of the paper's Table 9, at the prices there: they are what its costs were made with.
4. genai-prices, where it is installed (`cuesta[lab]`): the prices of today, without the tiers for
   long prompts. Nothing is fetched.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cuesta.core.errors import ConfigError, UnknownModelError
from cuesta.core.models import read_model
from cuesta.core.prices import Price, PriceBook

_CACHE_CLASSES = ("cache_read", "cache_write_5m", "cache_write_1h")


def _plain(input_: float, cache_read: float, output: float) -> Price:
    """Build a price without an extra charge for writing."""
    return Price(input_, output, cache_read, input_, input_)


PAPER: Mapping[str, Price] = MappingProxyType(
    {
        "glm-4.7-flash": _plain(0, 0, 0),
        "glm-5": _plain(1, 0.2, 3.2),
        "glm-5-turbo": _plain(1.2, 0.24, 4),
        "glm-5.1": _plain(1.4, 0.26, 4.4),
        "glm-5.2": _plain(1.4, 0.26, 4.4),
        "glm-5.3-flash": _plain(0.15, 0.03, 0.5),
        "kimi-k2.5": _plain(0.6, 0.1, 3),
        "kimi-k2.6": _plain(0.95, 0.16, 4),
        "kimi-k2.7": _plain(0.95, 0.19, 4),
    }
)
"""Table 9 of the paper."""


@dataclass(frozen=True, slots=True)
class WideBook(PriceBook):
    """A price book that also asks genai-prices.

    Attributes:
        source: The user's own file, if there is one.
        found: What genai-prices has told, by name.
    """

    source: Path | None = None
    found: dict[str, Price | None] = field(default_factory=dict)

    def price(self, model: str) -> Price:
        """Return the price of a model.

        Args:
            model: The model's name as it stands in a request; a router's prefix
                (`google/gemini-3-pro-preview`) is left out where the whole name is not known.

        Raises:
            UnknownModelError: If no place knows it; the message tells how to add it.
        """
        for name in _names(model):
            price = self.table.get(name) or self._listed(name)
            if price is not None:
                return price
        raise UnknownModelError(
            f"no price is known for model `{model}`: add to {self.source or 'a file of prices'} "
            f'[models."{model}"] with `input = ` and `output = `, in dollars per million tokens'
            + ("" if _genai() else "; or install `cuesta[lab]`, which knows more models")
        )

    def _listed(self, name: str) -> Price | None:
        if name not in self.found:
            self.found[name] = _ask(name)
        return self.found[name]


def price_book(extra: Path | None = None) -> PriceBook:
    """Return the book of all known prices.

    Args:
        extra: The user's own TOML, or None.

    Raises:
        ConfigError: If that file cannot be read or says something else.
    """
    own = _read(extra) if extra else {}
    return WideBook({**PAPER, **PriceBook().table, **own}, extra)


def _names(model: str) -> Iterator[str]:
    yield read_model(model).key.lower()
    if "/" in model:
        yield read_model(model.rpartition("/")[2]).key.lower()


def _read(path: Path) -> dict[str, Price]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    models = content.pop("models", {})
    if content or not isinstance(models, dict):
        raise ConfigError(f'{path}: expected tables [models."name"] and nothing else')
    return {read_model(name).key.lower(): _price(path, name, row) for name, row in models.items()}


def _price(path: Path, name: str, row: object) -> Price:
    where = f'{path}: [models."{name}"]'
    if not isinstance(row, dict):
        raise ConfigError(f"{where} must be a table")
    unknown = row.keys() - {"input", "output", *_CACHE_CLASSES}
    if unknown:
        raise ConfigError(f"{where}: unknown key `{min(unknown)}`")
    input_, output = (_number(where, row, key) for key in ("input", "output"))
    read, write_5m, write_1h = (
        _number(where, row, key) if key in row else input_ for key in _CACHE_CLASSES
    )
    return Price(input_, output, read, write_5m, write_1h)


def _number(where: str, row: Mapping[str, Any], key: str) -> float:
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigError(f"{where}: `{key}` must be a number of dollars per million tokens")
    if not 0 <= value < math.inf:
        raise ConfigError(f"{where}: `{key}` must be 0 or more")
    return float(value)


def _genai() -> Any:  # noqa: ANN401 - a module, or None where it is not installed
    try:
        import genai_prices  # noqa: PLC0415 - half a second, for the lab only
    except ImportError:
        return None
    return genai_prices


def _ask(name: str) -> Price | None:
    """Return what genai-prices says of a model, or None."""
    genai = _genai()
    if genai is None or not name:
        return None
    try:
        listed = genai.calc_price(genai.Usage(), model_ref=name).model_price
    except LookupError:
        return None
    input_, output, read, write, hour = (
        _base(getattr(listed, f"{key}_mtok", None))
        for key in ("input", "output", "cache_read", "cache_write", "cache_write_1h")
    )
    if input_ is None or output is None:
        return None
    read, write = (input_ if part is None else part for part in (read, write))
    return Price(input_, output, read, write, write if hour is None else hour)


def _base(price: Any) -> float | None:  # noqa: ANN401 - a number, or tiers with a base
    amount = getattr(price, "base", price)
    return None if amount is None else float(amount)
