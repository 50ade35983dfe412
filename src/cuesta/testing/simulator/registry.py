"""Which judge and which wire belong to which dialect."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING

from cuesta.testing.simulator.chat.judge import ChatJudge
from cuesta.testing.simulator.judge import Judge
from cuesta.testing.simulator.responses.judge import ResponsesJudge

if TYPE_CHECKING:
    from cuesta.testing.simulator.conditions import Conditions
    from cuesta.testing.simulator.judging import WireJudge

_JUDGES: MappingProxyType[str, Callable[[Conditions | None], WireJudge]] = MappingProxyType(
    {"anthropic": Judge, "openai_chat": ChatJudge, "openai_responses": ResponsesJudge}
)
DIALECTS = tuple(_JUDGES)
"""The names of all dialects that the simulator judges."""


def judge_of(dialect_name: str, conditions: Conditions | None = None) -> WireJudge:
    """Return a new judge.

    Args:
        dialect_name: One of `DIALECTS`.
        conditions: What the provider is like today.

    Raises:
        ValueError: If there is no such dialect.
    """
    if dialect_name not in _JUDGES:
        known = ", ".join(DIALECTS)
        raise ValueError(f"no judge for dialect {dialect_name!r}; there are {known}")
    return _JUDGES[dialect_name](conditions)
