"""How many tokens things take, by tokenizer family: data, no code.

Factors are thousandths of a token, whole numbers, so that a text's estimate is the same on every
machine for ever. Changing one moves cliffs: it is a change of the estimate and stands in the
changelog. As of 2026-12-01; docs/readings.md has the errors that they leave.

Sources:
- `claude`: bills of saved Claude Code and Pi sessions (Sonnet 4.5, Opus 4.5); wide text from an
  open re-make of Claude's earlier vocabulary.
- `claude-4.7`: no bills at hand. Anthropic says of the tokenizer since Opus 4.7 that the same text
  takes 1.0 to 1.35 times as many tokens: 1.2 times `claude`.
- `gemini`: bills of saved mini-swe-agent and Gemini CLI sessions (Gemini 3); wide text counted with
  the Gemma vocabulary.
- `gpt`: no bills at hand; code and wide text counted with the open `o200k_base` vocabulary.
- `other`: between the rest.
- Pictures: Anthropic's "Vision" page and published counts for ten sizes on Claude 4.5 and 5.5,
  Gemini 3 and GPT-5.5.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PictureRule:
    """What a picture takes: so many patches, after it was scaled down to fit.

    Attributes:
        patch: Side of a patch in pixels; 0: every picture takes `unknown` tokens.
        edge: Longest side in pixels that is looked at; 0: any.
        patches: Most patches.
        each: Thousandths of a token a patch.
        unknown: Tokens of a picture whose size does not show.
    """

    patch: int
    edge: int
    patches: int
    each: int
    unknown: int


@dataclass(frozen=True, slots=True)
class Factors:
    """Thousandths of a token, but for the frames, which are tokens.

    Attributes:
        letters: An ASCII character that is none of the next two: letters and white space.
        marks: An ASCII punctuation character.
        digits: An ASCII digit.
        east: A Chinese, Japanese or Korean character.
        wide: A UTF-8 byte of any other character outside ASCII.
        encoded: At least, a character of a long unbroken base64 run.
        call: The frame around a call.
        result: The frame around a call's result.
        argument: The frame around one argument of a call.
        pictures: What pictures take.
    """

    letters: int
    marks: int
    digits: int
    east: int
    wide: int
    encoded: int
    call: int
    result: int
    argument: int
    pictures: PictureRule


FACTORS = {
    "claude": Factors(
        letters=240, marks=650, digits=1150, east=1100, wide=400, encoded=700,
        call=35, result=30, argument=8,
        pictures=PictureRule(patch=28, edge=1568, patches=1568, each=1000, unknown=1600),
    ),
    "claude-4.7": Factors(
        letters=290, marks=780, digits=1380, east=1300, wide=480, encoded=840,
        call=35, result=30, argument=8,
        pictures=PictureRule(patch=28, edge=2000, patches=4000, each=1000, unknown=2400),
    ),
    "gemini": Factors(
        letters=230, marks=650, digits=1250, east=650, wide=200, encoded=700,
        call=8, result=8, argument=2,
        pictures=PictureRule(patch=0, edge=0, patches=0, each=0, unknown=1080),
    ),
    "gpt": Factors(
        letters=170, marks=750, digits=1100, east=750, wide=200, encoded=700,
        call=8, result=6, argument=2,
        pictures=PictureRule(patch=32, edge=0, patches=10_000, each=1200, unknown=2000),
    ),
    "other": Factors(
        letters=220, marks=700, digits=1150, east=1000, wide=350, encoded=700,
        call=12, result=12, argument=4,
        pictures=PictureRule(patch=28, edge=1568, patches=1568, each=1000, unknown=1600),
    ),
}  # fmt: skip
"""The table, by the name that `models.tokenizer` gives."""
