"""The knobs of a compaction, and the two profiles that set them.

`paper` is Algorithm 1 to the letter. `default` differs only inside the paper's own primitives:
what is kept, where it is cut, what is dropped. docs/profiles.md names each difference with its
reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from types import MappingProxyType
from typing import Any

from cuesta.core.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Policy:
    """Validated knobs of one way to compact.

    Raises:
        ConfigError: If a knob is out of its range.
    """

    name: str
    """The profile that the knobs came from."""
    keep_turns: int = 3
    """K: turns kept whole at the end."""
    signature_chars: int = 1000
    """Characters of a call's signature."""
    result_chars: int = 200
    """Results up to this many characters stay whole, longer ones are dropped."""
    error_chars: int = 1500
    """What results that report an error may keep at most: longer ones keep head and tail."""
    thought_chars: int = 150
    """First characters of what the model wrote beside its calls."""
    reasoning: bool = False
    """Whether thinking blocks count as thoughts too."""
    human_chars: int = 2000
    """Human text up to this many characters stays whole, longer text keeps head and tail."""
    human_for_ever: bool = True
    """Whether human text of all earlier turns survives, or that of the live session only."""
    human_share: float = 0.25
    """The part of the threshold that human text may take before the longest are shortened."""
    notice_chars: int = 1000
    """Characters of harness-made text, kept once, the latest; 0 drops it."""
    head_to_first_human: bool = False
    """Whether the head ends at the first human message instead of the first model output."""
    round_fixed: bool = True
    """Whether the fixed part is rounded up before it enters the estimate."""
    gap_tokens: int = 2000
    """No new cliff before the turns added since the last one hold this many tokens ..."""
    gap_share: float = 0.25
    """... and this part of the threshold."""
    reclaim_tokens: int = 5000
    """W: tokens of old results that have piled up before microcompaction clears them."""
    threshold: int = 0
    """Estimated tokens above which a cliff falls; 0 fixes it automatically, epoch by epoch."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        counts = (
            self.signature_chars, self.result_chars, self.error_chars, self.thought_chars,
            self.human_chars, self.notice_chars, self.gap_tokens, self.reclaim_tokens,
            self.threshold,
        )  # fmt: skip
        if self.keep_turns < 1:
            raise ConfigError("keep_turns must be at least 1")
        if any(count < 0 for count in counts):
            raise ConfigError("a size must not be negative")
        if not (0 <= self.human_share <= 1 and 0 <= self.gap_share <= 1):
            raise ConfigError("a share must lie between 0 and 1")

    def to_dict(self) -> dict[str, Any]:
        """Return the knobs as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, knobs: Mapping[str, Any]) -> Policy:
        """Build a policy from `to_dict`'s values.

        Raises:
            ConfigError: If a knob is unknown or out of its range.
        """
        unknown = knobs.keys() - {f.name for f in fields(cls)}
        if unknown:
            raise ConfigError(f"unknown policy knob `{min(unknown)}`")
        return cls(**knobs)


PROFILES: Mapping[str, Policy] = MappingProxyType(
    {
        "default": Policy("default"),
        "paper": Policy(
            "paper",
            signature_chars=150,
            result_chars=500,
            error_chars=500,
            thought_chars=300,
            reasoning=True,
            human_chars=20_000,
            human_for_ever=False,
            human_share=1.0,
            notice_chars=0,
            head_to_first_human=True,
            round_fixed=False,
            gap_tokens=0,
            gap_share=0.0,
            threshold=32_000,
        ),
    }
)
"""The profiles by name."""


def profile(name: str, *, threshold: int = 0) -> Policy:
    """Return a profile's policy.

    Args:
        name: `default` or `paper`.
        threshold: Estimated tokens that override the profile's own threshold; 0 leaves it.

    Raises:
        ConfigError: If there is no such profile.
    """
    if name not in PROFILES:
        raise ConfigError(f"unknown profile `{name}`: choose one of {', '.join(PROFILES)}")
    policy = PROFILES[name]
    return Policy.from_dict({**policy.to_dict(), "threshold": threshold}) if threshold else policy


@cache
def ladder(policy: Policy) -> tuple[Policy, ...]:
    """Return ever harsher policies, the given one first, for prompts that are still too long.

    Each step starts again from the original transcript.
    """
    knobs = policy.to_dict()
    lean = {
        "keep_turns": 1,
        "signature_chars": min(policy.signature_chars, 150),
        "result_chars": 0,
        "error_chars": min(policy.error_chars, 300),
        "thought_chars": 0,
        "reasoning": False,
        "human_share": min(policy.human_share, 0.1),
        "notice_chars": min(policy.notice_chars, 200),
        "reclaim_tokens": 0,
    }
    barest = {"signature_chars": 40, "error_chars": 0, "human_share": 0.02, "notice_chars": 0}
    return (
        policy,
        Policy.from_dict({**knobs, **lean}),
        Policy.from_dict({**knobs, **lean, **barest}),
    )


AUTOMATIC_FLOOR = 32_000
"""The smallest automatic threshold: the paper saw no loss at 32K."""
AUTOMATIC_MULTIPLE = 2.5
"""Times head and tail: on real transcripts the cost is flat around it."""
WINDOW_SHARE = 0.6
"""An automatic threshold never passes this part of a known window."""
TIGHT_MULTIPLE = 1.5
"""A threshold below this many times head and tail leaves little room to grow."""


def automatic_threshold(head: int, median_turn: float, keep_turns: int, window: int | None) -> int:
    """Return the threshold of an epoch that opens now.

    Args:
        head: Estimated tokens of the fixed part and the head's messages.
        median_turn: Median size of the original turns so far, in tokens.
        keep_turns: How many turns stay whole at the end.
        window: The model's context window in tokens, or None where it is not known.
    """
    wanted = max(AUTOMATIC_FLOOR, int(AUTOMATIC_MULTIPLE * (head + keep_turns * median_turn)))
    return wanted if window is None else min(wanted, int(WINDOW_SHARE * window))
