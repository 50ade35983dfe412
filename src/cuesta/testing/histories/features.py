"""What a history may contain, and the dice that decide when it does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet
from enum import Enum
from random import Random

SHARE = 0.35
"""How often a history draws each feature."""


class Feature(Enum):
    """One thing that real conversations contain and that a proxy can get wrong.

    Each wire has those that make sense on it: see `ClientHistory.possible`. The order is that of
    the draws, so a new one goes to the end.
    """

    PARALLEL_CALLS = "several calls in one answer"
    INTERLEAVED_THINKING = "thinking between the calls of one answer"
    REDACTED_THINKING = "thinking of which nothing is shown"
    ORPHAN_THINKING = "an answer of thinking only, after a cut stream"
    IMAGES = "images in user text and in tool results"
    EMPTY_RESULTS = 'tool results with content "", [] or none'
    SERVER_TOOLS = "calls that the provider runs, at times paused before their result"
    MID_SYSTEM = "system messages in the middle"
    TOOL_CHANGES = "messages that add or remove tools"
    EFFORT_CHANGES = "system messages without content that set the effort"
    FORKS = "two branches from one point, continued in turn"
    EDITS = "an old user message or result changed"
    REWINDS = "the tail dropped, and the conversation continued from there"
    UNKNOWN_BLOCKS = "blocks, items or fields that no one knows yet"
    HUMAN_MESSAGES = "a person's words in the middle of a tool loop"
    REMINDERS = "harness-made text after tool results"
    GROWING_LAST = "text appended to the last user message of the request before"
    PARTIAL_TURNS = "an answer cut off before its call"
    ERRORS = "tool results that tell of an error"
    UNICODE = "CJK, emoji and combining marks"
    MARKER_FLIPS = "cache_control moving to the last block, lone texts flipping to strings"
    TOOLS_CHANGE = "tools or system prompt changed between two requests"
    LONG_RESULTS = "tool results of up to 30,000 characters"
    TINY_TURNS = "turns of a few words"
    RETRIES = "the same body twice, the second answered"
    SIDE_CALLS = "title requests and token counts between the main requests"
    RESUME = "a finished turn, followed by a new prompt"
    ODD_JSON = "odd but valid whitespace, key order and escapes"
    CALL_KINDS = "calls that are no function calls, each with an output of its kind"
    PART_OUTPUTS = "tool results as lists of parts where strings are usual"
    PREVIOUS_RESPONSE = "requests that hold only what is new since a kept response"
    COMPACTION_ITEMS = "the provider's own compaction in place of all before it"
    KEPT_HISTORY = "the provider's own compaction behind all or some of what it stands for"


def draw_features(rng: Random, possible: AbstractSet[Feature]) -> frozenset[Feature]:
    """Draw the features of one history, each possible one with probability `SHARE`."""
    return frozenset(f for f in Feature if f in possible and rng.random() < SHARE)


class Dice:
    """The randomness of one history, its drawn features, and how often each really occurred.

    Each feature has dice of its own, so that a history without one of them, as Hypothesis tries it
    when it shrinks, stays much like the one with it.

    Attributes:
        rng: For all that is no feature; never iterate over `drawn` beside it, a set has no order.
        drawn: The features that may occur.
        seen: How often each occurred.
    """

    def __init__(self, seed: str, drawn: frozenset[Feature]) -> None:
        self.rng = Random(seed)  # noqa: S311 - reproducible, not secret
        self._own = {feature: Random(f"{seed} {feature.name}") for feature in drawn}  # noqa: S311
        self.drawn = drawn
        self.seen: Counter[Feature] = Counter()

    def chance(self, share: float) -> bool:
        """Tell whether something without a feature of its own happens now."""
        return self.rng.random() < share

    def happens(self, feature: Feature, share: float = 1.0) -> bool:
        """Tell whether a feature occurs now, and count it if it does.

        Ask only where it is possible: the answer yes is a promise.
        """
        if feature not in self.drawn or self._own[feature].random() >= share:
            return False
        self.seen[feature] += 1
        return True
