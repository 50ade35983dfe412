"""What a model's name tells: family, generation, window.

Names are read with a floor, never matched against a list, so that a model released tomorrow is
treated like the newest one known today.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_CLAUDE = re.compile(
    r"claude-(?P<family>[a-z]+)-(?P<major>\d{1,2})(?:[-.](?P<minor>\d{1,2}))?(?!\d)"
)
_CLAUDE_NEWEST = re.compile(r"claude-(?P<family>[a-z]{2,})")
_NEWEST = (99, 0)
_CLAUDE_3 = re.compile(r"claude-(?P<major>\d)(?:[-.](?P<minor>\d))?-(?P<family>[a-z]+)")


@dataclass(frozen=True, slots=True)
class Model:
    """A model's name, read.

    Attributes:
        family: `opus`, `sonnet`, ... for Claude models, else the whole name. Prefix caches are kept
            per model, so a change of `key` opens a new epoch.
        generation: (major, minor), or (0, 0) when the name tells none.
        claude: Whether this is one of Anthropic's.
    """

    family: str
    generation: tuple[int, int]
    claude: bool

    @property
    def key(self) -> str:
        """The name under which caches, prices and windows are kept: no date, no platform prefix."""
        if not self.claude:
            return self.family
        major, minor = self.generation
        return f"claude-{self.family}-{major}-{minor}" if minor else f"claude-{self.family}-{major}"


def read_model(name: str) -> Model:
    """Read a model name as it stands in a request, on any platform.

    Args:
        name: For example `claude-opus-5-5`, `claude-haiku-4-5-20251001`,
            `us.anthropic.claude-sonnet-4-5-20250929-v1:0` or `claude-3-7-sonnet-latest`.

    Returns:
        The model; an unknown name is its own family. A Claude name that tells no generation
        (`claude-opus-latest`) counts as the newest of its family.
    """
    lower = name.lower()
    match = _CLAUDE.search(lower) or _CLAUDE_3.search(lower)
    if match is None:
        newest = _CLAUDE_NEWEST.search(lower)
        if newest is None:
            return Model(name, (0, 0), claude=False)
        return Model(newest["family"], _NEWEST, claude=True)
    return Model(match["family"], (int(match["major"]), int(match["minor"] or 0)), claude=True)


_PREFIX_CHECK_FLOOR = {
    "fable": (5, 1),
    "mythos": (5, 1),
    "opus": (5, 5),
    "sonnet": (5, 5),
    "haiku": (5, 5),
}
_PREFIX_CHECK_FLOOR_OF_NEW_FAMILIES = (5, 1)


def checks_prefixes(model: Model) -> bool:
    """Tell whether a model refuses thinking that was produced behind another prefix.

    Source: Anthropic, "Preserved thinking" and its "Prefix checks" page. The pages list Fable and
    Mythos from 5.1 and Opus, Sonnet and Haiku from 5.5; a newer family is taken to check.
    """
    if not model.claude:
        return False
    floor = _PREFIX_CHECK_FLOOR.get(model.family, _PREFIX_CHECK_FLOOR_OF_NEW_FAMILIES)
    return model.generation >= floor


_TOKENIZER_4_7_FLOOR = {"opus": (4, 7), "fable": (5, 0), "mythos": (5, 0)}
_GPT = re.compile(r"(?:^|[^a-z0-9])(?:chat)?(?:gpt|codex|o[1-9])(?![a-z])")
_GEMINI = re.compile(r"(?:^|[^a-z0-9])(?:gemini|gemma)")


def tokenizer(model: Model) -> str:
    """Return the family of tokenizers that a model's text is cut with.

    Returns:
        A key of `factors.FACTORS`. Source for Claude: Anthropic, "What's new in Claude Opus 4.7";
        a newer model of any line is taken to have the newer tokenizer.
    """
    if model.claude:
        floor = _TOKENIZER_4_7_FLOOR.get(model.family, (5, 0))
        return "claude-4.7" if model.generation >= floor else "claude"
    name = model.family.lower()
    if _GEMINI.search(name):
        return "gemini"
    return "gpt" if _GPT.search(name) else "other"


_MILLION = 1_000_000
_MILLION_FLOOR = {
    "fable": (5, 0),
    "mythos": (5, 0),
    "opus": (4, 6),
    "sonnet": (4, 6),
    "haiku": (5, 5),
}


def window_of(model: Model) -> int | None:
    """Return the context window of a model in tokens, or None where it is not known.

    Source: Anthropic's models overview as of 2026-11-30; never learnt from an error message,
    whose numbers mean different things at different providers.
    """
    if not model.claude:
        return None
    return _MILLION if model.generation >= _MILLION_FLOOR.get(model.family, (5, 0)) else 200_000
