"""Reads one table of a spec, and says what is wrong: which table, which key, what instead."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import Any

from cuesta.core.errors import ConfigError


class Reader:
    """Reads one table, and says what is wrong with it.

    Args:
        where: What messages call the table.
        table: Its values.
        known: The keys that it may have.

    Raises:
        ConfigError: From every method; the message names table and key.
    """

    def __init__(self, where: str, table: object, known: Sequence[str]) -> None:
        self._where = where
        if not isinstance(table, dict):
            raise ConfigError(f"{where}: expected a table, as in [limits]")
        self._table: dict[str, Any] = table
        for key in table:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(known)}"
                raise self.error(key, f"no such key; {hint}")

    def __contains__(self, key: str) -> bool:
        return key in self._table

    def error(self, key: str, message: str) -> ConfigError:
        """Return the error that a key is worth."""
        return ConfigError(f"{self._where}, key `{key}`: {message}")

    def table(self, key: str) -> dict[str, Any]:
        """Return the table at a key; empty where there is none."""
        found: dict[str, Any] = self._typed(key, {}, dict, "a table")
        return found

    def tables(self, key: str) -> list[Any]:
        """Return the tables at a key; there must be one at least."""
        found: list[Any] = self._typed(key, [], list, "tables, each under [[matrix]]")
        if not found:
            raise self.error(key, "nothing is run; add a table [[matrix]] with scaffold, task-set "
                             "and models")  # fmt: skip
        return found

    def text(self, key: str, default: str) -> str:
        """Return the text at a key."""
        found: str = self._typed(key, default, str, "a text")
        return found

    def texts(self, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """Return the texts at a key; without a default, there must be one at least."""
        found: tuple[str, ...] = self._list(key, default, str, "texts")
        if not found and default is None:
            raise self.error(key, "expected at least one")
        return found

    def choice(
        self, key: str, known: Sequence[str], where: str = "", default: str | None = None
    ) -> str:
        """Return one of the known texts; without a default, it must be said."""
        if key not in self._table and default is None:
            raise self.error(key, f"is missing; choose one of {', '.join(known)}")
        return self._among(key, self.text(key, default or ""), known, where)

    def choices(self, key: str, known: Sequence[str], default: tuple[str, ...]) -> tuple[str, ...]:
        """Return several of the known texts."""
        return tuple(self._among(key, one, known) for one in self.texts(key, default))

    def number(self, key: str, default: int, least: int) -> int:
        """Return a whole number; one that is said is `least` at least."""
        found: int = self._typed(key, default, int, "a whole number")
        if key in self._table and found < least:
            raise self.error(key, f"expected at least {least}, not {found}")
        return found

    def amount(self, key: str, default: float) -> float:
        """Return a number from 0 on."""
        found = self._table.get(key, default)
        if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < 1e12:
            raise self.error(key, f"expected a number from 0 on, not {found!r}")
        return float(found)

    def numbers(
        self, key: str, default: tuple[int, ...], wrong: Callable[[int], str]
    ) -> tuple[int, ...]:
        """Return whole numbers; `wrong` says what is wrong with one, or nothing."""
        found: tuple[int, ...] = self._list(key, default, int, "whole numbers")
        trouble = next((said for value in found if (said := wrong(value))), "")
        if trouble or not found:
            raise self.error(key, trouble or "expected at least one")
        return found

    def seeds(self) -> tuple[int, ...]:
        """Read a list of seeds, or how many there are."""
        found = self._table.get("seeds", 1)
        if type(found) is int and found > 0:
            return tuple(range(found))
        if isinstance(found, list) and found and all(type(v) is int and v >= 0 for v in found):
            return tuple(found)
        raise self.error("seeds", f"expected how many there are, or a list of them, not {found!r}")

    def _among(self, key: str, value: str, known: Sequence[str], where: str = "") -> str:
        if value in known:
            return value
        near = difflib.get_close_matches(value, known, n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"choose one of {', '.join(known)}"
        raise self.error(key, f"unknown `{value}`{' ' + where if where else ''}; {hint}")

    def _list(self, key: str, default: Any, kind: type[Any], noun: str) -> Any:  # noqa: ANN401 - a TOML value
        found = self._table.get(key, list(default or ()))
        if not isinstance(found, list) or not all(type(value) is kind for value in found):
            raise self.error(key, f"expected a list of {noun}, not {found!r}")
        twice = next((value for value in found if found.count(value) > 1), None)
        if twice is not None:
            raise self.error(key, f"{twice!r} stands twice; a run is made once")
        return tuple(found)

    def _typed(self, key: str, default: Any, kind: type[Any], noun: str) -> Any:  # noqa: ANN401 - a TOML value
        found = self._table.get(key, default)
        if type(found) is not kind:
            raise self.error(key, f"expected {noun}, not {found!r}")
        return found
