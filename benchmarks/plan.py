"""How much is measured: the whole, or a taste of everything for a test."""

from __future__ import annotations

from dataclasses import dataclass

KB = 1_000
MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Steady:
    """One size of a steady conversation.

    Attributes:
        size: Bytes of the client's body when timing begins.
        threshold: Tokens at which both proxies drop; small enough for several cliffs on the way.
        requests: Timed requests a conversation; each is longer by one turn.
        conversations: How many, one after another, a repetition: a short one soon grows out of
            its size.
        thinking: Whether the model thinks, and refuses thinking behind another prefix.
    """

    size: int
    threshold: int
    requests: int
    conversations: int = 1
    thinking: bool = False


@dataclass(frozen=True, slots=True)
class Budget:
    """One row of the cost table.

    Attributes:
        threshold: Tokens.
        fixed: Characters of system prompt and tools.
        reach: The cost against no compaction that is not to be passed.
    """

    threshold: int
    fixed: int
    reach: float


@dataclass(frozen=True, slots=True)
class Plan:
    """Sizes and counts of all measurements."""

    repetitions: int
    steady: tuple[Steady, ...]
    conversations: int
    """Conversations at once in the throughput measurement."""
    conversation_size: int
    window_s: float
    streams: int
    stream_size: int
    events: int
    attach_size: int
    stall_sizes: tuple[int, ...]
    residents: int
    """Conversations sent for the memory measurement."""
    resident_size: int
    starts: int
    cost_turns: int
    budgets: tuple[Budget, ...]
    growth: tuple[Steady, ...]


_BUDGETS = (
    Budget(100_000, 56_800, 0.303),
    Budget(32_000, 56_800, 0.156),
    Budget(16_000, 56_800, 0.113),
    Budget(16_000, 14_400, 0.104),
)

FULL = Plan(
    repetitions=3,
    steady=(
        Steady(100 * KB, 12_000, 8, 20),
        Steady(1 * MB, 32_000, 25, 3),
        Steady(1 * MB, 32_000, 25, 3, thinking=True),
        Steady(5 * MB, 32_000, 40),
        Steady(20 * MB, 32_000, 16),
    ),
    conversations=64,
    conversation_size=300 * KB,
    window_s=3.0,
    streams=200,
    stream_size=133 * KB,
    events=200,
    attach_size=20 * MB,
    stall_sizes=(20 * MB, 64 * MB),
    residents=200,
    resident_size=1 * MB,
    starts=7,
    cost_turns=400,
    budgets=_BUDGETS,
    growth=(
        Steady(100 * KB, 12_000, 8, 10),
        Steady(500 * KB, 32_000, 20, 3),
        Steady(2 * MB, 32_000, 40),
        Steady(8 * MB, 32_000, 30),
        Steady(25 * MB, 32_000, 20),
        Steady(60 * MB, 32_000, 12),
    ),
)

QUICK = Plan(
    repetitions=1,
    steady=(Steady(100 * KB, 12_000, 5, 2), Steady(300 * KB, 12_000, 5)),
    conversations=4,
    conversation_size=60 * KB,
    window_s=0.3,
    streams=5,
    stream_size=30 * KB,
    events=10,
    attach_size=500 * KB,
    stall_sizes=(500 * KB,),
    residents=8,
    resident_size=60 * KB,
    starts=1,
    cost_turns=40,
    budgets=(Budget(16_000, 14_400, 0.104),),
    growth=(Steady(50 * KB, 12_000, 5), Steady(200 * KB, 12_000, 5)),
)
