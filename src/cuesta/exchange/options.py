"""How requests are compacted: the options of this room, declared once.

Flags, environment variables and the configuration file are derived from these fields.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from cuesta.core.errors import ConfigError
from cuesta.core.policy import Policy, profile
from cuesta.protocols.recognition import HARNESSES
from cuesta.strategies.names import NAMES


@dataclass(frozen=True, slots=True)
class CompactionOptions:
    """What may be chosen about compaction."""

    profile: str = field(
        default="default",
        metadata={
            "help": "what is kept, cut and dropped: `default`, or `paper` (to the letter)",
            "choices": ("default", "paper"),
        },
    )
    strategy: str = field(
        default="cliff",
        metadata={
            "help": "when to drop, and from where: `cliff`, one drop at the threshold; `keep_all`,"
            " never; `sliding_window`, the oldest turns at every step; `microcompaction`, only old"
            " tool results; `summary`, for a summary that the model is asked for and bills;"
            " `micro_summary`, results first",
            "choices": NAMES,
        },
    )
    reclaim: int = field(
        default=5_000,
        metadata={"help": "tokens of old tool results that pile up before microcompaction clears"},
    )
    threshold: int = field(
        default=0,
        metadata={
            "help": "drop above this many tokens; 0 chooses by the conversation (32K and up)"
        },
    )
    harness: str = field(
        default="",
        metadata={
            "help": "whose plain text stands for calls in requests without tools; by default each"
            " conversation's beginning tells; `none`: nobody's",
            "choices": HARNESSES,
        },
    )
    window: int = field(
        default=0,
        metadata={"help": "the model's context window in tokens; 0 goes by the model's name"},
    )

    strict: bool = field(
        default=False,
        metadata={"help": "refuse what no cliff can fit into the model's window"},
    )
    shadow: bool = field(
        default=False,
        metadata={"help": "measure what Cuesta would do, and send every request as it came"},
    )

    def __post_init__(self) -> None:
        """Refuse a harness that nobody knows."""
        if self.harness not in HARNESSES:
            known = ", ".join(filter(None, HARNESSES))
            raise ConfigError(f"unknown harness `{self.harness}`: choose one of {known}")

    def realm(self, dialect: str) -> str:
        """Return what conversations are kept apart by beside the tenant: the wire, and shadow."""
        return f"{dialect} in shadow" if self.shadow else dialect

    def policy(self) -> Policy:
        """Return the knobs that the options mean.

        Raises:
            ConfigError: If the profile is unknown or a number makes no sense.
        """
        policy = profile(self.profile, threshold=self.threshold)
        return replace(policy, reclaim_tokens=self.reclaim)
