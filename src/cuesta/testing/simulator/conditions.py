"""What a provider is like today: the knobs of every judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cuesta.testing.simulator.thinking import Mismatch

EXTRA_BLOCKS = frozenset({"future_block"})


@dataclass(frozen=True, slots=True)
class Conditions:
    """What the provider is like today.

    Attributes:
        account: `new`: prefixes are checked unasked; `old`: only where the request says how.
        mismatch: What becomes of thinking behind another prefix where the request does not say:
            `error` refuses the request, `drop` drops the block in silence.
        window: The context window in tokens; None: what the model is known to have.
        bill_factor: What the simulator's own count is multiplied with.
        extra_blocks: Types of blocks, parts and items accepted beyond those known today.
        compatible: Whether it is a server compatible with OpenAI's, which takes unknown fields and
            says what it thinks in `reasoning_content`, and not OpenAI's own.
        reasoning_content: On Chat Completions, `required`: each assistant turn with calls comes
            back with the very reasoning that it was answered with.
        template: On Chat Completions, the family whose chat template the messages go through, or
            None. Needs jinja2.
    """

    account: Literal["new", "old"] = "new"
    mismatch: Mismatch = "error"
    window: int | None = None
    bill_factor: float = 1.0
    extra_blocks: frozenset[str] = EXTRA_BLOCKS
    compatible: bool = True
    reasoning_content: Literal["optional", "required"] = "optional"
    template: Literal["qwen", "mistral"] | None = None
