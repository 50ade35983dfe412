"""What a replay's calls would have been billed: two models of the prefix cache.

`perfect` is the paper's (Appendix A.1), to the letter. `engine` is what prefix caches do: a prompt
finds what the previous one began with in the cache, in whole blocks, under the provider's rules.
They differ most behind a cliff: the head stays in an engine's cache, the paper charges it anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from cuesta.core.models import read_model, tokenizer
from cuesta.core.usage import Usage
from cuesta.lab.replay import Step


@dataclass(frozen=True, slots=True)
class CacheRules:
    """How one kind of prefix cache works.

    Attributes:
        block: Tokens that are found or missed together.
        minimum: Fewest tokens of a prompt from which anything is cached.
        answers: Whether the model's own answer is in the cache for the next prompt.
        writes: The class that what enters the cache is billed in: `input`, `cache_write_5m` or
            `cache_write_1h`.
        lifetime: Seconds after which an unused prefix is gone; 0: never.
    """

    block: int = 1
    minimum: int = 0
    answers: bool = False
    writes: str = "input"
    lifetime: float = 0.0


RULES: Mapping[str, CacheRules] = MappingProxyType(
    {
        "anthropic-5m": CacheRules(minimum=1024, writes="cache_write_5m", lifetime=300),
        "anthropic-1h": CacheRules(minimum=1024, writes="cache_write_1h", lifetime=3600),
        "openai": CacheRules(block=128, minimum=1024, answers=True, lifetime=600),
        "gemini": CacheRules(minimum=2048, answers=True),
        "llama.cpp": CacheRules(answers=True),
        "vllm": CacheRules(block=16, answers=True),
        "vllm-cpu": CacheRules(block=128, answers=True),
    }
)
"""Known caches by name."""


def rules_for(model: str) -> CacheRules:
    """Return the rules of the provider that serves a model; an engine's plain ones else."""
    read = read_model(model)
    if read.claude:
        return RULES["anthropic-5m"]
    return RULES.get({"gpt": "openai", "gemini": "gemini"}.get(tokenizer(read), ""), RULES["vllm"])


def perfect(steps: Sequence[Step]) -> list[Usage]:
    """Bill a replay's calls by the paper's perfect cache.

    The first call is uncached. A prompt that is not shorter than the one before finds all of that
    one cached; one that shrank finds nothing. A strategy's own calls count like any other.
    """
    bills = []
    before = 0
    for number, step in enumerate(steps):
        cached = before if number and step.prompt >= before else 0
        bills.append(Usage(step.prompt - cached, cached, output=step.output))
        before = step.prompt
    return bills


def engine(steps: Sequence[Step], rules: CacheRules | None = None) -> list[Usage]:
    """Bill a replay's calls as a prefix cache would.

    Args:
        steps: The calls.
        rules: The cache's; by default those of each model's provider.
    """
    return [_bill(step, rules or rules_for(step.model)) for step in steps]


def _bill(step: Step, rules: CacheRules) -> Usage:
    found = step.common + step.answered if rules.answers else step.common
    expired = rules.lifetime and step.gap > rules.lifetime
    # At least one token is always computed: an engine needs its answer.
    cached = min(found, step.prompt - 1) // rules.block * rules.block
    if expired or cached < rules.minimum:
        cached = 0
    new = step.prompt - cached
    if rules.writes == "input" or step.prompt < rules.minimum:
        return Usage(new, cached, output=step.output)
    return Usage(cache_read=cached, output=step.output, **{rules.writes: new})


def total(bills: Sequence[Usage]) -> Usage:
    """Return the sum."""
    return sum(bills, Usage())
