"""What a provider billed for one call, in tokens by price class."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one answer, or of a sum of answers, by the class in which they are priced.

    The four prompt classes are disjoint: `prompt` is their sum.
    """

    input: int = 0
    """Prompt tokens that neither came from the cache nor went into it."""
    cache_read: int = 0
    """Prompt tokens read from the prefix cache."""
    cache_write_5m: int = 0
    """Prompt tokens written to the prefix cache for five minutes, or for a provider's only time."""
    cache_write_1h: int = 0
    """Prompt tokens written to the prefix cache for an hour."""
    output: int = 0
    """Completion tokens, hidden thinking included."""

    @property
    def prompt(self) -> int:
        """All prompt tokens, whatever their price."""
        return self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h

    @property
    def cache_write(self) -> int:
        """Prompt tokens written to the cache, whatever their lifetime."""
        return self.cache_write_5m + self.cache_write_1h

    def __add__(self, other: Usage) -> Usage:
        """Return the sum, class by class."""
        return Usage(
            self.input + other.input,
            self.cache_read + other.cache_read,
            self.cache_write_5m + other.cache_write_5m,
            self.cache_write_1h + other.cache_write_1h,
            self.output + other.output,
        )
