"""Sequences whose elements are made when somebody asks for them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar, overload

T = TypeVar("T")


class Lazy(Sequence[T]):
    """A sequence that holds columns or bytes instead of its elements."""

    __slots__ = ()

    @abstractmethod
    def at(self, i: int) -> T:
        """Make element `i`, counted from 0; there is one."""

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...

    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        """Return one element, or a tuple of some."""
        if isinstance(index, slice):
            return tuple(map(self.at, range(*index.indices(len(self)))))
        i = index + len(self) if index < 0 else index
        if not 0 <= i < len(self):
            raise IndexError(index)
        return self.at(i)
